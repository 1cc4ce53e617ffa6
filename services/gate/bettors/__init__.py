"""How to bet on the next discordant pair: one strategy a file, by the name a run file uses.

A bettor turns counts of wins and losses into log-wealth. Under the null (a discordant pair is a win with probability at most
1/2) its wealth is a non-negative supermartingale that starts at 1, so by Ville's inequality it ever reaches 1/alpha with
probability at most alpha, whenever one looks or stops. To bet on losses instead, swap the two arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from services.gate.bettors.fixed import Fixed
from services.gate.bettors.grid import Grid


class Bettor(Protocol):
    """A betting strategy whose wealth depends on the counts alone, not on the order of wins and losses."""

    def log_wealth(self, wins: int, losses: int) -> float:
        """Natural logarithm of the wealth after so many wins and losses; it grows with `wins` and falls with `losses`."""


BETTORS: dict[str, Callable[[float], Bettor]] = {
    "fixed": Fixed,
    "grid": lambda _: Grid(),
}
"""Name to maker; the number is the run file's ``bettor_lambda``, which only ``fixed`` reads."""
