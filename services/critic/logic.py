"""The Critic's replies as facts."""

from __future__ import annotations

from shared.engine.speaker import Reply
from shared.messages import ExperienceDropped, ExperienceRecorded, PlanJudged, PlanProposed, Role, TaskChecked, TaskJudged
from shared.rewards.formats import format_score
from shared.rewards.roles import critic_reward
from shared.rewards.rules import SageRules
from shared.rewards.scores import quality_from

Experience = ExperienceRecorded | ExperienceDropped


def task_judged(checked: TaskChecked, reply: Reply, rules: SageRules) -> tuple[TaskJudged, Experience]:
    """The score of a task, and what the reply earned."""
    judged = TaskJudged(
        step=checked.step,
        slot=checked.slot,
        policy=checked.policy,
        task=checked.task,
        usable=checked.usable,
        duplicate=checked.duplicate,
        quality=_quality(reply, rules),
        sample=reply.sample,
        format=_form(reply),
    )
    return judged, _experience(checked, reply)


def plan_judged(proposed: PlanProposed, reply: Reply, rules: SageRules) -> tuple[PlanJudged, Experience]:
    """The score of a plan, and what the reply earned."""
    judged = PlanJudged(
        step=proposed.step,
        slot=proposed.slot,
        policy=proposed.policy,
        task=proposed.task,
        plan=proposed.plan,
        plan_sample=proposed.sample,
        plan_format=proposed.format,
        quality=_quality(reply, rules),
        sample=reply.sample,
        format=_form(reply),
    )
    return judged, _experience(proposed, reply)


def _quality(reply: Reply, rules: SageRules) -> float | None:
    return None if reply.lost else quality_from(reply.text, rules)


def _form(reply: Reply) -> float:
    return 0.0 if reply.lost else format_score(Role.CRITIC, reply.text)


def _experience(cause: TaskChecked | PlanProposed, reply: Reply) -> Experience:
    if reply.lost:
        reason = "the engine gave no reply"
        return ExperienceDropped(step=cause.step, role=Role.CRITIC, sample=reply.sample, reason=reason, fault=True)
    reward = critic_reward(_form(reply))
    return ExperienceRecorded(
        step=cause.step, role=Role.CRITIC, sample=reply.sample, reward=reward.value, parts=reward.parts, kind=cause.task.kind
    )
