"""A role on small recordings made by hand: what counts as the same, and each way in which it may not be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from console.rerun.compare import Kind
from console.rerun.result import Result
from services.verifier.service import build
from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import Entry
from shared.eventlog.sqlite import SqliteJournal
from shared.flow import author
from shared.messages import (
    WIRE_VERSION,
    AnswerGraded,
    AnswerProposed,
    Fact,
    InstanceDrawn,
    Key,
    ReplicaJoined,
    Role,
    RunStarted,
    SampleRequested,
    Sampling,
    TaskChecked,
    TaskProposed,
    TaskSeeded,
    Verdict,
    WorkFailed,
    named,
)
from shared.runtime import Service
from shared.serve import Build
from tests.console.rerun.recordings import RUN, TASKS, again, answer, grade, seeded, write

A, B, C = (answer(number, number, str(number + 1)) for number in range(3))


def recording(folder: Path, *facts: Fact, mark: int | None = None) -> Path:
    """A log of the seeds and these facts; `mark` is the Verifier's cursor."""
    return write(folder / "log.sqlite", [*seeded(), *facts], {} if mark is None else {"verifier": mark})


def verifier(folder: Path, *facts: Fact, mark: int | None = None, build: Build = build) -> Result:
    """The Verifier again on a recording of the seeds and these facts."""
    return again(recording(folder, *facts, mark=mark), Role.VERIFIER, build=build)


def kinds(result: Result) -> dict[str, dict[Kind, int]]:
    """What is not as recorded, by type."""
    counts = {
        row.type: {Kind.CHANGED: row.changed, Kind.LATE: row.late, Kind.ONLY_RECORDED: row.only_recorded,
                   Kind.ONLY_NOW: row.only_now}
        for row in result.by_type
    }  # fmt: skip
    return {name: {kind: count for kind, count in row.items() if count} for name, row in counts.items() if any(row.values())}


# ------------------------------------------------------------------------------------------------------------------- the same


def test_what_is_said_again_is_identical(tmp_path: Path) -> None:
    """Every fact is given again with the same bytes, in whatever order the grades stand."""
    result = verifier(tmp_path, A, B, grade(B), grade(A), C, grade(C))
    assert (result.identical, result.same, result.handled, result.facts) == (True, 3, 3, 11)
    assert result.first is None


def test_no_work_is_said_to_be_none(tmp_path: Path) -> None:
    """A recording without an answer has nothing for the Verifier to do."""
    assert verifier(tmp_path).nothing_to_do
    assert not verifier(tmp_path / "b", A, grade(A)).nothing_to_do


def test_processes_that_come_and_go_are_no_part_of_it(tmp_path: Path) -> None:
    """Facts of upkeep are neither worked on nor expected again."""
    joined = named(ReplicaJoined(role=Role.VERIFIER, replica="verifier-2"), RUN)
    assert verifier(tmp_path, joined, A, grade(A)).identical


def test_a_recording_older_than_a_field_says_the_same(tmp_path: Path) -> None:
    """A field that was added later counts as its default."""
    facts = [*seeded(), A, grade(A)]
    journal = SqliteJournal(tmp_path / "log.sqlite")
    for fact in facts:
        document = msgspec.msgpack.decode(encode(fact))
        document.pop("plan_quality", None)
        payload = msgspec.msgpack.encode(document)
        journal.append([Entry(fact.id, type(fact).__name__, author(fact), fact.cause, fact.lineage, payload)])
    journal.close()
    assert again(tmp_path / "log.sqlite", Role.VERIFIER).same == 1


def test_what_was_given_up_is_passed_over(tmp_path: Path) -> None:
    """A fault of long ago is not repeated: the fact is not handled, and nothing is expected of it."""
    failed = WorkFailed(role=Role.VERIFIER, work=B.id, work_type="AnswerProposed", reason="disk full")
    result = verifier(tmp_path, A, B, grade(A), named(failed, B, 4), C, grade(C), mark=12)
    assert (result.identical, result.same, result.passed_over) == (True, 2, 1)


# --------------------------------------------------------------------------------------------------------------- not the same


def test_another_verdict_is_a_change_and_names_the_field(tmp_path: Path) -> None:
    """The first difference shows both facts, where they differ, and why the fact was given."""
    result = verifier(tmp_path, A, B, grade(A), grade(B, Verdict.WRONG, "different"), C, grade(C))
    assert not result.identical
    assert kinds(result) == {"AnswerGraded": {Kind.CHANGED: 1}}
    first = result.first
    assert first is not None
    assert (first.kind, first.seq) == (Kind.CHANGED, 9)
    assert [(field.path, field.recorded, field.now) for field in first.fields] == [
        ("verdict", "wrong", "correct"), ("reason", "different", "equal"),
    ]  # fmt: skip
    assert [(cause.seq, cause.type) for cause in first.causes] == [(7, "AnswerProposed"), (1, "RunStarted")]


def test_a_fact_that_is_not_given_any_more_is_missed_and_the_rest_is_still_compared(tmp_path: Path) -> None:
    """The recorded fact takes the place of the missing one, and what comes after it is looked at too."""
    stray = named(grade(A), C, 7)
    result = verifier(tmp_path, A, grade(A), stray, B, grade(B, reason="other"))
    assert kinds(result) == {"AnswerGraded": {Kind.CHANGED: 1, Kind.ONLY_RECORDED: 1}}
    assert result.first is not None
    assert (result.first.kind, result.first.seq) == (Kind.ONLY_RECORDED, 8)


def test_a_fact_more_than_recorded_is_a_difference_where_the_work_was_done(tmp_path: Path) -> None:
    """Below the role's own mark everything that follows is in the recording."""
    result = verifier(tmp_path, A, B, grade(B), mark=8)
    assert kinds(result) == {"AnswerGraded": {Kind.ONLY_NOW: 1}}
    assert result.first is not None
    assert result.first.seq is None


def test_work_that_was_open_at_the_end_is_no_difference(tmp_path: Path) -> None:
    """A run may be cut off between an answer and its grade; above the mark that is counted and forgiven."""
    result = verifier(tmp_path, A, grade(A), B, mark=7)
    assert (result.identical, result.same, result.beyond) == (True, 1, 1)


def test_a_part_without_marks_is_forgiven_only_its_end(tmp_path: Path) -> None:
    """Where no mark tells what was done, a fact is taken for cut off if few facts follow it, else it is a difference."""
    many = [fact for one in map(answer, range(200)) for fact in (one, grade(one))]
    assert verifier(tmp_path / "end", *many[:-1]).beyond == 1
    without_one = [*many[:101], *many[102:]]
    result = verifier(tmp_path / "middle", *without_one)
    assert kinds(result) == {"AnswerGraded": {Kind.ONLY_NOW: 1}}


def test_open_work_beside_a_change_is_not_forgiven(tmp_path: Path) -> None:
    """Where anything else differs, what is given more is part of the answer."""
    result = verifier(tmp_path, A, grade(A, reason="other"), B, mark=7)
    assert kinds(result) == {"AnswerGraded": {Kind.CHANGED: 1, Kind.ONLY_NOW: 1}}
    assert result.beyond == 0


# ------------------------------------------------------------------------------------------------------------- broken roles


class Scripted:
    """A Verifier whose grades are as a test wants them."""

    def __init__(self) -> None:
        self.seen: list[Fact] = []
        self.news = asyncio.Event()

    def observe(self, fact: TaskSeeded | TaskProposed | InstanceDrawn) -> None:
        """Remembers what it saw."""
        self.seen.append(fact)
        self.news.set()

    async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
        """Grades as the real one would."""
        assert isinstance(fact, AnswerProposed)
        yield msgspec.structs.replace(grade(fact), id="", cause="")


def late(number: int) -> Fact:
    """A seed that comes in the midst of the run."""
    return named(TaskSeeded(task=TASKS[0], key=Key("1")), RUN, number)


def test_nothing_is_shown_that_came_after_a_fact_still_to_be_given(tmp_path: Path) -> None:
    """However long a handler takes, it never sees beyond the recorded place of what it gives."""
    seen: list[int] = []

    class Slow(Scripted):
        async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
            for _ in range(50):
                await asyncio.sleep(0)
            seen.append(len(self.seen))
            async for given in super().handle(fact):
                yield given

    facts = (A, late(10), grade(A), late(11), B, late(12), grade(B), late(13))
    assert verifier(tmp_path, *facts, build=lambda run, engine: Slow()).identical
    assert seen == [5, 7]


def test_a_fact_that_needs_more_than_it_needed_is_late(tmp_path: Path) -> None:
    """A role that now waits for something that came after its recorded fact would hang in a run."""

    class Waiting(Scripted):
        async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
            while len(self.seen) < 5:
                self.news.clear()
                await self.news.wait()
            async for given in super().handle(fact):
                yield given

    result = verifier(tmp_path, A, grade(A), late(10), build=lambda run, engine: Waiting())
    assert kinds(result) == {"AnswerGraded": {Kind.LATE: 1}}
    assert result.first is not None
    assert (result.first.kind, result.first.seq) == (Kind.LATE, 7)


def test_a_handler_that_fails_gives_up_at_once(tmp_path: Path) -> None:
    """It is tried as often as in a run, without the waits, and its `WorkFailed` is a difference."""
    tries: list[str] = []

    class Broken(Scripted):
        async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
            tries.append(fact.id)
            raise RuntimeError("broken")
            yield

    result = verifier(tmp_path, A, grade(A), build=lambda run, engine: Broken())
    assert kinds(result) == {"AnswerGraded": {Kind.ONLY_RECORDED: 1}, "WorkFailed": {Kind.ONLY_NOW: 1}}
    assert tries == [A.id] * 3


def test_a_fold_that_breaks_is_not_hidden(tmp_path: Path) -> None:
    """What `observe` raises comes out as it is."""

    class Broken(Scripted):
        def observe(self, fact: TaskSeeded | TaskProposed | InstanceDrawn) -> None:
            raise KeyError(fact.id)

    with pytest.raises(KeyError):
        verifier(tmp_path, A, build=lambda run, engine: Broken())


def test_an_end_in_the_midst_of_a_thread_s_work_waits_for_the_thread(tmp_path: Path) -> None:
    """What stopped the re-run comes out, and not that the thread was still at work."""
    ended: list[float] = []

    class Torn(Scripted):
        def observe(self, fact: TaskSeeded | TaskProposed | InstanceDrawn) -> None:
            super().observe(fact)
            if len(self.seen) > len(TASKS):
                raise KeyError(fact.id)

        async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
            async for given in super().handle(fact):
                yield given
            await asyncio.to_thread(lambda: time.sleep(0.2) or ended.append(time.monotonic()))

    with pytest.raises(KeyError):
        verifier(tmp_path, A, grade(A), late(10), build=lambda run, engine: Torn())
    assert ended


def test_a_second_word_on_a_fact_counts_only_if_it_is_another(tmp_path: Path) -> None:
    """A try that is repeated after half of its work says the first half again; that is one fact, not two."""

    class Stumbling(Scripted):
        fell = False

        async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
            async for given in super().handle(fact):
                yield given
            if not self.fell:
                self.fell = True
                raise RuntimeError("once")

    stumbling: Service = Stumbling()
    result = verifier(tmp_path, A, grade(A), B, grade(B), build=lambda run, engine: stumbling)
    assert (result.identical, result.same) == (True, 2)


# ------------------------------------------------------------------------------------------------------------------ bad input


def test_a_newer_wire_schema_is_refused(tmp_path: Path) -> None:
    """What its facts mean cannot be known here."""
    run = named(RunStarted(seed=1, config={}, base_policy="p0", store="s", wire_version=WIRE_VERSION + 1), "run")
    with pytest.raises(BadInput, match=f"wire version {WIRE_VERSION + 1}"):
        again(write(tmp_path / "log.sqlite", [run]), Role.VERIFIER)


def test_a_log_without_a_run_is_refused(tmp_path: Path) -> None:
    """Without its first fact no role can be built."""
    with pytest.raises(BadInput, match="holds no run"):
        again(write(tmp_path / "log.sqlite", [A]), Role.VERIFIER)
    with pytest.raises(BadInput, match="holds no run"):
        again(write(tmp_path / "empty.sqlite", []), Role.VERIFIER)


def test_a_fact_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A damaged fact is no difference of the role's: it is named, and nothing is compared."""
    path = recording(tmp_path, A)
    journal = SqliteJournal(path)
    journal.append([Entry("x", "AnswerProposed", Role.SOLVER, A.id, "s1", b"\x81\xa4type\xaeAnswerProposed")])
    journal.close()
    with pytest.raises(BadInput, match=r"fact 7 \(AnswerProposed\) cannot be decoded"):
        again(path, Role.VERIFIER)


def test_requests_of_others_are_none_of_a_role_s_business(tmp_path: Path) -> None:
    """Only what a role gave itself is held against it."""
    request = SampleRequested(role=Role.SOLVER, policy="p", turns=(), sampling=Sampling(), seed=1, template="")
    assert verifier(tmp_path, named(request, A), A, grade(A)).identical
