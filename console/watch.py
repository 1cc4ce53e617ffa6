"""Which processes stand still: a judgement from who was heard of, and when. Pure: clock readings and answers are given.

The broker says, when asked, how long each process has been silent. A broker that does not answer is itself in trouble, and as
long as it does not, nobody else is judged. Only time counts in which the supervisor was awake: after Ctrl-Z and `fg`, or a
sleep of the machine, nothing looks dead that is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.awake import AwakeClock
from shared.bus.wire import Peer

FROZEN_S = 4.0
STUCK_S = 60.0
STARTING_S = 60.0
"""A process may take so long from its start to its first beat."""
FRESH_S = 1.5
"""An answer of the broker that is older than this says nothing about anybody."""


class Watch:
    """What is known about each process by its name. All times given are readings of one steady clock, in seconds."""

    def __init__(self, broker: str, frozen_s: float = FROZEN_S, stuck_s: float = STUCK_S) -> None:
        """`broker` is the name of the process that answers. One that is silent for `frozen_s` stands still; one whose event
        loop has not come round for `stuck_s` is stuck."""
        self._broker = broker
        self._frozen_s = frozen_s
        self._stuck_s = stuck_s
        self._clock = AwakeClock()
        self._started: dict[str, float] = {}
        self._beat: dict[str, float] = {}
        self._lag: dict[str, float] = {}
        self._answered: float | None = None

    def started(self, name: str, now: float) -> None:
        """The process of this name was started, again or for the first time."""
        self._started[name] = self._clock.at(now)
        self._beat.pop(name, None)
        if name == self._broker:
            self._answered = None

    def heard(self, peers: Sequence[Peer], now: float) -> None:
        """The broker answered."""
        at = self._clock.at(now)
        if self._answered is None:  # it was started since, and has yet to hear from everybody
            self._beat = dict.fromkeys(self._beat, at)
        self._answered = at
        for peer in peers:
            beat = at - peer.silent_s
            if beat >= self._started.get(peer.name, at):  # else it is from the process that had this name before
                self._beat[peer.name] = max(beat, self._beat.get(peer.name, beat))
                self._lag[peer.name] = peer.lag_s

    def trouble(self, name: str, now: float) -> str | None:
        """Why the process must be taken to stand still; None when all is well, or nothing can be said."""
        at = self._clock.at(now)
        if name == self._broker:
            return self._broker_trouble(at)
        if self._answered is None or at - self._answered > FRESH_S:
            return None
        beat = self._beat.get(name)
        if beat is None:
            return self._slow_start(name, at)
        silent = self._answered - beat
        if silent > self._frozen_s:
            return f"stood still: no heartbeat for {silent:.1f} s"
        if self._lag[name] > self._stuck_s:
            return f"was stuck: its event loop has not come round for {self._lag[name]:.0f} s"
        return None

    def _broker_trouble(self, at: float) -> str | None:
        if self._answered is None:
            return self._slow_start(self._broker, at)
        silent = at - self._answered
        return f"stood still: no answer for {silent:.1f} s" if silent > self._frozen_s else None

    def _slow_start(self, name: str, at: float) -> str | None:
        since = at - self._started[name]
        return f"gave no sign of life within {since:.0f} s of its start" if since > STARTING_S else None
