"""What belongs to one task's life, found by the log's indexes: its unit of work, its samples, its step, the Gate's word on it.

A unit of work is named by a lineage: challenge ``s3.c7``, assignment ``s3.a2``, pair ``g10.p4``, test task ``e0.t7``. Causes
lead up from it by id; what followed is found by the step's number and by the task's id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from console.inspect.cat import Found
from console.recording import Recording
from shared.errors import BadInput
from shared.eventlog.entry import Row
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    Decision,
    Fact,
    InstanceDrawn,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    RunStarted,
    SampleCompleted,
    SampleRequested,
    StepClosed,
    StepExpired,
    StepOpened,
    Task,
    TaskAccepted,
    TaskAssigned,
    TaskProposed,
    TaskSeeded,
    Verdict,
)

_LINEAGE = re.compile(r"(?:seed\.\d+|[sge]\d+(?:\.[a-z]+\d*)*)")
_STEP = re.compile(r"[sg](\d+)(?:\.|$)")
_BORN = (TaskSeeded, TaskProposed, InstanceDrawn)
_LEARNT = (StepClosed, StepExpired, PolicyTrained)
_TESTED = (CandidateNominated, CandidateJudged, PolicyCommitted, PolicyRolledBack)


class Assignment(NamedTuple):
    """A later use of the task: the fact, and how many of its graded answers were right."""

    assigned: Found
    graded: int
    correct: int


class Story(NamedTuple):
    """Everything about one unit of work."""

    unit: str
    marked: str
    """The id of the fact that was asked for; empty when a task or a unit was."""
    causes: list[Found]
    """From the step's or test's beginning down to the unit's own first cause."""
    facts: list[Found]
    """The unit's own, in the order of the log, and the samples that they name."""
    task: Task | None
    origin: list[Found]
    """Where an assigned task came from: its proposal and acceptance, or its seed."""
    learnt: list[Found]
    """The end of the step and its gradient step."""
    tested: list[Found]
    """The Gate's tests of candidates that contain the step, up to the first that commits them or takes them back."""
    assignments: list[Assignment]


def tell(recording: Recording, target: str) -> Story:
    """The story of a fact (its id, the beginning of that, or ``#`` and its number), a task (its id) or a unit (its lineage).

    Raises `BadInput` when there is no such thing, or several.
    """
    recording.require_readable()
    unit, marked = _find(recording, target)
    facts = list(_with_samples(recording, list(_decoded(recording, recording.reader.rows(lineage=unit, on_damage=_ignored)))))
    if not facts:
        raise BadInput(f"{target}: nothing of this unit of work can be read; `sagepace log verify` says more")
    tasks = (getattr(found.fact, "task", None) for found in facts)
    task = next((each for each in tasks if isinstance(each, Task)), None)
    match = _STEP.match(unit)
    step = int(match[1]) if match else 0
    tested = _tests_of(recording, step, only_this=unit.startswith("g")) if step else []
    return Story(
        unit=unit,
        marked=marked,
        causes=_causes(recording, facts),
        facts=facts,
        task=task if "." in unit else None,
        origin=_origin(recording, unit, task) if task else [],
        learnt=_of_types(recording, _LEARNT, [f"s{step}"]) if unit.startswith("s") and step else [],
        tested=tested,
        assignments=_assignments(recording, unit, task) if task and "." in unit else [],
    )


def _find(recording: Recording, target: str) -> tuple[str, str]:
    """(unit, id of the fact that was meant, if one was)."""
    if _LINEAGE.fullmatch(target) and next(recording.reader.rows(lineage=target, on_damage=_ignored), None):
        return _unit_of(target), ""
    if target.startswith("#") and target[1:].isdecimal():
        number = int(target[1:])
        rows = list(recording.reader.rows(number - 1, until=number)) if 0 < number < 2**62 else []
    else:
        rows = recording.reader.with_ids_like(target, 2) if target else []
    if len(rows) > 1 and rows[0].id != target:
        raise BadInput(f"{target}: several ids begin so, such as {rows[0].id} and {rows[1].id}; give more of it")
    if rows:
        return _unit_of_row(recording, rows[0]), rows[0].id
    born = [each for each in _containing(recording, target, _BORN) if _task(each.fact).id == target] if target else []
    if not born:
        raise BadInput(f"{target}: no fact, task or unit of work of {recording.path} is called so")
    return _unit_of(born[0].fact.lineage), ""


def _unit_of(lineage: str) -> str:
    """The unit that a lineage is a part of: at most two of its parts."""
    return ".".join(lineage.split(".")[:2])


def _unit_of_row(recording: Recording, row: Row) -> str:
    """A fact's unit. A sample may stand in its step's lineage; then it is the unit of the fact that was made from it."""
    lineage = row.lineage
    if row.type in {SampleRequested.__name__, SampleCompleted.__name__} and "." not in lineage:
        sample = row.id
        if row.type == SampleRequested.__name__:
            answers = recording.reader.rows(row.seq, types=[SampleCompleted.__name__], lineage=lineage, on_damage=_ignored)
            sample = next((answer.id for answer in answers if answer.cause == row.id), "")
        made = recording.reader.rows(row.seq, lineage=lineage, on_damage=_ignored)
        users = (each for each in made if sample and each.id != sample and sample.encode() in each.payload)
        lineage = next((user.lineage for user in users), lineage)
    return _unit_of(lineage)


def _decoded(recording: Recording, rows: Iterable[Row]) -> Iterator[Found]:
    for row in recording.sound(rows):
        if fact := recording.decoded(row):
            yield Found(row.seq, row.time_ns, fact)


def _with_samples(recording: Recording, facts: list[Found]) -> Iterator[Found]:
    """The facts and, in the order of the log, the samples of other units that they were made from, with their requests."""
    known = {found.fact.id for found in facts}
    wanted = {sample for found in facts for sample in (getattr(found.fact, "sample", ""),) if sample} - known
    more = list(_by_ids(recording, wanted))
    more += _by_ids(recording, {found.fact.cause for found in more} - known)
    yield from sorted((*facts, *more), key=lambda found: found.seq)


def _by_ids(recording: Recording, ids: Collection[str]) -> Iterator[Found]:
    for fact_id in ids:
        row = recording.reader.with_id(fact_id)
        if row is not None:
            yield from _decoded(recording, [row])


def _causes(recording: Recording, facts: list[Found]) -> list[Found]:
    """What led to the unit's first fact, up to the opening of its step."""
    own = {found.fact.id for found in facts}
    first = next((found for found in facts if not isinstance(found.fact, SampleRequested | SampleCompleted)), facts[0])
    causes: list[Found] = []
    cause = first.fact.cause
    while cause and cause not in own and (found := next(_by_ids(recording, [cause]), None)):
        causes.append(found)
        cause = "" if isinstance(found.fact, StepOpened | RunStarted) else found.fact.cause
    return causes[::-1]


def _origin(recording: Recording, unit: str, task: Task) -> list[Found]:
    if not re.fullmatch(r"s\d+\.a\d+", unit):
        return []
    born = _containing(recording, task.id, (TaskSeeded, TaskProposed, TaskAccepted))
    return [found for found in born if _task(found.fact).id == task.id]


def _tests_of(recording: Recording, step: int, *, only_this: bool) -> list[Found]:
    """The tests of candidates from `step` on, until what the step taught was committed or taken back."""
    tests: dict[int, list[Found]] = {}
    for found in _of_types(recording, _TESTED):
        tests.setdefault(_step(found.fact), []).append(found)
    told: list[Found] = []
    for number in sorted(number for number in tests if number >= step):
        told += tests[number]
        decisions = {each.fact.decision for each in tests[number] if isinstance(each.fact, CandidateJudged)}
        if only_this or decisions & {Decision.COMMIT, Decision.REJECT_HARM}:
            break
    return told


def _assignments(recording: Recording, unit: str, task: Task) -> list[Assignment]:
    """All times that the task was drawn, but for this very unit."""
    found = [each for each in _containing(recording, task.id, (TaskAssigned,)) if _task(each.fact).id == task.id]
    told = []
    for each in found:
        if each.fact.lineage != unit:
            graded = [one.fact for one in _of_types(recording, (AnswerGraded,), [each.fact.lineage])]
            correct = sum(isinstance(fact, AnswerGraded) and fact.verdict is Verdict.CORRECT for fact in graded)
            told.append(Assignment(each, len(graded), correct))
    return told


def _of_types(recording: Recording, types: Iterable[type[Fact]], lineages: Collection[str] | None = None) -> list[Found]:
    names = [kind.__name__ for kind in types]
    return list(_decoded(recording, recording.reader.rows(types=names, lineages=lineages, on_damage=_ignored)))


def _containing(recording: Recording, text: str, types: Iterable[type[Fact]]) -> list[Found]:
    return list(_decoded(recording, recording.reader.containing(text, [kind.__name__ for kind in types])))


def _task(fact: Fact) -> Task:
    task = getattr(fact, "task", None)
    assert isinstance(task, Task)
    return task


def _step(fact: Fact) -> int:
    step = getattr(fact, "step", 0)
    assert isinstance(step, int)
    return step


def _ignored(problem: object) -> None:
    """What cannot be read is missing from the story; `sagepace log verify` tells of it."""
