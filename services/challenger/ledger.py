"""What became of each proposal so far: a fold over proposals, judgements and graded attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from shared.messages import AnswerGraded, Purpose, TaskJudged, TaskProposed, Verdict

KEEP_STEPS = 8
"""Proposals of so many steps are remembered; a step that was closed by its deadline may still see late answers."""


@dataclass
class _Entry:
    proposed: TaskProposed
    quality: float | None = None
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    completed_by: str = ""


class Settled(NamedTuple):
    """A proposal whose attempts are all graded; verdicts in the order of the attempts."""

    proposed: TaskProposed
    quality: float
    verdicts: tuple[Verdict, ...]


class Ledger:
    """Open proposals by task id."""

    def __init__(self, attempts: int) -> None:
        """`attempts` graded answers settle a proposal."""
        self._attempts = attempts
        self._entries: dict[str, _Entry] = {}

    def propose(self, fact: TaskProposed) -> None:
        """Opens an entry."""
        self._entries[fact.task.id] = _Entry(fact)

    def judge(self, fact: TaskJudged) -> None:
        """Remembers the quality."""
        if entry := self._entries.get(fact.task.id):
            entry.quality = fact.quality

    def grade(self, fact: AnswerGraded) -> None:
        """Counts an attempt's verdict, and remembers which fact completed the set."""
        entry = self._entries.get(fact.task.id)
        if fact.purpose is not Purpose.DIFFICULTY or entry is None:
            return
        entry.verdicts[fact.attempt] = fact.verdict
        if len(entry.verdicts) == self._attempts and not entry.completed_by:
            entry.completed_by = fact.id

    def forget_before(self, step: int) -> None:
        """Lets go of proposals that are `KEEP_STEPS` older than `step`."""
        old = [task for task, entry in self._entries.items() if entry.proposed.step <= step - KEEP_STEPS]
        for task in old:
            del self._entries[task]

    def proposal(self, task_id: str) -> TaskProposed | None:
        """The proposal of a task; None for one that is unknown or forgotten."""
        entry = self._entries.get(task_id)
        return entry.proposed if entry else None

    def settled_by(self, fact: AnswerGraded) -> Settled | None:
        """The proposal that exactly this fact completed: one fact of the log does, whatever else was folded since."""
        entry = self._entries.get(fact.task.id)
        if entry is None or entry.completed_by != fact.id or entry.quality is None:
            return None
        return Settled(entry.proposed, entry.quality, tuple(entry.verdicts[i] for i in sorted(entry.verdicts)))
