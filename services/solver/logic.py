"""What the Solver attempts for which fact, its replies as facts, and what they earned."""

from __future__ import annotations

from typing import NamedTuple

from shared.engine.speaker import Reply
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    ExperienceDropped,
    ExperienceRecorded,
    PlanJudged,
    PlanMalformed,
    Purpose,
    Role,
    TaskJudged,
    TrialRequested,
    Verdict,
    named,
)
from shared.rewards.formats import format_score
from shared.rewards.roles import solver_reward
from shared.rewards.rules import SageRules, attemptable, plan_passes
from shared.rewards.tags import last_body

Cause = TaskJudged | PlanJudged | PlanMalformed | TrialRequested


class Work(NamedTuple):
    """So many attempts at the cause's task, with this plan shown (None: the bare question)."""

    purpose: Purpose
    attempts: int
    plan: str | None = None
    plan_quality: float | None = None
    temperature: float | None = None
    """None: the Solver's own."""


def work_for(cause: Cause, rules: SageRules) -> Work:
    """What a fact asks of the Solver; no attempt at a new task that is unusable, a duplicate, or not good enough."""
    match cause:
        case TaskJudged(usable=usable, duplicate=duplicate, quality=quality):
            wanted = attemptable(usable=usable, duplicate=duplicate, quality=quality, rules=rules)
            return Work(Purpose.DIFFICULTY, rules.difficulty_attempts if wanted else 0)
        case PlanJudged(plan=plan, quality=quality):
            shown = plan if plan_passes(quality, rules) else None
            return Work(Purpose.SOLVE, rules.solve_attempts, shown, quality)
        case PlanMalformed():
            return Work(Purpose.SOLVE, rules.solve_attempts)
        case TrialRequested(temperature=temperature):
            return Work(Purpose.TRIAL, 1, temperature=temperature)


def answered(cause: Cause, work: Work, attempt: int, reply: Reply) -> AnswerProposed:
    """One attempt's reply as a fact, named by its attempt: attempts end in any order."""
    step, slot = (0, 0) if isinstance(cause, TrialRequested) else (cause.step, cause.slot)
    answer = AnswerProposed(
        purpose=work.purpose,
        task=cause.task,
        attempt=attempt,
        answer=last_body(reply.text, "answer"),
        sample=reply.sample,
        format=0.0 if reply.lost else format_score(Role.SOLVER, reply.text),
        step=step,
        slot=slot,
        planned=work.plan is not None,
        plan_quality=work.plan_quality,
        policy=cause.policy,
    )
    return named(answer, cause, attempt)


def rewarded(
    graded: AnswerGraded, rules: SageRules, *, train_on_difficulty: bool
) -> ExperienceRecorded | ExperienceDropped | None:
    """What an answer earned. None for a trial, and for an attempt at a new task when those are not trained on."""
    if graded.purpose is Purpose.TRIAL or (graded.purpose is Purpose.DIFFICULTY and not train_on_difficulty):
        return None
    if graded.verdict is Verdict.NO_VERDICT:
        return ExperienceDropped(step=graded.step, role=Role.SOLVER, sample=graded.sample, reason=graded.reason, fault=True)
    reward = solver_reward(
        plan_quality=graded.plan_quality,
        planned=graded.planned,
        correct=graded.verdict is Verdict.CORRECT,
        form=graded.format,
        rules=rules,
    )
    return ExperienceRecorded(
        step=graded.step,
        role=Role.SOLVER,
        sample=graded.sample,
        reward=reward.value,
        parts=reward.parts,
        kind=graded.task.kind,
        planned=graded.planned,
    )
