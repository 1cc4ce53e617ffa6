"""The tiny world as a domain: seed tasks, endless held-out instances, and a hold-out that holds by construction.

Which side a question is on follows from its numbers alone, in order. So a held-out question's arithmetic occurs nowhere in
training, under no other name or wording, and a question invented during a run knows its side too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from shared.domains.port import Split
from shared.domains.tiny.problems import KINDS, LEVELS, Problem, draw_problem
from shared.errors import BadInput
from shared.messages import Key, Task, digest

SHARES = {Split.GATE: 1, Split.TEST: 1}
"""Tenths of all number sequences that are held out, by side."""
SEED_LEVELS = (1, 2, 3)
HELD_OUT_LEVELS = (2, 3, 4)


def split_of_numbers(question: str) -> Split:
    """The side of the hold-out, from the question's numbers."""
    bucket = int(digest("split", *re.findall(r"\d+", question)), 16) % 10
    if bucket < SHARES[Split.GATE]:
        return Split.GATE
    return Split.TEST if bucket < SHARES[Split.GATE] + SHARES[Split.TEST] else Split.TRAIN


def draw_on_side(rng: random.Random, split: Split, kind: str, level: int) -> Problem:
    """A problem whose question is on this side."""
    while True:
        problem = draw_problem(rng, kind, level)
        if split_of_numbers(problem.question()) is split:
            return problem


class TinyDomain:
    """The tiny world behind the `Domain` port."""

    def __init__(self) -> None:
        self._streams: dict[tuple[Split, int], tuple[Iterator[Problem], list[Problem]]] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """``words`` and ``code``."""
        return KINDS

    def seeds(self, count: int, seed: int) -> list[tuple[Task, Key]]:
        """`count` training tasks of one to three steps, kinds in turn."""
        if count < 1:
            raise BadInput(f"domain.seeds is {count}: at least 1 seed task is needed")
        stream = _distinct(random.Random(seed), Split.TRAIN, SEED_LEVELS)
        return [_as_task(next(stream)) for _ in range(count)]

    def instance(self, split: Split, seed: int, index: int) -> tuple[Task, Key]:
        """The `index`-th held-out task of two to four steps; the stream has no end."""
        stream, drawn = self._streams.setdefault((split, seed), (_distinct(random.Random(seed), split, HELD_OUT_LEVELS), []))
        while len(drawn) <= index:
            drawn.append(next(stream))
        return _as_task(drawn[index])

    def split_of(self, question: str) -> Split:
        """See `split_of_numbers`."""
        return split_of_numbers(question)


def _distinct(rng: random.Random, split: Split, levels: tuple[int, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    while True:
        for kind in KINDS:
            problem = draw_on_side(rng, split, kind, rng.choice(levels))
            if problem.question() not in seen:
                seen.add(problem.question())
                yield problem


def _as_task(problem: Problem) -> tuple[Task, Key]:
    question = problem.question()
    return Task(digest("task", question), question, problem.kind, problem.level), Key(problem.key())


__all__ = ["HELD_OUT_LEVELS", "LEVELS", "SEED_LEVELS", "TinyDomain", "draw_on_side", "split_of_numbers"]
