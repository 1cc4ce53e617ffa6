"""The soft format score: did a reply carry the tags its role owes? Counted on the response alone, never on the prompt.

Source: SAGE's r_f as far as it is known, with Multi-Agent Evolve's counts (whose pitfall is to count the prompt's too).
"""

from __future__ import annotations

from shared.messages import Role
from shared.rewards.tags import count_tag

REQUIRED: dict[Role, tuple[str, ...]] = {
    Role.CHALLENGER: ("question", "check"),
    Role.CRITIC: ("score",),
    Role.PLANNER: ("plan",),
    Role.SOLVER: ("answer",),
}
"""The tags that each speaking role owes."""

EMPTY = 0.5
"""Score of an empty reply (the paper's rule)."""


def format_score(role: Role, reply: str) -> float:
    """In [0, 1]: per required tag 1 for exactly one pair, 0.5 for several balanced pairs, else 0; the mean over the tags."""
    if not reply.strip():
        return EMPTY
    tags = REQUIRED[role]
    return sum(_tag_score(reply, tag) for tag in tags) / len(tags)


def _tag_score(reply: str, tag: str) -> float:
    count = count_tag(reply, tag)
    if not count.balanced:
        return 0.0
    return 1.0 if count.pairs == 1 else 0.5
