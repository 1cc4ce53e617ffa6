"""The default bettor: the mean wealth of four fixed bettors, so that no share has to be guessed beforehand."""

from __future__ import annotations

from math import exp, fsum, log

from services.gate.bettors.fixed import Fixed

SHARES = (0.2, 0.4, 0.6, 0.8)


class Grid:
    """A mean of supermartingales is one too; its wealth is at least a quarter of what the best of the four has."""

    def __init__(self, shares: tuple[float, ...] = SHARES) -> None:
        """`shares` are the lambdas of the fixed bettors, each in (0, 0.99] and each starting with the same stake."""
        self._bettors = [Fixed(share) for share in shares]

    def log_wealth(self, wins: int, losses: int) -> float:
        """ln of the mean of the wealths; taken relative to the largest one, so that nothing overflows."""
        logs = [bettor.log_wealth(wins, losses) for bettor in self._bettors]
        largest = max(logs)
        return largest + log(fsum(exp(each - largest) for each in logs) / len(logs))
