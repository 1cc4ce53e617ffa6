"""Tests of the Critic's facts."""

from __future__ import annotations

import pytest

from services.critic.config import CriticConfig
from services.critic.service import Critic, build
from shared.engine.scripted import ScriptedEngine
from shared.errors import BadInput
from shared.messages import ExperienceDropped, ExperienceRecorded, PlanJudged, Role, TaskJudged
from tests.builders import facts_of, in_turn, plan_proposed, prompts_of, rules, run_started, task, task_checked


def critic(*replies: str | None, **changes) -> tuple[Critic, ScriptedEngine]:
    """A Critic and the engine that it asks."""
    engine = in_turn(*replies)
    return Critic(engine, rules(**changes), CriticConfig()), engine


async def test_a_task_is_scored_and_the_critic_paid_for_its_form():
    """10 means quality 1; the reward is the reply's form and not the score."""
    service, engine = critic("clear <score>10</score>")
    checked = task_checked(step=2, slot=3, policy="p5", duplicate=True, usable=False, reason="no")
    judged, experience = await facts_of(service, checked)
    sample = judged.sample
    assert judged == TaskJudged(
        step=2,
        slot=3,
        policy="p5",
        task=checked.task,
        usable=False,
        duplicate=True,
        quality=1.0,
        sample=sample,
        format=1.0,
    )
    assert experience == ExperienceRecorded(
        step=2, role=Role.CRITIC, sample=sample, reward=1.0, parts={"format": 1.0}, kind="words"
    )
    assert prompts_of(engine) == [f"judge task\n{checked.task.question}"]
    assert (engine.calls[0].role, engine.calls[0].policy) == (Role.CRITIC, "p5")


async def test_a_plan_is_scored_with_the_plan_in_the_prompt():
    """What the Planner is paid by travels along."""
    service, engine = critic("<score>4</score>")
    proposed = plan_proposed(plan="add {both}", format=0.5)
    judged, experience = await facts_of(service, proposed)
    assert isinstance(judged, PlanJudged)
    assert judged.quality == pytest.approx(3 / 9)
    assert (judged.plan, judged.plan_sample, judged.plan_format) == ("add {both}", "sample-p", 0.5)
    assert "<plan>add {both}</plan>" in prompts_of(engine)[0]
    assert experience.sample == judged.sample != judged.plan_sample


async def test_no_readable_score_is_no_score():
    """Its quality is None; the Critic itself is still paid for its form, which is poor."""
    service, _ = critic("a fine task")
    judged, experience = await facts_of(service, task_checked())
    assert judged.quality is None
    assert experience.reward == 0.0


async def test_the_papers_half_on_request():
    """The switch replaces a missing score."""
    service, _ = critic("a fine task", unreadable_score="half")
    assert (await facts_of(service, task_checked()))[0].quality == 0.5


@pytest.mark.parametrize("cause", [task_checked(), plan_proposed()])
async def test_an_engine_that_is_down_ends_in_facts(cause):
    """Judged without a score and without a sample, even where a missing score counts half; the experience is a fault."""
    service, _ = critic(None, unreadable_score="half")
    judged, experience = await facts_of(service, cause)
    assert (judged.quality, judged.sample) == (None, "")
    assert isinstance(experience, ExperienceDropped)
    assert experience.fault


async def test_ordinary_models_get_ordinary_prompts():
    """The plain set has both templates, each with a system turn and an example."""
    engine = in_turn("<score>7</score>", "<score>7</score>")
    service = Critic(engine, rules(), CriticConfig(prompts="plain"))
    await facts_of(service, task_checked(task=task("How many?", kind="math")))
    await facts_of(service, plan_proposed(plan="1. Count."))
    assert all({turn.role for turn in request.turns} == {"system", "user", "assistant"} for request in engine.calls)
    assert "1. Count." in prompts_of(engine)[1]
    assert engine.calls[0].sampling.stop == ("</score>",)


def test_an_unknown_prompt_set_is_refused():
    """The line names the sets that exist."""
    with pytest.raises(BadInput, match=r"critic\.prompts: no prompt set 'fancy'.*plain, terse"):
        build(run_started(config={"critic": {"prompts": "fancy"}}), in_turn())
