"""The PACE paper's bettor: the same share of the wealth on every discordant pair."""

from __future__ import annotations

from math import log1p

MAX_LAMBDA = 0.99
"""A share of 1 would lose everything at the first loss and could never recover."""


class Fixed:
    """Wealth is multiplied by 1 + share at a win and by 1 - share at a loss.

    With the paper's share of 0.5 it grows on average only where more than ln 2 / ln 3 = 63 % of the discordant pairs are wins.
    """

    def __init__(self, share: float = 0.5) -> None:
        """`share` of the wealth is bet, in (0, 0.99]; called lambda in the paper. Raises ValueError outside that range."""
        if not 0 < share <= MAX_LAMBDA:
            raise ValueError(f"a fixed bettor's lambda must be above 0 and at most {MAX_LAMBDA}, not {share}")
        self._win = log1p(share)
        self._loss = log1p(-share)

    def log_wealth(self, wins: int, losses: int) -> float:
        """W ln(1 + lambda) + L ln(1 - lambda)."""
        return wins * self._win + losses * self._loss
