"""The four roles' reward formulas (SAGE), from parts in [0, 1] to a reward in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shared.messages import Verdict
from shared.rewards.rules import SageRules, plan_passes


class Reward(NamedTuple):
    """What a sample earned, and the terms it was made of before weighting."""

    value: float
    parts: dict[str, float]


def failure_rate(verdicts: Sequence[Verdict]) -> float:
    """Difficulty of a task: 1 - mean success of the attempts at it. All must be correct or wrong."""
    return 1.0 - sum(verdict is Verdict.CORRECT for verdict in verdicts) / len(verdicts)


def challenger_accepted(quality: float, failures: float, form: float, rules: SageRules) -> Reward:
    """(quality + difficulty + format) / 3 for a task that joined the dataset; `failures` is its failure rate."""
    difficulty = 0.0 if rules.zero_at_unsolved and failures >= 1.0 else failures
    parts = {"quality": quality, "difficulty": difficulty, "format": form}
    return Reward((quality + difficulty + form) / 3.0, parts)


def challenger_refused(quality: float, form: float, rules: SageRules) -> Reward:
    """(quality + format) / 2 for a task that did not join (divided by 3 under ``rejected = "thirds"``)."""
    parts = {"quality": quality, "format": form}
    return Reward((quality + form) / (2.0 if rules.rejected == "halves" else 3.0), parts)


def planner_reward(quality: float, form: float, rules: SageRules) -> Reward:
    """Weighted sum of the plan's quality and the reply's form."""
    value = rules.planner_quality_weight * quality + rules.planner_format_weight * form
    return Reward(value, {"quality": quality, "format": form})


def solver_reward(*, plan_quality: float | None, planned: bool, correct: bool, form: float, rules: SageRules) -> Reward:
    """Weighted sum of plan, correctness and form. The plan term is 0 unless the plan was shown, so its weight is then lost."""
    plan = plan_quality if planned and plan_quality is not None and plan_passes(plan_quality, rules) else 0.0
    parts = {"plan": plan, "correct": float(correct), "format": form}
    value = rules.solver_plan_weight * plan + rules.solver_correct_weight * parts["correct"] + rules.solver_format_weight * form
    return Reward(value, parts)


def critic_reward(form: float) -> Reward:
    """The form of its own reply and nothing else."""
    return Reward(form, {"format": form})
