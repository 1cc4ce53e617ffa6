"""How fast a replay goes, and where it begins and ends: what the command line asks for."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

MIN_SPEED, MAX_SPEED = 0.001, 1_000_000.0


class Pace(StrEnum):
    """What decides when the next fact is shown."""

    TIMED = "timed"
    """The journal's times, at some speed."""
    INSTANT = "instant"
    """Nothing: as fast as it can be read."""
    LOCKSTEP = "lockstep"
    """The slowest consumer: everybody must have read what is there."""


class Plan(NamedTuple):
    """What to play and how. Sequence numbers, both ends included."""

    first: int
    """The first fact that is played; those before it are there from the start, since services need them."""
    last: int
    pace: Pace = Pace.TIMED
    speed: float = 1.0
    """Recorded seconds in a second, when timed."""
    window: int = 1
    """Facts shown at once in lockstep."""
    max_gap_s: float | None = None
    """Longer idle times of the recording are cut to so many recorded seconds."""
    paused: bool = False
    loop: bool = False


def is_speed(value: float) -> bool:
    """Whether a replay can go that fast; to stand still it is paused."""
    return math.isfinite(value) and MIN_SPEED <= value <= MAX_SPEED
