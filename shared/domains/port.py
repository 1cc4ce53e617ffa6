"""What the roles need of a domain: seed tasks, held-out instances, and which side of the hold-out a question is on."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from shared.messages import Key, Task


class Split(StrEnum):
    """Sides of the hold-out. Disjoint by construction: a question's numbers decide its side, whoever writes it."""

    TRAIN = "train"
    GATE = "gate"
    TEST = "test"


class Exhausted(Exception):
    """The domain has no further instance in this split; the message says how many there are."""


class Domain(Protocol):
    """Tasks with keys. Grading is the Verifier's business (services/verifier), by the task's kind."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of task, in a fixed order."""

    def seeds(self, count: int, seed: int) -> list[tuple[Task, Key]]:
        """`count` different training tasks with keys; the same for the same seed. Raises `BadInput` when there are too few."""

    def instance(self, split: Split, seed: int, index: int) -> tuple[Task, Key]:
        """The `index`-th held-out task of the stream that `seed` names; no question occurs twice in a stream.

        Raises `Exhausted` when the domain is finite and used up.
        """

    def split_of(self, question: str) -> Split:
        """The side that a question of any author belongs to."""
