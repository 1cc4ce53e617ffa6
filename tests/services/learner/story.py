"""Facts of a step as the other roles would give them."""

from __future__ import annotations

from services.learner.ledger import Expectations
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    Key,
    PlanProposed,
    Role,
    StepExpired,
    StepOpened,
    Task,
    TaskJudged,
    TaskProposed,
    WorkFailed,
    named,
)
from shared.rewards.rules import SageRules

EXPECTED = Expectations(SageRules(difficulty_attempts=2, solve_attempts=2), train_on_difficulty=True)
TASK = Task(id="t", question="1 + 1?", kind="words")


def opened(challenges: int = 0, assignments: int = 0, step: int = 1, policy: str = "p0") -> StepOpened:
    """An opened step of so many units."""
    fact = StepOpened(step=step, policy=policy, num_challenges=challenges, num_assignments=assignments, lineage=f"s{step}")
    return named(fact, f"before step {step}")


def proposed(unit: str) -> TaskProposed:
    """The Challenger's task of a unit such as ``s1.c0``."""
    return TaskProposed(
        step=1, slot=0, policy="p0", task=TASK, key=Key("2"), references=(), sample="x", format=1.0, lineage=unit
    )


def judged(unit: str, quality: float | None = 1.0, usable: bool = True, duplicate: bool = False) -> TaskJudged:
    """The Critic's judgement of a unit's task."""
    return TaskJudged(
        step=1, slot=0, policy="p0", task=TASK, usable=usable, quality=quality, sample="x", format=1.0,
        duplicate=duplicate, lineage=unit,
    )  # fmt: skip


def planned(unit: str) -> PlanProposed:
    """The Planner's plan of a unit."""
    return PlanProposed(step=1, slot=0, policy="p0", task=TASK, plan="add", sample="x", format=1.0, lineage=unit)


def expired(step: int = 1) -> StepExpired:
    """The deadline of a step."""
    return named(StepExpired(step=step, missing="something", lineage=f"s{step}"), f"deadline of step {step}")


def earned(unit: str, role: Role, sample: str = "", reward: float = 1.0, step: int = 1) -> ExperienceRecorded:
    """A recorded experience of a unit."""
    return ExperienceRecorded(
        step=step, role=role, sample=sample or f"{unit}.{role}", reward=reward, parts={}, kind="words", lineage=unit
    )


def dropped(unit: str, role: Role, *, fault: bool) -> ExperienceDropped:
    """An experience that earns nothing."""
    reason = "no verdict" if fault else "unreadable"
    return ExperienceDropped(step=1, role=role, sample=f"{unit}.{role}.dropped", reason=reason, fault=fault, lineage=unit)


def failed(lineage: str, role: Role = Role.SOLVER, work: str = "w", work_type: str = "PlanJudged") -> WorkFailed:
    """Work that a role gave up on."""
    return WorkFailed(role=role, work=work, work_type=work_type, reason="it broke", lineage=lineage)
