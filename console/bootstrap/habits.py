"""The habits of the bootstrap corpus: how often each role is careful, hasty or sloppy. They set what reinforcement can win."""

from __future__ import annotations

import msgspec


class Habits(msgspec.Struct, frozen=True):
    """Shares in [0, 1]. A careful habit exists for every role and kind, and is the better one."""

    careful_bare: float = 0.35
    """Solver without a plan: works step by step instead of answering at once."""
    careful_planned: float = 0.7
    """Solver with a plan: works along it step by step."""
    hasty_code_wrong: float = 0.5
    """A hasty function: one line whose brackets are forgotten, where they matter."""
    hasty_code_short: float = 0.15
    """A hasty function: a step is left out."""
    careful_slip: float = 0.06
    """A careful solution in which one step is taken wrongly."""
    sloppy_plan: float = 0.35
    """Planner: a step is dropped, doubled or changed."""
    ill_posed: float = 0.15
    """Challenger: a question that cannot be answered as it stands."""
    loose_key: float = 0.04
    """Challenger: a key that forgets a step."""
    mild_score: float = 0.12
    """Critic: a middling score where a clear one is due."""
    format_slip: float = 0.1
    """Any role: a tag is forgotten."""
