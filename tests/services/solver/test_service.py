"""Tests of the Solver's attempts and experiences."""

from __future__ import annotations

import asyncio

import pytest

from services.solver.config import SolverConfig
from services.solver.service import Solver, build
from shared.engine.scripted import ScriptedEngine
from shared.messages import (
    AnswerProposed,
    ExperienceDropped,
    ExperienceRecorded,
    Purpose,
    Role,
    SampleCompleted,
    Verdict,
    named,
)
from tests.builders import (
    answer_graded,
    facts_of,
    in_turn,
    plan_judged,
    plan_malformed,
    prompts_of,
    rules,
    run_started,
    task_judged,
    trial_requested,
)


def solver(*replies: str | None, **config) -> tuple[Solver, ScriptedEngine]:
    """A Solver and the engine that it asks."""
    engine = in_turn(*replies)
    return Solver(engine, rules(), SolverConfig(**config)), engine


async def test_a_good_new_task_is_attempted_without_a_plan():
    """Two attempts, each named after the judgement and its number."""
    service, engine = solver("<answer>23</answer>", "so many")
    judged = task_judged(step=2, slot=1, policy="p3")
    answers = sorted(await facts_of(service, judged), key=lambda fact: fact.attempt)
    first = AnswerProposed(
        purpose=Purpose.DIFFICULTY,
        task=judged.task,
        attempt=0,
        answer="23",
        sample=answers[0].sample,
        format=1.0,
        step=2,
        slot=1,
        policy="p3",
    )
    assert answers[0] == named(first, judged, 0)
    assert (answers[1].answer, answers[1].format, answers[1].attempt) == (None, 0.0, 1)
    assert answers[1].id == named(answers[1], judged, 1).id
    assert prompts_of(engine) == [f"solve\n{judged.task.question}"] * 2
    assert len({request.seed for request in engine.calls}) == 2


@pytest.mark.parametrize("why", [{"usable": False}, {"duplicate": True}, {"quality": 0.69}, {"quality": None}])
async def test_no_sample_is_spent_on_a_task_that_is_refused(why):
    """Unusable, known, weak or unscored."""
    service, engine = solver()
    assert await facts_of(service, task_judged(**why)) == []
    assert not engine.calls


async def test_a_plan_that_passes_is_shown():
    """Its quality is at least beta."""
    service, engine = solver("<answer>1</answer>", "<answer>2</answer>")
    answers = await facts_of(service, plan_judged(quality=0.3))
    assert all(a.planned and a.plan_quality == 0.3 and a.purpose is Purpose.SOLVE for a in answers)
    assert all("<plan>start 14; add 9</plan>" in prompt for prompt in prompts_of(engine))


@pytest.mark.parametrize("cause", [plan_judged(quality=0.2), plan_judged(quality=None), plan_malformed()])
async def test_without_a_passing_plan_the_question_stands_alone(cause):
    """A weak, unscored or missing plan is not shown."""
    service, engine = solver("<answer>1</answer>", "<answer>2</answer>")
    answers = await facts_of(service, cause)
    assert len(answers) == 2
    assert not any(a.planned for a in answers)
    assert not any("plan" in prompt for prompt in prompts_of(engine))


async def test_a_trial_has_its_own_policy_and_temperature():
    """One answer, sampled as the gate asks."""
    service, engine = solver("<answer>23</answer>")
    trial = trial_requested(policy="candidate", temperature=0.0, lineage="g3.p7.candidate")
    (answer,) = await facts_of(service, trial)
    assert (answer.purpose, answer.policy, answer.lineage) == (Purpose.TRIAL, "candidate", "g3.p7.candidate")
    assert engine.calls[0].sampling.temperature == 0.0
    assert engine.calls[0].policy == "candidate"


async def test_an_engine_that_is_down_ends_in_an_answer_without_a_sample():
    """The Verifier gives it no verdict; nobody waits for it."""
    service, _ = solver(None)
    (answer,) = await facts_of(service, trial_requested())
    assert (answer.answer, answer.sample) == (None, "")


async def test_each_attempt_is_given_as_it_ends():
    """A slow attempt holds no other back."""
    gate = asyncio.Event()

    class SlowFirst(ScriptedEngine):
        async def sample(self, cause, prompt, sampling, *, role, policy, index=0) -> SampleCompleted:
            if index == 0:
                await gate.wait()
            return await super().sample(cause, prompt, sampling, role=role, policy=policy, index=index)

    engine = SlowFirst(lambda role, prompt, seed: "<answer>5</answer>")
    given = Solver(engine, rules(), SolverConfig()).handle(task_judged())
    assert (await anext(given)).attempt == 1
    gate.set()
    assert (await anext(given)).attempt == 0


async def test_an_assigned_answer_earns_plan_correctness_and_form():
    """0.2 x 0.5 + 0.6 + 0.2."""
    service, _ = solver()
    (experience,) = await facts_of(service, answer_graded(step=2, planned=True, plan_quality=0.5))
    assert experience == ExperienceRecorded(
        step=2,
        role=Role.SOLVER,
        sample="sample-s",
        reward=pytest.approx(0.9),
        parts={"plan": 0.5, "correct": 1.0, "format": 1.0},
        kind="words",
        planned=True,
    )


async def test_the_plan_term_is_lost_when_the_plan_was_not_shown():
    """However good the plan was said to be."""
    service, _ = solver()
    (experience,) = await facts_of(service, answer_graded(planned=False, plan_quality=0.2, verdict=Verdict.WRONG))
    assert (experience.reward, experience.parts["plan"]) == (pytest.approx(0.2), 0.0)


async def test_no_verdict_leaves_the_batch_as_a_fault():
    """It is never a wrong answer."""
    service, _ = solver()
    (dropped,) = await facts_of(service, answer_graded(verdict=Verdict.NO_VERDICT, reason="no key known"))
    assert isinstance(dropped, ExperienceDropped)
    assert (dropped.fault, dropped.reason) == (True, "no key known")


async def test_attempts_at_new_tasks_are_trained_on_unless_switched_off():
    """The paper trains on assigned tasks only."""
    graded = answer_graded(purpose=Purpose.DIFFICULTY)
    assert [fact.reward for fact in await facts_of(solver()[0], graded)] == [pytest.approx(0.8)]
    assert await facts_of(solver(train_on_difficulty=False)[0], graded) == []


async def test_trials_earn_nothing():
    """Held-out answers are for the gate."""
    assert await facts_of(solver()[0], answer_graded(purpose=Purpose.TRIAL)) == []


async def test_ordinary_models_get_ordinary_prompts():
    """The plain set shows the plan, and the answer's tag in an example."""
    service = Solver(engine := in_turn("a", "b"), rules(), SolverConfig(prompts="plain"))
    await facts_of(service, plan_judged(plan="1. Add."))
    assert "1. Add." in prompts_of(engine)[0]
    assert any("<answer>" in turn.content for turn in engine.calls[0].turns if turn.role == "assistant")


def test_a_run_without_sections_uses_the_defaults():
    """The Solver of an empty run file can be built."""
    assert isinstance(build(run_started(), in_turn()), Solver)
