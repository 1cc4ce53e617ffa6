"""Tests of a step's opening and of how proposals end."""

from __future__ import annotations

import asyncio

import pytest

from services.challenger.config import ChallengerConfig
from services.challenger.service import Challenger, build
from shared.domains.port import Split
from shared.engine.scripted import ScriptedEngine
from shared.errors import BadInput
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    Purpose,
    Role,
    TaskAccepted,
    TaskAssigned,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    Verdict,
    named,
)
from tests.builders import (
    answer_graded,
    facts_of,
    handled,
    in_turn,
    prompts_of,
    rules,
    run_started,
    step_opened,
    task,
    task_accepted,
    task_judged,
    task_proposed,
    task_seeded,
)


class World:
    """A domain whose held-out side is every question that says so."""

    kinds = ("words", "code")

    def split_of(self, question: str) -> Split:
        """Test, or training."""
        return Split.TEST if "held out" in question else Split.TRAIN

    def seeds(self, count, seed):
        """Not the Challenger's to ask for."""
        raise AssertionError

    def instance(self, split, seed, index):
        """Not the Challenger's to ask for."""
        raise AssertionError


def challenger(*replies: str | None, seeds: int = 3, **changes) -> tuple[Challenger, ScriptedEngine]:
    """A Challenger that saw `seeds` seed tasks, and the engine that it asks."""
    engine = in_turn(*replies)
    service = Challenger(engine, World(), rules(**changes), ChallengerConfig())
    for i in range(seeds):
        service.observe(task_seeded(task=task(f"Seed {i}?", kind="code" if i % 3 == 2 else "words")))
    return service, engine


def reply(question: str, check: str = "1 + 1") -> str:
    """A well-formed reply."""
    return f"<question>{question}</question>\n<check>{check}</check>"


async def opened(service: Challenger, **changes) -> list:
    """What follows from a step's opening, assignments left out."""
    facts = await facts_of(service, step_opened(**({"num_assignments": 0} | changes)))
    return [fact for fact in facts if not isinstance(fact, TaskAssigned)]


def attempts(proposed: TaskProposed, *verdicts: Verdict) -> list:
    """Graded attempts at a proposal."""
    return [
        answer_graded(purpose=Purpose.DIFFICULTY, task=proposed.task, attempt=i, verdict=verdict)
        for i, verdict in enumerate(verdicts)
    ]


async def settled(service: Challenger, proposed: TaskProposed, judged, *verdicts: Verdict) -> list:
    """What follows from judging and grading a proposal."""
    service.observe(proposed)
    given = await facts_of(service, judged)
    for fact in attempts(proposed, *verdicts):
        given += await facts_of(service, fact)
    return given


async def test_a_step_opens_with_assignments_of_the_dataset():
    """They come first, all in one group, each with its lineage."""
    service, _ = challenger(reply("New?"))
    step = step_opened(step=4, policy="p2", num_challenges=1, num_assignments=2)
    service.observe(step)
    groups = [group async for group in service.handle(step)]
    assert [fact.lineage for fact in groups[0]] == ["s4.a0", "s4.a1"]
    assert {fact.task.question for fact in groups[0]} < {"Seed 0?", "Seed 1?", "Seed 2?"}
    assert all(isinstance(fact, TaskAssigned) and fact.policy == "p2" for fact in groups[0])


async def test_a_reply_becomes_a_proposal():
    """Its kind is the reference's, its key what stands between the check tags."""
    service, engine = challenger(reply("How many?", "3 + 4"), seeds=1)
    (proposed,) = await opened(service, num_challenges=1, step=2)
    assert (proposed.task.question, proposed.key.check, proposed.task.kind) == ("How many?", "3 + 4", "words")
    assert (proposed.lineage, proposed.format, proposed.duplicate) == ("s2.c0", 1.0, False)
    assert proposed.references == (task("Seed 0?").id,)
    assert prompts_of(engine) == ["invent words\nSeed 0?"]


async def test_the_reference_s_kind_chooses_the_prompt():
    """Words and code are asked for in their own way."""
    service, engine = challenger(*[reply(f"Q{i}?") for i in range(3)])
    proposed = await opened(service, num_challenges=3)
    assert sorted(prompts_of(engine)) == ["invent code\nSeed 2?", "invent words\nSeed 0?", "invent words\nSeed 1?"]
    assert sorted(fact.task.kind for fact in proposed) == ["code", "words", "words"]


async def test_a_known_question_is_a_duplicate():
    """Known to the dataset, or standing in a lower slot; the first of its kind is none. Each has a task id of its own."""
    service, _ = challenger(reply("seed  0?"), reply("New?"), reply("NEW?"))
    proposed = await opened(service, num_challenges=3)
    assert [fact.duplicate for fact in proposed] == [True, False, True]
    assert len({fact.task.id for fact in proposed} | {task("Seed 0?").id}) == 4


async def test_a_reply_without_a_task_is_malformed_and_paid_for_its_form():
    """Quality 0 by rule: (0 + 0.5) / 2 with one tag of two."""
    service, _ = challenger("<question>How many?</question>", seeds=1)
    malformed, experience = await opened(service, num_challenges=1, step=2)
    assert isinstance(malformed, TaskMalformed)
    assert (malformed.format, malformed.slot) == (0.5, 0)
    assert isinstance(experience, ExperienceRecorded)
    assert (experience.reward, experience.role, experience.kind) == (0.25, Role.CHALLENGER, "words")
    assert experience.lineage == malformed.lineage == "s2.c0"


async def test_a_held_out_question_is_malformed():
    """What the gate tests with never joins the dataset."""
    service, _ = challenger(reply("held out, how many?"))
    malformed, _ = await opened(service, num_challenges=1)
    assert malformed.reason == "belongs to the held-out split"


async def test_an_engine_that_is_down_costs_one_slot():
    """The slot is a fault of ours; the other is as it would have been."""
    service, _ = challenger(None, reply("New?"))
    malformed, dropped, proposed = await opened(service, num_challenges=2)
    assert isinstance(malformed, TaskMalformed)
    assert isinstance(dropped, ExperienceDropped)
    assert dropped.fault
    assert (proposed.slot, proposed.id) == (1, named(proposed, step_opened(num_assignments=0), 1).id)


async def test_the_dataset_of_a_step_is_that_of_its_opening():
    """A task that joins while the step is being worked on changes neither draws nor duplicates."""
    step = step_opened(num_challenges=1, num_assignments=3)
    early, _ = challenger(reply("Late?"))
    late, _ = challenger(reply("Late?"))
    expected = await facts_of(early, step)
    late.observe(step)
    late.observe(task_accepted(task=task("Late?")))
    assert await handled(late, step) == expected


async def test_the_order_of_joining_does_not_matter():
    """Two runs that accept the same tasks in another order open the next step alike."""
    step = step_opened(num_challenges=2, num_assignments=3)
    services = [challenger(reply("A?"), reply("B?"), seeds=0)[0] for _ in range(2)]
    for i in range(6):
        services[0].observe(task_seeded(task=task(f"Seed {i}?")))
        services[1].observe(task_seeded(task=task(f"Seed {5 - i}?")))
    assert await facts_of(services[0], step) == await facts_of(services[1], step)


async def test_replies_in_any_order_give_the_same_facts():
    """Slots are filled by number, not by arrival."""

    class Backwards(ScriptedEngine):
        async def sample(self, cause, prompt, sampling, *, role, policy, index=0):
            await asyncio.sleep(0.01 * (3 - index))
            return await super().sample(cause, prompt, sampling, role=role, policy=policy, index=index)

    engine = Backwards(lambda role, prompt, seed: reply(f"Question {seed}?"))
    service = Challenger(engine, World(), rules(), ChallengerConfig())
    service.observe(task_seeded())
    proposed = await opened(service, num_challenges=3)
    by_slot = reversed([reply(f"Question {request.seed}?") for request in engine.calls])
    assert [reply(fact.task.question) for fact in proposed] == list(by_slot)


async def test_an_empty_dataset_is_a_mistake_of_the_set_up():
    """It is said in one line."""
    service, _ = challenger(seeds=0)
    with pytest.raises(BadInput, match="seed tasks"):
        await facts_of(service, step_opened())


@pytest.mark.parametrize(
    ("why", "quality", "reason", "reward"),
    [
        ({"usable": False}, 1.0, "its key is unusable", 1.0),
        ({"duplicate": True}, 1.0, "its question is known already", 1.0),
        ({}, 0.5, "its quality 0.500 is below 0.7", 0.75),
    ],
)
async def test_a_task_that_is_not_attempted_is_refused_at_once(why, quality: float, reason: str, reward: float):
    """It earns (quality + format) / 2."""
    service, _ = challenger()
    proposed = task_proposed()
    refused, experience = await settled(service, proposed, task_judged(quality=quality, **why))
    assert isinstance(refused, TaskRefused)
    assert (refused.reason, refused.quality, refused.lineage) == (reason, quality, "s1.c0")
    assert (experience.reward, experience.sample) == (pytest.approx(reward), "sample-c")
    assert refused.id == named(refused, proposed).id


@pytest.mark.parametrize(("critic_sample", "fault"), [("sample-k", False), ("", True)])
async def test_a_task_without_a_score_leaves_the_batch(critic_sample: str, fault: bool):
    """Nobody makes a number up; only a lost Critic reply is a fault of ours."""
    service, _ = challenger()
    refused, dropped = await settled(service, task_proposed(), task_judged(quality=None, sample=critic_sample))
    assert isinstance(refused, TaskRefused)
    assert isinstance(dropped, ExperienceDropped)
    assert dropped.fault is fault


async def test_a_good_task_joins_when_all_attempts_are_graded():
    """Nothing follows from the first attempt; the last one gives task and reward in one group."""
    service, _ = challenger()
    proposed = task_proposed()
    service.observe(proposed)
    assert await facts_of(service, task_judged(quality=0.8)) == []
    first, last = attempts(proposed, Verdict.CORRECT, Verdict.WRONG)
    assert await facts_of(service, first) == []
    service.observe(last)
    groups = [group async for group in service.handle(last) if group]
    assert len(groups) == 1
    accepted, experience = groups[0]
    assert accepted == named(TaskAccepted(step=1, slot=0, task=proposed.task, quality=0.8, difficulty=0.5), proposed)
    assert experience.reward == pytest.approx((0.8 + 0.5 + 1.0) / 3)
    assert experience.id == named(experience, proposed).id


async def test_only_the_completing_attempt_settles_a_task():
    """Also when all were folded before any was handled, as after a restart."""
    service, _ = challenger()
    proposed = task_proposed()
    graded = attempts(proposed, Verdict.WRONG, Verdict.WRONG)
    for fact in (proposed, task_judged(), *graded):
        service.observe(fact)
    assert await handled(service, task_judged()) == []
    assert await handled(service, graded[0]) == []
    assert len(await handled(service, graded[1])) == 2


async def test_one_missing_verdict_leaves_the_difficulty_unknown():
    """The task is refused and the sample dropped as a fault, whatever the others said."""
    service, _ = challenger()
    refused, dropped = await settled(service, task_proposed(), task_judged(), Verdict.CORRECT, Verdict.NO_VERDICT)
    assert isinstance(refused, TaskRefused)
    assert isinstance(dropped, ExperienceDropped)
    assert dropped.fault


async def test_other_answers_to_the_same_task_do_not_count():
    """Answers to assignments and trials are no attempts at a new task."""
    service, _ = challenger()
    proposed = task_proposed()
    service.observe(proposed)
    service.observe(task_judged())
    for attempt in range(2):
        assert await facts_of(service, answer_graded(task=proposed.task, attempt=attempt)) == []


async def test_old_proposals_are_forgotten():
    """Memory does not grow with the run; a late answer to one of them changes nothing."""
    service, _ = challenger()
    proposed = task_proposed()
    service.observe(proposed)
    service.observe(step_opened(step=9))
    assert await facts_of(service, task_judged(quality=0.1)) == []


def test_a_prompt_set_without_the_domain_s_kinds_is_refused():
    """The line names the template that is missing."""
    with pytest.raises(BadInput, match=r"the set 'plain' has no 'words\.md'"):
        Challenger(in_turn(), World(), rules(), ChallengerConfig(prompts="plain"))


def test_a_run_without_sections_uses_the_defaults():
    """The Challenger of an empty run file lives in the tiny world."""
    assert isinstance(build(run_started(), in_turn()), Challenger)
