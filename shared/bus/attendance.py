"""Who is there: when each process was last heard of, and which members of the roster have been silent for too long.

A fold over beats and roster facts. Ages count only time in which the broker was awake, so that after a stall of its own, or a
sleep of the machine, nobody looks absent who was not. After a restart the broker has heard nobody; then members are given as
long as if they had just been heard of, and a while more, since they may be starting themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from shared.awake import AwakeClock
from shared.bus.wire import Beat, Peer
from shared.messages import ReplicaJoined, ReplicaLeft

LEAVE_S = 10.0
"""A member that was not heard of for so long has left, unless the broker is told otherwise."""
GRACE_S = 20.0
"""Members that the broker has not yet heard of since it started have so much longer."""
FORGET_S = 3600.0
"""A process outside the roster is forgotten after so long without a beat."""


class _Heard(NamedTuple):
    role: str
    at: float
    lag_s: float


class Attendance:
    """All processes that beat, and the members of every role. The times given are those of a steady clock, in seconds."""

    def __init__(self, now: float, leave_s: float = LEAVE_S) -> None:
        self._leave_s = leave_s
        self._clock = AwakeClock()
        self._clock.at(now)
        self._heard: dict[str, _Heard] = {}
        self._members: dict[str, ReplicaJoined] = {}
        self._since: dict[str, float] = {}
        self._awaited: set[str] = set()
        """Members from before the broker's start that it has not heard of since."""

    def beat(self, beat: Beat, now: float) -> None:
        """A process was heard of."""
        self._awaited.discard(beat.name)
        self._heard[beat.name] = _Heard(beat.role, self._clock.at(now), beat.lag_s)

    def fold(self, fact: ReplicaJoined | ReplicaLeft, now: float, *, recovered: bool = False) -> None:
        """Takes one fact of the roster, in log order; `recovered` says that it is from before the broker's start."""
        if isinstance(fact, ReplicaJoined):
            self._members[fact.replica] = fact
            self._since[fact.replica] = self._clock.at(now)
            if recovered:
                self._awaited.add(fact.replica)
        else:
            self._awaited.discard(fact.replica)
            self._members.pop(fact.replica, None)
            self._since.pop(fact.replica, None)

    def absent(self, now: float) -> list[tuple[ReplicaJoined, float]]:
        """Members that have been silent for too long, as they joined, with the seconds of their silence."""
        at = self._clock.at(now)
        silences = ((joined, at - self._last_known(name)) for name, joined in self._members.items())
        return [(joined, silent_s) for joined, silent_s in silences if silent_s > self._leave_s]

    def peers(self, now: float) -> list[Peer]:
        """All processes that beat since the broker's start, but for those long gone."""
        at = self._clock.at(now)
        gone = [n for n, heard in self._heard.items() if n not in self._members and at - heard.at > FORGET_S]
        for name in gone:
            del self._heard[name]
        return [Peer(name, heard.role, at - heard.at, heard.lag_s) for name, heard in sorted(self._heard.items())]

    def _last_known(self, name: str) -> float:
        heard = self._heard.get(name)
        since = self._since[name] + (GRACE_S if name in self._awaited else 0.0)
        return max(since, heard.at) if heard else since
