"""Small logs cut from a real one: what is in them, and that every role says on them what it said."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from console.inspect.context import cut, units_touched
from console.recording import LOG_NAME
from shared.codec import decode
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.messages import (
    Fact,
    PolicyTrained,
    RunStarted,
    StepOpened,
    TaskAccepted,
    TaskAssigned,
    TaskProposed,
    TaskSeeded,
    named,
)
from tests.builders import key, task
from tests.console.inspect.recordings import HISTORIES, REAL, complaint, names, opened, record, sagepace, started

ROLES = ("challenger", "verifier", "critic", "planner", "solver", "gate", "inference")


def facts_of(directory: Path) -> tuple[list[Fact], list[Fact]]:
    """A slice's context and body."""
    with closing(LogReader(directory / LOG_NAME)) as reader:
        facts = [decode(row.payload) for row in reader.rows()]
        return facts[: reader.handled_from()], facts[reader.handled_from() :]


def sliced(tmp_path: Path, *words: str, source: Path = REAL) -> Path:
    """A slice, which must be whole."""
    sagepace("log", "slice", source, tmp_path / "slice", *words)
    assert sagepace("log", "verify", tmp_path / "slice").stdout.startswith("the log is whole")
    return tmp_path / "slice"


def test_a_step_brings_its_test_and_what_it_needs_of_before(tmp_path: Path) -> None:
    """The body is the step's and its test's facts, whole and in order; the context carries dataset and policies."""
    context, body = facts_of(sliced(tmp_path, "--step", "2"))
    with closing(LogReader(REAL / LOG_NAME)) as reader:
        units = list(reader.rows(lineages=["s2", "g2", "e0"]))
        assert [fact.id for fact in body] == [row.id for row in units]
        times = {row.id: row.time_ns for row in reader.rows()}
    assert isinstance(context[0], RunStarted)
    assert {"TaskSeeded", "StepOpened", "PolicyTrained"} <= set(names(context))
    assert not any(fact.lineage.startswith(("s2", "g2")) for fact in context)
    with closing(LogReader(tmp_path / "slice" / LOG_NAME)) as reader:
        assert all(row.time_ns == times[row.id] for row in reader.rows())
        assert [row.seq for row in reader.rows()] == list(range(1, len(context) + len(body) + 1))


@pytest.mark.parametrize(
    "words", [("--step", "2"), ("--step", "1:2"), ("--lineage", "s1.c0"), ("--from", "1", "--until", "200")]
)
def test_every_role_says_on_a_slice_what_it_said(words: tuple[str, ...], tmp_path: Path) -> None:
    """Six roles and a part of the Learner's need no weights; each of them is identical."""
    place = sliced(tmp_path, *words)
    for role in ROLES[:-1]:
        done = sagepace("rerun", place, "--service", role)
        assert done.stdout.startswith(("identical", "nothing to do")), role


def test_causes_are_closed(tmp_path: Path) -> None:
    """Whatever a fact of the slice follows from is in it, up to the run's first fact."""
    context, body = facts_of(sliced(tmp_path, "--lineage", "s2.a0"))
    ids = {fact.id for fact in context + body}
    assert [type(fact) for fact in context + body if fact.cause not in ids] == [RunStarted]
    assert {fact.lineage.partition(".")[2] for fact in body} == {"a0"}


def test_a_stretch_is_widened_to_whole_steps(tmp_path: Path) -> None:
    """One fact of a step brings all of it."""
    with closing(LogReader(REAL / LOG_NAME)) as reader:
        inside = next(row.seq for row in reader.rows(lineage="s2.c0"))
        assert units_touched(reader, inside, inside) == ["s2", "g2"]
        with pytest.raises(BadInput, match="no step, test or evaluation"):
            units_touched(reader, 1, 2)
    _, body = facts_of(sliced(tmp_path, "--from", str(inside), "--until", str(inside)))
    assert isinstance(body[0], StepOpened)
    assert {fact.lineage.partition(".")[0] for fact in body} == {"s2", "g2", "e0"}


def test_a_task_that_was_accepted_late_is_accepted_late_in_the_slice_too(tmp_path: Path) -> None:
    """It joins the dataset between two steps of the slice; its proposal, with the key, is context."""
    run = started()
    seeded = named(TaskSeeded(task=task("seed"), key=key(), lineage="seed.0"), run)
    steps = [opened(run, 1)]
    for number in (2, 3, 4):
        steps.append(opened(steps[-1], number))
    slow = {"step": 1, "slot": 0, "task": task("late")}
    proposed = TaskProposed(**slow, policy="p0", key=key(), references=(), sample="x", format=1.0, lineage="s1.c0")  # type: ignore[arg-type]
    proposed = named(proposed, steps[0])
    accepted = named(TaskAccepted(**slow, quality=1.0, difficulty=0.5), proposed)  # type: ignore[arg-type]
    trained = [named(PolicyTrained(step=n, policy=f"p{n}", parent="p0", metrics={}), steps[n - 1]) for n in (1, 2, 3)]
    drawn = named(TaskAssigned(step=3, slot=0, policy="p0", task=task("late"), lineage="s3.a0"), steps[2])
    facts = [
        run, seeded, steps[0], trained[0], steps[1], proposed, accepted, trained[1], steps[2], drawn, trained[2], steps[3],
    ]  # fmt: skip
    source = record(tmp_path / "log", facts)
    context, body = facts_of(sliced(tmp_path, "--step", "2:3", source=source))
    assert context == [run, seeded, steps[0], trained[0], proposed]
    assert body == [steps[1], accepted, trained[1], steps[2], drawn, trained[2]]


def test_a_slice_can_be_sliced_and_exported(tmp_path: Path) -> None:
    """Its context stays context."""
    sagepace("log", "slice", REAL, tmp_path / "a", "--step", "1:2")
    sagepace("log", "slice", tmp_path / "a", tmp_path / "b", "--step", "2")
    context, body = facts_of(tmp_path / "b")
    direct = facts_of(sliced(tmp_path, "--step", "2"))
    assert [fact.id for fact in body] == [fact.id for fact in direct[1]]
    assert {fact.id for fact in context} >= {fact.id for fact in direct[0]}
    told = json.loads(sagepace("log", "info", tmp_path / "b", "--json").stdout)
    assert told["handled_from"] == len(context)


def test_the_shipped_slice_has_a_context_that_is_not_worked_on() -> None:
    """As the contract says: numbers up to it are input only."""
    with closing(LogReader(HISTORIES / "slice" / LOG_NAME)) as reader:
        assert 0 < reader.handled_from() < reader.head().seq
        assert reader.origin() is not None
        parts = cut(reader, ["s2"])
        assert min(parts.body) > reader.handled_from()


def test_what_cannot_be_cut_is_said_in_one_line(tmp_path: Path) -> None:
    """No way to cut, two ways, nothing there, and a place that is taken; nothing is left behind."""
    out = tmp_path / "out"
    assert "state what to cut" in complaint("log", "slice", REAL, out)
    assert "state what to cut" in complaint("log", "slice", REAL, out, "--step", "1", "--lineage", "s1")
    assert "the log has nothing of s99, g99" in complaint("log", "slice", REAL, out, "--step", "99")
    assert "no unit of work is called so" in complaint("log", "slice", REAL, out, "--lineage", "S1!")
    assert not out.exists()
    taken = record(tmp_path / "taken", [started()])
    before = (taken / LOG_NAME).read_bytes()
    assert "exists" in complaint("log", "slice", REAL, taken, "--step", "1")
    assert (taken / LOG_NAME).read_bytes() == before
    (tmp_path / "file").touch()
    assert "cannot make the directory" in complaint("log", "slice", REAL, tmp_path / "file" / "x", "--step", "1")
