"""Tests of the Planner's facts."""

from __future__ import annotations

import pytest

from services.planner.config import PlannerConfig
from services.planner.service import Planner, build
from shared.engine.scripted import ScriptedEngine
from shared.messages import ExperienceDropped, ExperienceRecorded, PlanMalformed, PlanProposed, Role
from tests.builders import facts_of, in_turn, plan_judged, prompts_of, rules, run_started, task_assigned


def planner(*replies: str | None) -> tuple[Planner, ScriptedEngine]:
    """A Planner and the engine that it asks."""
    engine = in_turn(*replies)
    return Planner(engine, rules(), PlannerConfig()), engine


async def test_an_assignment_gets_a_plan():
    """The plan is what stands between the tags."""
    service, engine = planner("<plan>start 14; add 9</plan>")
    assigned = task_assigned(step=3, slot=1, policy="p2")
    (proposed,) = await facts_of(service, assigned)
    assert proposed == PlanProposed(
        step=3, slot=1, policy="p2", task=assigned.task, plan="start 14; add 9", sample=proposed.sample, format=1.0
    )
    assert prompts_of(engine) == [f"plan\n{assigned.task.question}"]


@pytest.mark.parametrize(("reply", "form", "reward"), [("add 9", 0.0, 0.0), ("", 0.5, 0.25), ("<plan> </plan>", 1.0, 0.5)])
async def test_a_reply_without_a_plan_is_paid_for_its_form_alone(reply: str, form: float, reward: float):
    """No plan has quality 0 by rule, and the Solver hears that there is none."""
    service, _ = planner(reply)
    malformed, experience = await facts_of(service, task_assigned())
    assert isinstance(malformed, PlanMalformed)
    assert malformed.format == form
    assert isinstance(experience, ExperienceRecorded)
    assert (experience.reward, experience.parts) == (reward, {"quality": 0.0, "format": form})


async def test_an_engine_that_is_down_still_lets_the_solver_answer():
    """The plan is malformed and the experience a fault of ours."""
    service, _ = planner(None)
    malformed, experience = await facts_of(service, task_assigned())
    assert isinstance(malformed, PlanMalformed)
    assert isinstance(experience, ExperienceDropped)
    assert experience.fault


async def test_a_scored_plan_earns_quality_and_form():
    """0.5 x 0.4 + 0.5 x 1, for the Planner's sample and not the Critic's."""
    service, engine = planner()
    (experience,) = await facts_of(service, plan_judged(step=3, quality=0.4))
    assert experience == ExperienceRecorded(
        step=3,
        role=Role.PLANNER,
        sample="sample-p",
        reward=pytest.approx(0.7),
        parts={"quality": 0.4, "format": 1.0},
        kind="words",
    )
    assert not engine.calls


@pytest.mark.parametrize(("critic_sample", "fault"), [("sample-k", False), ("", True)])
async def test_a_plan_without_a_score_leaves_the_batch(critic_sample: str, fault: bool):
    """Nobody makes a number up; only a lost Critic reply is a fault of ours."""
    service, _ = planner()
    (dropped,) = await facts_of(service, plan_judged(quality=None, sample=critic_sample))
    assert isinstance(dropped, ExperienceDropped)
    assert (dropped.sample, dropped.fault) == ("sample-p", fault)


def test_a_run_without_sections_uses_the_defaults():
    """The Planner of an empty run file can be built."""
    assert isinstance(build(run_started(), in_turn()), Planner)
