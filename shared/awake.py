"""Time in which somebody was awake: for ages that a frozen process, a long stall or a sleeping machine must not make old.

Whoever looks at the clock often, and then not for a while, was not there in between; of such a gap only a little counts.
"""

from __future__ import annotations


class AwakeClock:
    """Seconds spent awake, as far as looking at the clock tells. Pure: the readings of a steady clock are given."""

    def __init__(self, longest_s: float = 1.0) -> None:
        """Between two looks at most `longest_s` count; looks are meant to come several times as often."""
        self._longest_s = longest_s
        self._looked: float | None = None
        self._awake = 0.0

    def at(self, now: float) -> float:
        """Looks at the clock when it shows `now`, in seconds; how many were spent awake since the first look."""
        if self._looked is not None:
            self._awake += min(max(0.0, now - self._looked), self._longest_s)
        self._looked = now
        return self._awake
