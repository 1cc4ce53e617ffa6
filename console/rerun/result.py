"""What a re-run came to, as plain data."""

from __future__ import annotations

from typing import Any

import msgspec

from console.rerun.compare import Comparison, Difference, Kind
from console.rerun.excerpt import Excerpt
from console.rerun.fields import FieldDifference
from console.rerun.role import Watch
from shared.messages import Fact, Role, SampleRequested, TrialRequested

QUESTIONS = (SampleRequested, TrialRequested)
"""Facts that ask others for something: without an answer in the recording the role cannot go on."""


ROUNDING = ("cpu", "torch", "numpy", "transformers")
"""What decides how weights and log-probabilities are rounded."""
IN_FLIGHT = 64
"""So many facts a role may have said at about the same time, so that their order is open."""


class Cause(msgspec.Struct, frozen=True):
    """One link of a chain of causes."""

    seq: int
    type: str
    lineage: str
    id: str


class FirstDifference(msgspec.Struct, frozen=True):
    """The difference that stands first in the recording. `seq` is its place there; None for a fact that only exists now."""

    kind: Kind
    seq: int | None
    recorded: Fact | None
    now: Fact | None
    fields: list[FieldDifference]
    causes: list[Cause]
    """From the fact's cause back to the run's first fact."""


class TypeCount(msgspec.Struct, frozen=True):
    """What became of the facts of one type."""

    type: str
    same: int
    changed: int
    late: int
    only_recorded: int
    only_now: int


class FieldCount(msgspec.Struct, frozen=True):
    """A field that changed: in how many facts, and in the first of them (`lineage`) from what to what."""

    type: str
    field: str
    count: int
    lineage: str
    recorded: Any
    now: Any


class Waiting(msgspec.Struct, frozen=True):
    """Work that could not be finished, since the recording has no answer to what was asked anew."""

    seq: int
    type: str
    lineage: str


class Live(msgspec.Struct, frozen=True):
    """What the real model said."""

    asked: int
    equal: int
    """Answers with the recorded tokens."""
    left_to_the_recording: int
    """Requests of policies that are gone."""
    departure_seq: int | None = None
    recorded: Fact | None = None
    live: Fact | None = None


class Result(msgspec.Struct, frozen=True):
    """What a re-run came to."""

    service: Role
    identical: bool
    same: int
    """Facts given again as recorded."""
    handled: int
    """Facts that the role worked on to the end."""
    facts: int
    """Length of the recording."""
    context: int
    """So many facts at its beginning were shown to the role without work."""
    answered: int
    """Requests of the role that got their recorded answer."""
    passed_over: int
    """Facts that were not worked on: the role gave them up in the recording, or their policy is gone."""
    beyond: int
    """Facts given for work that was still open when the recording ended, and which it therefore does not have."""
    seconds: float
    settings: tuple[str, ...]
    first: FirstDifference | None
    by_type: list[TypeCount]
    fields: list[FieldCount]
    questions: int
    """Facts by which the role asks others for something, and which the recording does not answer."""
    waiting: list[Waiting]
    live: Live | None
    elsewhere: dict[str, tuple[str, str]]
    """Versions, and the processor, that matter for weights and are not as recorded: then and now."""

    @property
    def nothing_to_do(self) -> bool:
        """Whether the recording held no work for the role."""
        return self.identical and not (self.same or self.handled or self.beyond or self.passed_over)


def forgive_the_end(comparison: Comparison, excerpt: Excerpt) -> int:
    """A recording ends at some moment, with work open. Facts that only this work gave are no difference; how many there are.

    Open is what lies above the role's own mark. A recording without marks, such as a part of another, may have been cut off
    anywhere: then the last facts that the role gives may be missing, in nearly the order in which it gives them now. Where
    anything else differs nothing is forgiven.
    """
    only_now = comparison.counts[Kind.ONLY_NOW].total()
    if only_now == 0 or only_now != comparison.total or only_now > len(comparison.differences):
        return 0
    for difference in comparison.differences:
        if excerpt.finished is None:
            finished = comparison.given - difference.given_before > IN_FLIGHT
        else:
            finished = difference.work_seq <= excerpt.finished
        if finished:
            return 0
    return comparison.forgive(Kind.ONLY_NOW)


def first_difference(comparison: Comparison, excerpt: Excerpt) -> FirstDifference | None:
    """The difference that stands first, with its chain of causes."""
    if not comparison.differences:
        return None
    found: Difference = comparison.differences[0]
    causes = [Cause(seq, type(fact).__name__, fact.lineage, fact.id) for seq, fact in excerpt.causes(found.fact)]
    seq = None if found.recorded is None else int(found.at)
    return FirstDifference(found.kind, seq, found.recorded, found.now, found.fields, causes)


def type_counts(comparison: Comparison) -> list[TypeCount]:
    """All types that were compared, those with most differences first."""
    names = {*comparison.same, *(name for counts in comparison.counts.values() for name in counts)}
    rows = [TypeCount(name, comparison.same[name], *(comparison.counts[kind][name] for kind in Kind)) for name in names]
    return sorted(rows, key=lambda row: (row.same - _all(row), row.type))


def _all(row: TypeCount) -> int:
    return row.same + row.changed + row.late + row.only_recorded + row.only_now


def field_counts(comparison: Comparison) -> list[FieldCount]:
    """All fields that changed, in the order of their first change."""
    return [
        FieldCount(name, path, change.count, change.lineage, change.first.recorded, change.first.now)
        for (name, path), change in comparison.changes.items()
    ]


def questions_asked_anew(comparison: Comparison) -> int:
    """How many questions were given that the recording does not have."""
    return sum(comparison.counts[Kind.ONLY_NOW][kind.__name__] for kind in QUESTIONS)


def waiting_work(watch: Watch, limit: int = 10) -> list[Waiting]:
    """What is still open at the end, the first `limit` of it."""
    works = sorted(watch.open.values(), key=lambda work: work.seq)
    return [Waiting(work.seq, type(work.fact).__name__, work.fact.lineage) for work in works[:limit]]
