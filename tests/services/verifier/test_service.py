"""Tests of the Verifier's facts."""

from __future__ import annotations

import pytest

from services.verifier.config import VerifierConfig
from services.verifier.service import Verifier, build
from shared.errors import BadInput
from shared.messages import AnswerGraded, Key, Purpose, TaskChecked, Verdict
from tests.builders import (
    answer_proposed,
    facts_of,
    in_turn,
    instance_drawn,
    run_started,
    task,
    task_proposed,
    task_seeded,
)


async def test_a_proposal_is_checked_and_its_public_part_handed_on():
    """Step, slot, task and duplicate travel; the key stays."""
    proposed = task_proposed(step=4, slot=3, duplicate=True, policy="p9")
    assert await facts_of(Verifier(VerifierConfig()), proposed) == [
        TaskChecked(step=4, slot=3, policy="p9", task=proposed.task, usable=True, reason="usable", duplicate=True)
    ]


async def test_a_bad_key_is_unusable():
    """And the reason says what is wrong with it."""
    (checked,) = await facts_of(Verifier(VerifierConfig()), task_proposed(key=Key("lots")))
    assert not checked.usable
    assert "digits" in checked.reason


@pytest.mark.parametrize("source", [task_seeded(), task_proposed(), instance_drawn()])
async def test_keys_come_from_three_facts(source):
    """Seeds, proposals and the gate's instances."""
    verifier = Verifier(VerifierConfig())
    verifier.observe(source)
    (graded,) = [fact async for fact in verifier.handle(answer_proposed())]
    assert graded.verdict is Verdict.CORRECT


async def test_everything_a_reward_needs_travels_along():
    """All fields that an answer carries come back with the verdict."""
    verifier = Verifier(VerifierConfig())
    verifier.observe(task_seeded())
    answer = answer_proposed(
        purpose=Purpose.TRIAL, attempt=3, step=5, slot=2, planned=True, plan_quality=0.4, policy="p7", answer="24", format=0.5
    )
    (graded,) = [fact async for fact in verifier.handle(answer)]
    assert graded == AnswerGraded(
        purpose=Purpose.TRIAL,
        task=answer.task,
        attempt=3,
        verdict=Verdict.WRONG,
        reason="different",
        sample="sample-s",
        format=0.5,
        step=5,
        slot=2,
        planned=True,
        plan_quality=0.4,
        policy="p7",
    )


async def test_a_later_key_does_not_change_a_verdict():
    """A task keeps its first key."""
    verifier = Verifier(VerifierConfig())
    verifier.observe(task_seeded())
    verifier.observe(task_seeded(key=Key("1 + 1")))
    (graded,) = [fact async for fact in verifier.handle(answer_proposed())]
    assert graded.verdict is Verdict.CORRECT


async def test_an_unknown_task_gets_no_verdict():
    """A missing key is a fault of ours."""
    (graded,) = [fact async for fact in Verifier(VerifierConfig()).handle(answer_proposed(task=task("Unknown?")))]
    assert (graded.verdict, graded.reason) == (Verdict.NO_VERDICT, "no key known")


def test_a_mistyped_knob_is_refused():
    """The run file's section is checked when the service is built."""
    with pytest.raises(BadInput, match=r"verifier\.max_node"):
        build(run_started(config={"verifier": {"max_node": 10}}), in_turn())
