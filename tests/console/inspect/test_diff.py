"""Two logs that say the same, and where two others part."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from console.inspect.diff import compare
from console.recording import LOG_NAME, Recording
from shared.codec import encode
from shared.eventlog.entry import Entry
from shared.eventlog.fresh import write_log
from shared.messages import (
    AnswerGraded,
    Fact,
    PolicyTrained,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    RunEnded,
    RunStarted,
    TaskJudged,
    named,
)
from tests.console.inspect.recordings import REAL, complaint, opened, record, sagepace, started


def real_facts() -> list[Fact]:
    """The real run's."""
    with Recording(REAL / LOG_NAME) as recording:
        return [fact for _, _, fact in recording.facts()]


def altered(facts: Sequence[Fact], change: Callable[[Fact], Fact | None]) -> list[Fact]:
    """The facts, each changed, or left out where the change gives None."""
    return [new for fact in facts if (new := change(fact)) is not None]


def diff(a: Path, b: Path) -> dict[str, object]:
    """What the command says as JSON; its status must agree."""
    told: dict[str, object] = json.loads(sagepace("log", "diff", a, b, "--json", status=1).stdout)
    assert not told["identical"]
    return told


def test_order_and_times_do_not_count(tmp_path: Path) -> None:
    """The same facts in any other order, a second apart, are the same log."""
    facts = real_facts()
    shuffled = facts[:1] + random.Random(0).sample(facts[1:-1], len(facts) - 2) + facts[-1:]
    record(tmp_path, shuffled)
    assert sagepace("log", "diff", REAL, tmp_path).stdout.startswith(f"identical: {len(facts) - count_of_upkeep(facts)} facts")


def count_of_upkeep(facts: Sequence[Fact]) -> int:
    """Facts about processes."""
    return sum(isinstance(fact, ReplicaJoined | ReplicaLeft) for fact in facts)


def test_what_does_not_count_may_differ(tmp_path: Path) -> None:
    """Where a run writes and on what machine, its processes, and how sessions ended that were gone on with."""
    run = started(config={"run": {"name": "a", "dir": "x", "stall_s": 1.0, "seed": 1}}, store="x", versions={"python": "3.11"})
    elsewhere = started(config={"run": {"name": "b", "dir": "y", "stall_s": 9.0, "seed": 1}}, store="y", versions={})
    joined = named(ReplicaJoined(role=Role.SOLVER, replica="solver"), run)
    steps = [opened(run, 1), opened(run, 2)]
    ends = [named(RunEnded(ok=ok, reason=why), run, n) for n, (ok, why) in enumerate(((False, "killed"), (True, "done")))]
    finished = named(RunEnded(ok=True, reason="done"), run)
    a = record(tmp_path / "a", [run, *steps, finished])
    b = record(tmp_path / "b", [elsewhere, joined, steps[0], ends[0], steps[1], ends[1]])
    assert sagepace("log", "diff", a, b).stdout == (
        "identical: 4 facts (left out: 2 in both about processes and interrupted sessions)\n"
    )


def test_settings_that_make_facts_do_count(tmp_path: Path) -> None:
    """Another learning rate is a difference of the first fact."""
    a = record(tmp_path / "a", [started(config={"run": {"name": "x"}, "learner": {"lr": 0.1}})])
    b = record(tmp_path / "b", [started(config={"run": {"name": "x"}, "learner": {"lr": 0.2}})])
    told = diff(a, b)
    assert told["first"]["fields"] == [{"path": "config.learner.lr", "recorded": 0.1, "now": 0.2}]  # type: ignore[index]


def test_the_first_difference_is_the_first_in_the_order_of_work(tmp_path: Path) -> None:
    """Not the one that stands first in the log; both facts are shown with the fields that differ."""
    facts = real_facts()

    def change(fact: Fact) -> Fact:
        if isinstance(fact, PolicyTrained) and fact.step == 1:
            return msgspec.structs.replace(fact, policy="p9")
        if isinstance(fact, TaskJudged) and fact.step == 2:
            return msgspec.structs.replace(fact, quality=0.125)
        return fact

    record(tmp_path, altered(facts, change)[:1] + altered(facts, change)[1:][::-1])
    judged = sum(isinstance(fact, TaskJudged) and fact.step == 2 for fact in facts)
    told = diff(REAL, tmp_path)
    assert told["summary"] == {
        "PolicyTrained": {"only_in_a": 0, "only_in_b": 0, "changed": 1},
        "TaskJudged": {"only_in_a": 0, "only_in_b": 0, "changed": judged},
    }
    first = told["first"]
    assert first["a"]["fact"] == "PolicyTrained"  # type: ignore[index]
    assert [field["path"] for field in first["fields"]] == ["policy"]  # type: ignore[index]
    text = sagepace("log", "diff", REAL, tmp_path, status=1).stdout
    assert text.startswith("first difference: s1, PolicyTrained, changed\n  A ")
    assert "'p9' in B" in text


def test_facts_of_one_log_only_are_counted_by_type(tmp_path: Path) -> None:
    """Left out here and added there."""
    facts = real_facts()
    graded = [fact for fact in facts if isinstance(fact, AnswerGraded)]
    shorter = [fact for fact in facts if fact is not graded[0]]
    record(tmp_path / "b", [*shorter, named(RunEnded(ok=False, reason="twice"), facts[0], 7)])
    told = diff(REAL, tmp_path / "b")
    assert told["summary"] == {
        "AnswerGraded": {"only_in_a": 1, "only_in_b": 0, "changed": 0},
        "RunEnded": {"only_in_a": 0, "only_in_b": 0, "changed": 1},
    }
    assert told["first"]["b"] is None  # type: ignore[index]


def test_two_runs_of_other_seeds_are_told_apart(tmp_path: Path) -> None:
    """The first line says that these are two runs."""
    a, b = record(tmp_path / "a", [started()]), record(tmp_path / "b", [started(seed=2)])
    assert sagepace("log", "diff", a, b, status=1).stdout.startswith("these are two different runs")


def test_a_fact_of_an_older_version_is_the_same_fact(tmp_path: Path) -> None:
    """A field that was added since, left out there and at its default here, is no difference."""
    run = started()
    fields = msgspec.to_builtins(opened(run, 1)) | {"unheard_of": 1}
    old = Entry(fields["id"], "StepOpened", "learner", run.id, "s1", msgspec.msgpack.encode(fields))
    new = record(tmp_path / "new", [run, opened(run, 1)])
    (tmp_path / "old").mkdir()
    first = Entry(run.id, "RunStarted", "console", run.cause, "", encode(run))
    write_log(tmp_path / "old" / LOG_NAME, [(1, first), (2, old)])
    assert sagepace("log", "diff", new, tmp_path / "old").stdout == "identical: 2 facts\n"


def test_an_empty_log_has_all_of_the_others_facts_missing(tmp_path: Path) -> None:
    """Either way round."""
    empty, full = record(tmp_path / "empty", []), record(tmp_path / "full", [started()])
    for a, b, column in ((empty, full, "only_in_b"), (full, empty, "only_in_a")):
        assert diff(a, b)["summary"]["RunStarted"][column] == 1  # type: ignore[index]
    assert sagepace("log", "diff", empty, empty).stdout == "identical: 0 facts\n"


def test_a_missing_log_is_said_in_one_line(tmp_path: Path) -> None:
    """Whichever of the two it is."""
    assert "no recording in" in complaint("log", "diff", tmp_path, REAL)
    assert "no recording in" in complaint("log", "diff", REAL, tmp_path)


@pytest.mark.parametrize("kind", [RunStarted, RunEnded])
def test_a_log_is_the_same_as_itself(kind: type[Fact]) -> None:
    """Also one whose first or last facts are compared in parts."""
    with Recording(REAL / LOG_NAME) as a, Recording(REAL / LOG_NAME) as b:
        outcome = compare(a, b)
    assert outcome.summary == {}
    assert outcome.first is None
    assert kind.__name__ in {type(fact).__name__ for fact in real_facts()}
