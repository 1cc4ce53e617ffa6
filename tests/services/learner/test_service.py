"""The Learner's flow on a stage: steps, verdicts, restarts, deadlines and faults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.learner.config import LearnerConfig
from services.learner.service import LearnerService, build
from services.learner.workshop import Workshop
from shared.errors import BadInput
from shared.flow import FLOW
from shared.messages import (
    CandidateNominated,
    Decision,
    Fact,
    PolicyTrained,
    Role,
    RunStarted,
    SampleCompleted,
    StepClosed,
    StepExpired,
    StepOpened,
    TrainingEnded,
    named,
)
from shared.runtime import hinted
from tests.services.learner.stage import Cast, Stage, TextTrainer, answers, cast, experience
from tests.services.learner.story import EXPECTED, dropped, failed

CONFIG = LearnerConfig(num_challenges=0, num_assignments=2, nominate_every=2, step_deadline_s=5.0)


def stage(folder: Path, play: Cast | None = None, *, steps: int = 5, **knobs: object) -> Stage:
    """A stage with small steps."""
    return Stage(folder, play or cast(), steps=steps, config=msgspec.structs.replace(CONFIG, **knobs))


def test_handlers_match_the_flow_table() -> None:
    """What the service observes and handles is what the table says it takes."""
    assert hinted(LearnerService.handle) | hinted(LearnerService.observe) == FLOW[Role.LEARNER].takes


async def test_steps_follow_each_other_to_the_end(tmp_path: Path) -> None:
    """Every step is opened with the policy of the one before, closed, trained; training ends after the last."""
    run = stage(tmp_path)
    await run.play()
    opened, trained = run.of(StepOpened), run.of(PolicyTrained)
    assert [fact.step for fact in opened] == [1, 2, 3, 4, 5]
    assert [fact.policy for fact in opened] == [run.run.base_policy, *(fact.policy for fact in trained[:-1])]
    assert [fact.lineage for fact in opened] == ["s1", "s2", "s3", "s4", "s5"]
    assert len({fact.policy for fact in trained}) == 5
    assert all(closed.complete and closed.recorded == {"planner": 2, "solver": 4} for closed in run.of(StepClosed))
    assert run.of(StepClosed)[0].rewards == {"planner": 0.0, "solver": 0.5}
    assert [fact.step for fact in run.of(CandidateNominated)] == [2, 4, 5]
    (ended,) = run.of(TrainingEnded)
    assert (ended.step, ended.policy, ended.committed) == (5, trained[-1].policy, run.run.base_policy)


async def test_run_without_steps_ends_at_once(tmp_path: Path) -> None:
    """A run of zero steps is the base policy."""
    run = stage(tmp_path, steps=0)
    await run.play()
    (ended,) = run.of(TrainingEnded)
    assert (ended.step, ended.policy, ended.committed) == (0, run.run.base_policy, run.run.base_policy)


async def test_commit_moves_the_incumbent_and_harm_brings_it_back(tmp_path: Path) -> None:
    """After a commit later candidates meet the new policy; after proven harm training goes on from that, optimizer afresh."""
    run = stage(tmp_path, cast({2: Decision.COMMIT, 4: Decision.REJECT_HARM}))
    await run.play()
    trained = {fact.step: fact.policy for fact in run.of(PolicyTrained)}
    first, second, last = run.of(CandidateNominated)
    assert (first.incumbent, first.candidate) == (run.run.base_policy, trained[2])
    assert (second.incumbent, second.candidate) == (trained[2], trained[4])
    assert run.of(StepOpened)[4].policy == trained[2]
    assert last.candidate == trained[5] != trained[3]
    assert run.of(TrainingEnded)[0].committed == trained[2]


async def test_harm_in_the_last_step_ends_on_the_committed_policy(tmp_path: Path) -> None:
    """The working policy that training ends with is the one rolled back to."""
    run = stage(tmp_path, cast({2: Decision.REJECT_HARM}), steps=2)
    await run.play()
    assert run.of(TrainingEnded)[0].policy == run.run.base_policy


@pytest.mark.parametrize(
    ("kill_at", "step"),
    [(kind, step) for kind in (StepOpened, StepClosed, PolicyTrained) for step in (1, 2, 3, 4, 5)]
    + [(CandidateNominated, step) for step in (2, 4, 5)],
)
async def test_killed_learner_comes_to_the_same_facts(tmp_path: Path, kill_at: type[Fact], step: int) -> None:
    """Killed after any fact of any step and started again, the run says exactly what an undisturbed one says."""
    verdicts = {2: Decision.REJECT_HARM, 4: Decision.COMMIT}
    undisturbed, killed = stage(tmp_path / "a", cast(verdicts)), stage(tmp_path / "b", cast(verdicts))
    await undisturbed.play()
    await killed.play(kill_at=kill_at, kill_in=step)
    assert not killed.of(TrainingEnded)
    await killed.play()
    theirs, ours = ({fact.id: fact for fact in run.log if fact is not run.run} for run in (undisturbed, killed))
    assert theirs == ours


async def test_kill_between_store_and_log_is_harmless(tmp_path: Path) -> None:
    """A policy and optimizer state that were written but never announced are made again, the same."""
    run = stage(tmp_path)
    await run.play(kill_at=StepClosed, kill_in=3)
    opened = run.of(StepOpened)[-1]
    spare = Workshop(run.store, lambda: TextTrainer(run.store.path(run.run.base_policy)), run.optimizers)
    spare.make(opened, [], fresh=False)
    await run.play()
    other = stage(tmp_path / "other")
    await other.play()
    assert [fact.policy for fact in run.of(PolicyTrained)] == [fact.policy for fact in other.of(PolicyTrained)]


async def test_store_keeps_what_may_be_asked_for_again(tmp_path: Path) -> None:
    """Base, committed and the newest policies stay; older ones and their optimizer states go."""
    run = stage(tmp_path, cast({2: Decision.COMMIT}), steps=9, keep_policies=2)
    await run.play()
    trained = {fact.step: fact.policy for fact in run.of(PolicyTrained)}
    assert {run.run.base_policy, trained[2], trained[9], trained[8]} <= run.store.names()
    assert len(run.store.names()) <= 5
    assert sorted(file.name[:2] for file in run.optimizers.iterdir()) == ["s8", "s9"]


async def test_missing_optimizer_state_is_a_clear_fault(tmp_path: Path) -> None:
    """Going on with a fresh optimizer in secret would break the repeat: the lost file is named instead."""
    run = stage(tmp_path)
    await run.play(kill_at=StepOpened, kill_in=3)
    for file in run.optimizers.iterdir():
        file.unlink()
    with pytest.raises(FileNotFoundError, match=r"s2-p[0-9a-f]{16}\.pt"):
        await run.play()


async def test_deadline_closes_a_step_that_lacks_experiences(tmp_path: Path) -> None:
    """What never came is counted as lost; below the limit training goes on with the rest."""

    def silent(fact: Fact) -> Iterator[Fact]:
        if isinstance(fact, StepOpened):
            following = list(answers(fact))
            yield from following[:-1]  # the last attempt's reward never comes
        elif isinstance(fact, CandidateNominated):
            yield from cast()(fact)

    run = stage(tmp_path, silent, steps=1, step_deadline_s=0.1, max_fault_share=0.5)
    await run.play()
    (closed,) = run.of(StepClosed)
    assert not closed.complete
    assert (closed.recorded, closed.dropped) == ({"planner": 2, "solver": 2}, {"solver": 2})
    assert run.of(PolicyTrained)[0].metrics == {"sequences": 4.0, "fault_share": pytest.approx(1 / 3), "unreadable": 0.0}


def tardy(fact: Fact) -> Iterator[Fact]:
    """A cast whose last experience of every step comes only after the deadline."""
    if isinstance(fact, StepOpened):
        yield from list(answers(fact))[:-1]
    elif isinstance(fact, StepExpired):
        yield list(answers(StepOpened(step=fact.step, policy="", num_challenges=0, num_assignments=2)))[-1]
    elif isinstance(fact, CandidateNominated):
        yield from cast()(fact)


@pytest.mark.parametrize("kill_at", [StepExpired, StepClosed, PolicyTrained])
async def test_an_expired_step_that_is_done_again_comes_to_the_same_facts(tmp_path: Path, kill_at: type[Fact]) -> None:
    """What came after the deadline is in the log when the killed Learner starts anew, and still is no part of the step."""
    knobs = {"steps": 2, "step_deadline_s": 0.1, "max_fault_share": 0.5}
    undisturbed, killed = stage(tmp_path / "a", tardy, **knobs), stage(tmp_path / "b", tardy, **knobs)
    await undisturbed.play()
    await killed.play(kill_at=kill_at, kill_in=2)
    await killed.play()
    assert [fact.missing for fact in killed.of(StepExpired)] == ["a1 lacks 1 solver"] * 2
    assert [fact.complete for fact in killed.of(StepClosed)] == [False, False]
    theirs, ours = ({fact.id: fact for fact in run.log if fact is not run.run} for run in (undisturbed, killed))
    assert theirs == ours


async def test_too_many_faults_end_training_with_the_reason(tmp_path: Path) -> None:
    """Past the limit nothing is trained, and the end names share, limit and cause."""

    def broken(fact: Fact) -> Iterator[Fact]:
        if isinstance(fact, StepOpened):
            yield from experience(fact, "s1.a0", Role.PLANNER, 0)
            yield from experience(fact, "s1.a0", Role.SOLVER, 1)
            yield named(dropped("s1.a0", Role.SOLVER, fault=True), fact)
            yield named(failed("s1.a1", Role.PLANNER), fact)

    run = stage(tmp_path, broken)
    await run.play()
    assert not run.of(PolicyTrained)
    (ended,) = run.of(TrainingEnded)
    assert ended.policy == ended.committed == run.run.base_policy
    assert "83% of the step's experiences were lost" in ended.reason
    assert "planner: it broke" in ended.reason
    assert "solver: no verdict" in ended.reason


async def test_gate_that_gives_up_ends_training(tmp_path: Path) -> None:
    """A nomination that the gate could not work on is not waited for."""

    def gateless(fact: Fact) -> Iterator[Fact]:
        if isinstance(fact, StepOpened):
            yield from answers(fact)
        elif isinstance(fact, CandidateNominated):
            yield named(failed(fact.lineage, Role.GATE, work=fact.id), fact)

    run = stage(tmp_path, gateless)
    await run.play()
    (ended,) = run.of(TrainingEnded)
    assert (ended.step, ended.reason) == (2, "stopped on a fault: the gate gave up on the candidate: it broke")


async def test_roles_left_out_act_but_are_not_trained(tmp_path: Path) -> None:
    """The ablation drops a role's sequences from the update and keeps them in the step's account."""
    run = stage(tmp_path, steps=1, roles=("solver",))
    await run.play()
    assert run.of(StepClosed)[0].recorded == {"planner": 2, "solver": 4}
    assert run.of(PolicyTrained)[0].metrics["sequences"] == 4.0


def test_trials_do_not_pile_up(tmp_path: Path) -> None:
    """Completions of trials are not kept, and those of a step are forgotten when the next one opens."""
    run = stage(tmp_path)
    service = LearnerService(run.run, 1, CONFIG, EXPECTED, Workshop(run.store, lambda: pytest.fail("no need"), tmp_path))
    opened = StepOpened(id="o", step=1, policy="p", num_challenges=0, num_assignments=1)
    service.observe(opened)
    for fact in (*experience(opened, "s1.a0", Role.SOLVER, 0), *experience(opened, "g1.p0.c", Role.SOLVER, 1)):
        if isinstance(fact, SampleCompleted):
            service.observe(fact)
    assert len(service._samples._tokens) == 1
    service.observe(StepOpened(id="n", step=2, policy="p", num_challenges=0, num_assignments=1))
    assert not service._samples._tokens


def test_run_without_needed_settings_is_refused(tmp_path: Path) -> None:
    """The Learner has no default for another role's settings: the missing one is named."""
    run = stage(tmp_path).run
    for config, missing in (({}, "solver.train_on_difficulty"), ({"solver": {"train_on_difficulty": True}}, "run.steps")):
        started = RunStarted(seed=1, config=config, base_policy=run.base_policy, store=run.store)
        with pytest.raises(BadInput, match=missing):
            build(started, None)  # type: ignore[arg-type]
