"""The dataset: every seeded and accepted task, folded in the order of the log.

It is no service and no table. Whoever needs it folds the same facts and holds the same dataset. It only grows, so a length
names a state of the past: draws and look-ups take the ``size`` that the dataset had when the work was ordered.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Collection

from shared.errors import BadInput
from shared.messages import Task, TaskAccepted, TaskSeeded


def normalised(question: str) -> str:
    """The question without differences that do not matter: case, blanks, and compatible characters (Unicode NFKC)."""
    return " ".join(unicodedata.normalize("NFKC", question).casefold().split())


class Dataset:
    """Tasks in the order they joined."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._ids: set[str] = set()
        self._joined: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def observe(self, fact: TaskSeeded | TaskAccepted) -> None:
        """Adds the fact's task; one that is there already changes nothing."""
        if fact.task.id in self._ids:
            return
        self._ids.add(fact.task.id)
        self._joined.setdefault(normalised(fact.task.question), len(self._tasks))
        self._tasks.append(fact.task)

    def holds(self, question: str, size: int | None = None) -> bool:
        """Whether this question, apart from case and blanks, is among the first `size` tasks (None: all)."""
        place = self._joined.get(normalised(question))
        return place is not None and (size is None or place < size)

    def draw(self, count: int, seed: int, *, size: int | None = None, kinds: Collection[str] | None = None) -> list[Task]:
        """`count` tasks, uniformly, out of the first `size` (None: all) of these `kinds` (None: all).

        No task comes twice before all came once. The draw depends on the set of tasks and the seed, not on the order in which
        they joined. Raises `BadInput` when there is nothing to draw from.
        """
        pool = [task for task in self._tasks[:size] if kinds is None or task.kind in kinds]
        if not pool and count:
            wanted = f" of kind {', '.join(sorted(kinds))}" if kinds is not None else ""
            raise BadInput(f"the dataset holds no task{wanted}: give the run seed tasks before its first step")
        pool.sort(key=lambda task: task.id)
        source = random.Random(seed)
        drawn: list[Task] = []
        while len(drawn) < count:
            drawn += source.sample(pool, min(len(pool), count - len(drawn)))
        return drawn
