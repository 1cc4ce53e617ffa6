"""SAGE's knobs, and the two gates that several roles must judge alike.

Defaults follow the paper where its value is known; every departure is a switch here (docs/decisions.md says why).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Attempts = Annotated[int, msgspec.Meta(ge=1, le=64)]

TOLERANCE = 1e-9
"""A score that equals a threshold on paper passes it, whatever floating point made of it: (8.2 - 1) / 9 against 0.8."""


class SageRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[sage]`` section of a run file."""

    alpha: Share = 0.7
    """A new task needs at least this quality to be attempted and to join the dataset."""
    beta: Share = 0.3
    """A plan needs at least this quality to be shown to the Solver and to count in its reward."""
    difficulty_attempts: Attempts = 4
    """Solver attempts without a plan from which a new task's difficulty is measured."""
    solve_attempts: Attempts = 4
    """Solver attempts at every assigned task."""
    solver_plan_weight: Share = 0.2
    """Weight of the plan's quality in the Solver's reward."""
    solver_correct_weight: Share = 0.6
    """Weight of a correct answer in the Solver's reward."""
    solver_format_weight: Share = 0.2
    """Weight of the form of its reply in the Solver's reward."""
    planner_quality_weight: Share = 0.5
    """Weight of the plan's quality in the Planner's reward."""
    planner_format_weight: Share = 0.5
    """Weight of the form of its reply in the Planner's reward."""
    norm: Literal["integer", "literal"] = "integer"
    """``integer``: a whole score s means (s-1)/9, so the worst is 0. ``literal``: the paper's formula, where 1 means 1.0."""
    unreadable_score: Literal["drop", "half"] = "drop"
    """``drop``: no readable score is no score. ``half``: the paper's 0.5."""
    zero_at_unsolved: bool = False
    """A task that no attempt solved earns no difficulty (Absolute Zero's rule); the paper pays it the full 1."""
    rejected: Literal["halves", "thirds"] = "halves"
    """Reward of a task that is not accepted: ``halves`` (quality + format)/2 as in the paper, ``thirds`` divides by 3 (MAE)."""


def attemptable(*, usable: bool, duplicate: bool, quality: float | None, rules: SageRules) -> bool:
    """Whether the Solver tries a new task: its key works, its question is new, and its quality reaches alpha."""
    return usable and not duplicate and quality is not None and quality >= rules.alpha - TOLERANCE


def plan_passes(quality: float | None, rules: SageRules) -> bool:
    """Whether a plan is shown to the Solver: it has a score, and that reaches beta."""
    return quality is not None and quality >= rules.beta - TOLERANCE
