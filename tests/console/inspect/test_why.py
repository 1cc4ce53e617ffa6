"""What everybody waits for, at every point of a real run and in made-up standstills."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from console.inspect.standstill import Standstill, Wait
from console.inspect.why import look
from console.recording import LOG_NAME, Recording
from shared.codec import encode
from shared.eventlog.entry import entries_of
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    Decision,
    EvaluationCompleted,
    ExperienceRecorded,
    Fact,
    PlanProposed,
    Purpose,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    SampleCompleted,
    SampleRequested,
    Sampling,
    StepClosed,
    TaskAssigned,
    TrainingEnded,
    TrialRequested,
    Verdict,
    named,
)
from tests.builders import task
from tests.console.inspect.recordings import HISTORIES, REAL, beginning, complaint, opened, record, sagepace, started

RUN = started(config={"run": {"name": "demo"}, "sage": {"solve_attempts": 1}, "gate": {"test_temperatures": [0.0, 1.0]}})
STEP = opened(RUN, 1, num_challenges=0)


def stands(directory: Path) -> Standstill:
    """What everybody waits for at the end of this log."""
    with Recording(directory / LOG_NAME) as recording:
        return look(recording)


def root(directory: Path) -> Wait:
    """What everything else waits for."""
    found = stands(directory).root
    assert found is not None
    return found


def waits(standstill: Standstill) -> dict[Role, Wait]:
    """By role, those that have something to do."""
    return {wait.role: wait for wait in standstill.services if wait.what}


def assigned() -> TaskAssigned:
    """The step's one assignment."""
    return named(TaskAssigned(step=1, slot=0, policy="p0", task=task(), lineage="s1.a0"), STEP)


def asked(cause: Fact, role: Role) -> SampleRequested:
    """A role asks for a completion."""
    return named(SampleRequested(role=role, policy="p0", turns=(), sampling=Sampling(), seed=1, template="t"), cause)


def completed(request: SampleRequested) -> SampleCompleted:
    """It gets one."""
    values = {"prompt_ids": (1,), "completion_ids": (2,), "logprobs": (0.0,), "text": "x", "finish": "stop"}
    return named(SampleCompleted(request=request.id, role=request.role, policy="p0", **values), request)  # type: ignore[arg-type]


def planned(cause: TaskAssigned) -> PlanProposed:
    """A plan."""
    return named(PlanProposed(step=1, slot=0, policy="p0", task=cause.task, plan="add", sample="x", format=1.0), cause)


def test_a_run_that_ended_says_so(tmp_path: Path) -> None:
    """Nobody waits, and how it ended."""
    assert "nobody waits, the run has ended well: " in sagepace("log", "why-waiting", REAL).stdout
    told = json.loads(sagepace("log", "why-waiting", REAL, "--json").stdout)
    assert (told["ended"], told["ok"], told["root"]) == (True, True, None)


def test_who_has_not_begun_is_the_root(tmp_path: Path) -> None:
    """An opened step whose assignment nobody drew: the Learner waits, and the Challenger has the step to follow up."""
    step = opened(RUN, 1)
    found = stands(record(tmp_path, [RUN, step]))
    learner = waits(found)[Role.LEARNER]
    assert learner.what == "experiences of 2 units: c0 lacks 1 challenger; a0 lacks 1 planner, 1 solver"
    assert learner.on == (Role.CHALLENGER,)
    assert found.root is not None
    assert (found.root.role, found.root.first and found.root.first.seq) == (Role.CHALLENGER, 2)


def test_a_role_that_waits_for_its_sample_is_not_the_root(tmp_path: Path) -> None:
    """The Planner asked, inference has not answered: inference is."""
    request = asked(assigned(), Role.PLANNER)
    found = stands(record(tmp_path / "asked", [RUN, STEP, assigned(), request]))
    assert waits(found)[Role.PLANNER].on == (Role.INFERENCE,)
    assert found.root is not None
    assert (found.root.role, found.root.first and found.root.first.seq) == (Role.INFERENCE, 4)
    assert "asked by planner" in found.root.what
    answered = root(record(tmp_path / "answered", [RUN, STEP, assigned(), request, completed(request)]))
    assert (answered.role, answered.first and answered.first.fact) == (Role.PLANNER, "TaskAssigned")


def test_each_taker_has_its_turn(tmp_path: Path) -> None:
    """A plan is the Critic's to score."""
    plan = planned(assigned())
    found = root(record(tmp_path, [RUN, STEP, assigned(), plan]))
    assert (found.role, found.first and found.first.fact) == (Role.CRITIC, "PlanProposed")


def test_work_that_is_lost_is_called_a_fault_of_ours(tmp_path: Path) -> None:
    """The Critic says that it has handled the plan, and there is no score: nobody has work, and the Learner waits for ever."""
    facts = [RUN, STEP, assigned(), planned(assigned())]
    found = root(record(tmp_path, facts, cursors={"critic": 4, "planner": 4, "challenger": 4}))
    assert found.role is Role.LEARNER
    assert "s1.a0: nobody has work there" in found.what
    assert "a fault of ours" in found.what


def test_marks_of_replicas_count_for_what_they_own(tmp_path: Path) -> None:
    """The plan belongs to one of two critics; only that one's mark says that it is handled."""
    joins = [named(ReplicaJoined(role=Role.CRITIC, replica=name), RUN, n) for n, name in enumerate(("critic", "critic-2"))]
    facts = [RUN, *joins, STEP, assigned(), planned(assigned())]
    roots = [
        root(record(tmp_path / name, facts, cursors={name: 6, "planner": 6, "challenger": 6})).role
        for name in ("critic", "critic-2")
    ]
    assert sorted(roots) == [Role.CRITIC, Role.LEARNER]


def test_a_role_without_a_process_is_told(tmp_path: Path) -> None:
    """All its replicas left."""
    joined = named(ReplicaJoined(role=Role.CRITIC, replica="critic"), RUN)
    left = named(ReplicaLeft(role=Role.CRITIC, replica="critic", handled=2, reason="silent"), RUN)
    found = root(record(tmp_path, [RUN, joined, STEP, assigned(), planned(assigned()), left]))
    assert found.role is Role.CRITIC
    assert "no process of this role is there" in found.what


def test_a_complete_step_is_the_learners_turn(tmp_path: Path) -> None:
    """All experiences in: it has to close; closed: it makes the gradient step."""
    unit = {"step": 1, "sample": "x", "reward": 1.0, "parts": {}}
    experiences = [
        named(ExperienceRecorded(role=role, lineage="s1.a0", **unit), assigned(), n)  # type: ignore[arg-type]
        for n, role in enumerate((Role.PLANNER, Role.SOLVER))
    ]
    facts: list[Fact] = [RUN, STEP, assigned(), *experiences]
    marks = {"planner": 5, "solver": 5, "challenger": 5}
    complete = root(record(tmp_path / "a", facts, cursors=marks))
    assert (complete.role, complete.what) == (Role.LEARNER, "all experiences are there; the step is to be closed")
    closed = named(StepClosed(step=1, recorded={}, dropped={}, rewards={}), STEP)
    assert root(record(tmp_path / "b", [*facts, closed], cursors=marks)).what == "the gradient step is being made"


def test_the_gate_waits_for_answers_and_the_learner_for_the_gate(tmp_path: Path) -> None:
    """A pair of which one arm is graded: the other arm is the Solver's turn."""
    nominated = named(CandidateNominated(step=1, candidate="p1", incumbent="p0", lineage="g1"), STEP)
    trials = [
        named(TrialRequested(policy="p", task=task(), temperature=1.0, lineage=f"g1.p0.{arm}"), nominated, n)
        for n, arm in enumerate(("incumbent", "candidate"))
    ]
    graded = AnswerGraded(
        purpose=Purpose.TRIAL, task=task(), attempt=0, verdict=Verdict.CORRECT, reason="equal", sample="x", format=1.0
    )
    facts: list[Fact] = [RUN, STEP, nominated, *trials, named(graded, trials[0])]
    found = stands(record(tmp_path / "a", facts, cursors={"solver": 4, "challenger": 4}))
    services = waits(found)
    assert services[Role.GATE].what == "the verdict on the candidate needs answers to g1.p0.candidate"
    assert services[Role.GATE].on == (Role.SOLVER,)
    assert services[Role.LEARNER].on == (Role.GATE,)
    assert found.root is not None
    assert (found.root.role, found.root.first and found.root.first.lineage) == (Role.SOLVER, "g1.p0.candidate")
    verdict = CandidateJudged(
        step=1, candidate="p1", incumbent="p0", decision=Decision.COMMIT, reason="better", wins=1, losses=0, ties=0,
        dropped=0, p_value=0.1, log_wealth=1.0, log_harm=0.0, lineage="g1",
    )  # fmt: skip
    judged = root(record(tmp_path / "b", [*facts, named(verdict, nominated)], cursors={"solver": 9}))
    assert (judged.role, judged.what) == (Role.LEARNER, "the verdict is there; the next step is to be opened")


def test_the_final_evaluation_has_as_many_parts_as_temperatures(tmp_path: Path) -> None:
    """After one of two the Gate is at work; after both the console has to end the run."""
    ended = named(TrainingEnded(step=1, policy="p", committed="p", reason="done"), STEP)
    parts = [
        named(EvaluationCompleted(base="p", final="p", temperature=t, counts=(), lineage=f"e{n}"), ended, n)
        for n, t in enumerate((0.0, 1.0))
    ]
    assert root(record(tmp_path / "a", [RUN, STEP, ended, parts[0]])).role is Role.GATE
    assert root(record(tmp_path / "b", [RUN, STEP, ended, *parts])).role is Role.CONSOLE


def test_every_beginning_of_a_real_run_has_a_root(tmp_path: Path) -> None:
    """Wherever the log stops before its end, something is open, and never a fault of ours."""
    with Recording(REAL / LOG_NAME) as recording:
        ends = recording.info().last_seq
    for count in range(1, ends, 9):
        found = stands(beginning(tmp_path / str(count), count)).root
        assert found is not None, count
        assert "fault of ours" not in found.what, (count, found)


def test_a_killed_run_tells_what_was_under_way() -> None:
    """The real recording of one, with the marks that its services left."""
    lines = sagepace("log", "why-waiting", HISTORIES / "killed").stdout.splitlines()
    assert "nobody writes its log now" in lines[0]
    assert lines[-1].startswith("root: ")
    assert len(lines) == 11


def test_a_live_run_is_looked_at_while_it_waits(tmp_path: Path) -> None:
    """Waiting is counted up to now as long as a broker holds the log."""
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(fact) for fact in (RUN, STEP, assigned())]))
    time.sleep(1.1)
    told = json.loads(sagepace("log", "why-waiting", tmp_path, "--json").stdout)
    journal.close()
    assert told["being_written"]
    assert told["now_ns"] - told["root"]["since_ns"] > 1_000_000_000
    assert told["root"]["role"] == "planner"


def test_a_log_without_a_run_is_refused(tmp_path: Path) -> None:
    """There is nothing to wait for."""
    assert "holds no run" in complaint("log", "why-waiting", record(tmp_path / "x", [STEP]))


@pytest.mark.parametrize("name", ["slice", "deadline", "harm"])
def test_other_recordings_are_looked_at_too(name: str) -> None:
    """A slice has no marks and a context; others ended otherwise."""
    assert sagepace("log", "why-waiting", HISTORIES / name).stdout
