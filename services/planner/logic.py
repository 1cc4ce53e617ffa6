"""The Planner's replies as facts, and what they earned."""

from __future__ import annotations

from shared.engine.speaker import Reply
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    PlanJudged,
    PlanMalformed,
    PlanProposed,
    Role,
    TaskAssigned,
)
from shared.rewards.formats import format_score
from shared.rewards.roles import planner_reward
from shared.rewards.rules import SageRules
from shared.rewards.tags import last_body

Experience = ExperienceRecorded | ExperienceDropped
NO_REPLY = "the engine gave no reply"


def planned(assigned: TaskAssigned, reply: Reply, rules: SageRules) -> PlanProposed | tuple[PlanMalformed, Experience]:
    """The plan in a reply; without one, the malformed plan and its experience: its quality is 0 by rule, nobody scores it."""
    form = 0.0 if reply.lost else format_score(Role.PLANNER, reply.text)
    plan = last_body(reply.text, "plan")
    if plan is not None:
        return PlanProposed(
            step=assigned.step,
            slot=assigned.slot,
            policy=assigned.policy,
            task=assigned.task,
            plan=plan,
            sample=reply.sample,
            format=form,
        )
    malformed = PlanMalformed(
        step=assigned.step,
        slot=assigned.slot,
        policy=assigned.policy,
        task=assigned.task,
        sample=reply.sample,
        format=form,
        reason=NO_REPLY if reply.lost else "no plan between <plan> and </plan>",
    )
    if reply.lost:
        return malformed, _dropped(assigned.step, reply.sample, NO_REPLY, fault=True)
    return malformed, _recorded(assigned, reply.sample, quality=0.0, form=form, rules=rules)


def rewarded(judged: PlanJudged, rules: SageRules) -> Experience:
    """What a plan earned by its score. A plan without a score earns nothing: it leaves the batch."""
    if judged.quality is None:
        reason = "the Critic's reply held no score" if judged.sample else "the engine gave the Critic no reply"
        return _dropped(judged.step, judged.plan_sample, reason, fault=not judged.sample)
    return _recorded(judged, judged.plan_sample, quality=judged.quality, form=judged.plan_format, rules=rules)


def _recorded(
    about: TaskAssigned | PlanJudged, sample: str, *, quality: float, form: float, rules: SageRules
) -> ExperienceRecorded:
    reward = planner_reward(quality, form, rules)
    return ExperienceRecorded(
        step=about.step, role=Role.PLANNER, sample=sample, reward=reward.value, parts=reward.parts, kind=about.task.kind
    )


def _dropped(step: int, sample: str, reason: str, *, fault: bool) -> ExperienceDropped:
    return ExperienceDropped(step=step, role=Role.PLANNER, sample=sample, reason=reason, fault=fault)
