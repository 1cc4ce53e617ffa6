"""Tests of the reward formulas against examples worked by hand."""

from __future__ import annotations

import pytest

from shared.messages import Verdict
from shared.rewards.roles import (
    challenger_accepted,
    challenger_refused,
    critic_reward,
    failure_rate,
    planner_reward,
    solver_reward,
)
from shared.rewards.rules import SageRules

RULES = SageRules()


def test_difficulty_is_the_failure_rate():
    """One success in four attempts is a difficulty of 3/4."""
    assert failure_rate([Verdict.CORRECT, Verdict.WRONG, Verdict.WRONG, Verdict.WRONG]) == 0.75
    assert failure_rate([Verdict.CORRECT] * 4) == 0.0


def test_an_accepted_task_earns_the_mean_of_three():
    """(0.8 + 0.75 + 1) / 3."""
    reward, parts = challenger_accepted(0.8, 0.75, 1.0, RULES)
    assert reward == pytest.approx(2.55 / 3)
    assert parts == {"quality": 0.8, "difficulty": 0.75, "format": 1.0}


def test_an_unsolved_task_earns_its_difficulty_unless_switched_off():
    """The paper pays a task that nobody solved in full; Absolute Zero's rule pays it none."""
    assert challenger_accepted(0.7, 1.0, 1.0, RULES).value == pytest.approx(0.9)
    assert challenger_accepted(0.7, 1.0, 1.0, SageRules(zero_at_unsolved=True)).value == pytest.approx(1.7 / 3)
    assert challenger_accepted(0.7, 0.75, 1.0, SageRules(zero_at_unsolved=True)).value == pytest.approx(2.45 / 3)


def test_a_refused_task_earns_halves_or_thirds():
    """The paper's (0.5 + 1) / 2, or the same divided by three."""
    assert challenger_refused(0.5, 1.0, RULES).value == pytest.approx(0.75)
    assert challenger_refused(0.5, 1.0, SageRules(rejected="thirds")).value == pytest.approx(0.5)
    assert challenger_refused(0.0, 0.5, RULES).value == pytest.approx(0.25)


def test_the_planner_earns_quality_and_form_by_halves():
    """0.5 x 0.6 + 0.5 x 1."""
    assert planner_reward(0.6, 1.0, RULES).value == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("quality", "planned", "correct", "form", "value"),
    [
        (1.0, True, True, 1.0, 1.0),
        (0.5, True, True, 1.0, 0.9),
        (0.5, True, False, 1.0, 0.3),
        (0.9, False, True, 1.0, 0.8),
        (0.2, True, True, 1.0, 0.8),
        (None, False, True, 1.0, 0.8),
        (None, False, False, 0.0, 0.0),
        (0.3, True, False, 0.5, 0.16),
    ],
)
def test_the_solver_earns_plan_correctness_and_form(
    quality: float | None, planned: bool, correct: bool, form: float, value: float
):
    """0.2 plan + 0.6 correct + 0.2 form; the plan counts only where it was shown and reached beta."""
    reward = solver_reward(plan_quality=quality, planned=planned, correct=correct, form=form, rules=RULES)
    assert reward.value == pytest.approx(value)
    assert set(reward.parts) == {"plan", "correct", "format"}


def test_the_critic_earns_its_own_form():
    """Nothing else."""
    assert critic_reward(0.5) == (0.5, {"format": 0.5})
