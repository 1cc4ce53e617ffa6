"""Moves the head of a replay. Pure but for the clock it is given; `advance` is called often and never waits.

Between two facts lies the difference of their journal times, or nothing where the times go back; at speed X it passes X times
as fast. Time that passed while there was too much to show is not lost: the player catches up. Time in which the process stood
still (Ctrl-Z, a machine that slept) is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from console.replay.pace import Pace, Plan
from console.replay.tape import Cue
from shared.eventlog.entry import Refused

BURST = 500
"""Facts shown in one go at most, so that readers are answered in between."""
RECENT = 6
"""Cues remembered for the screen."""
LONGEST_TURN_S = 1.0
"""What counts at most of the time between two turns, which come many times a second."""
REST_S = 1.0
"""How long the end is shown before a loop begins anew."""


class Cues(Protocol):
    """What a player needs of a tape."""

    def cues(self, after: int, until: int) -> Iterator[Cue]:
        """The facts to show above `after` up to and including `until`, in order."""

    def time_of(self, seq: int) -> int | None:
        """When a fact was journalled, in ns since the UNIX epoch; None when it cannot be read."""


class Player:
    """The position of a replay, and what moves it."""

    def __init__(self, tape: Cues, plan: Plan, now: Callable[[], float], epoch: int = 0) -> None:
        """`now` is a monotonic clock in seconds; `epoch` is the number of the first past."""
        self.plan = plan
        self.pace = plan.pace
        self.speed = plan.speed
        self.playing = not plan.paused
        self.loop = plan.loop
        self.epoch = epoch
        self.recent: deque[Cue] = deque(maxlen=RECENT)
        self._time_ns: int | None = None
        self._tape = tape
        self._now = now
        self._then = now()
        self._place(plan.first - 1)

    @property
    def at_end(self) -> bool:
        """Everything is shown."""
        return self.position >= self.plan.last

    @property
    def clock_ns(self) -> int:
        """The recorded time that it is now: the head's, and what has passed since at the pace, up to the next fact's."""
        cue = self._next
        if self._time_ns is None:
            return cue.time_ns if cue else 0
        waited = min(self._waited_s, self._gap_s(cue)) if cue else 0.0
        return self._time_ns + round(waited * 1e9)

    def advance(self, all_read: bool) -> None:
        """Shows what is due by now. `all_read`: there are consumers, and all have read up to the head."""
        now = self._now()
        passed, self._then = min(now - self._then, LONGEST_TURN_S), now
        if not self.playing:
            return
        if self.at_end:
            self._rest(now, all_read)
        elif self.pace is Pace.TIMED:
            self._waited_s += passed * self.speed
            self._show(BURST, self._due)
        elif self.pace is Pace.INSTANT:
            self._show(BURST)
        elif all_read:
            self._show(self.plan.window)

    def pause(self) -> None:
        """Stands still; the clock too."""
        self.playing = False

    def resume(self) -> None:
        """Goes on at its pace."""
        self.playing = True

    def step(self, count: int) -> None:
        """Pauses, and shows the next `count` facts at once. Raises `Refused` for less than one, and at the end."""
        if count < 1:
            raise Refused(f"step {count}: a step is at least one fact")
        if self.at_end:
            raise Refused(f"step: there is no fact after {self.position}; seek back first")
        self.pause()
        self._show(count)
        self._waited_s = 0.0

    def seek(self, seq: int) -> None:
        """Makes `seq` the head. Going back begins a new epoch. Raises `Refused` beyond the end of what is played."""
        if not 0 <= seq <= self.plan.last:
            raise Refused(f"seek {seq}: this replay has facts 1 to {self.plan.last}; 0 is before the first")
        if seq == self.position:
            return
        if seq < self.position:
            self.epoch += 1
        self._place(seq)
        self._time_ns = self._tape.time_of(seq)

    def set_speed(self, speed: float) -> None:
        """From now on by the journal's times, at this speed."""
        self.pace, self.speed = Pace.TIMED, speed

    def _place(self, position: int) -> None:
        """Stands after `position`; what comes next is due at once."""
        self.position = position
        self.recent.clear()
        self.recent.extend(self._tape.cues(max(0, position - RECENT), position))
        self._time_ns = None
        self._waited_s = 0.0
        self._ended_at: float | None = None
        self._coming = self._tape.cues(position, self.plan.last)
        self._next = next(self._coming, None)
        if self._next is None:
            self.position = self.plan.last

    def _show(self, count: int, due: Callable[[Cue], bool] = lambda cue: True) -> None:
        """Moves the head over the next `count` cues as long as they are due."""
        while count > 0 and (cue := self._next) is not None and due(cue):
            self.position, self._time_ns = cue.seq, cue.time_ns
            self.recent.append(cue)
            self._next = next(self._coming, None)
            count -= 1
        if self._next is None:
            self.position, self._waited_s = self.plan.last, 0.0

    def _due(self, cue: Cue) -> bool:
        """Whether its time has come; takes the time that had to pass from what has passed."""
        gap = self._gap_s(cue)
        if self._waited_s < gap:
            return False
        self._waited_s -= gap
        return True

    def _gap_s(self, cue: Cue) -> float:
        """Recorded seconds between the head and this fact."""
        gap = 0.0 if self._time_ns is None else max(0, cue.time_ns - self._time_ns) / 1e9
        return gap if self.plan.max_gap_s is None else min(gap, self.plan.max_gap_s)

    def _rest(self, now: float, all_read: bool) -> None:
        """At the end. A loop begins anew after a while; in lockstep not before everybody has read the end."""
        if self._ended_at is None:
            self._ended_at = now
        if self.loop and now - self._ended_at >= REST_S and (all_read or self.pace is not Pace.LOCKSTEP):
            self.epoch += 1
            self._place(self.plan.first - 1)
