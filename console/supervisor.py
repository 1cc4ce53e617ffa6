"""Keeps the processes of a run alive, and ends them all, in order, whatever happens.

A process that died is started again, and so is one that stands still: it is killed first. `console.watch` judges who does.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence

from console.child import Child
from console.screen import Health
from console.watch import Watch
from shared.bus.rollcall import RollCall
from shared.errors import BadInput

GRACE_S = 4.0
"""A process that was asked to end has so long before it is killed; the broker, which comes last, half of it."""
ROLL_EVERY_S = 0.5
"""How often the broker is asked who was heard of."""
BAD_INPUT_STATUS = 2
"""The exit status with which a service refuses what the user gave; starting it again would not help."""
FAULT_STATUS = 3
"""The exit status with which a service gives up for good, such as a broker that cannot write its log any more."""
_TICK_S = 0.05


class ServiceLost(Exception):
    """A service died too often; the message is the root cause, with the last lines of its log."""


class Supervisor:
    """Starts children in order, restarts the dead, stops all in reverse order."""

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        watch: Watch | None = None,
        roll: RollCall | None = None,
    ) -> None:
        """Without `watch` and `roll`, by which it hears of the processes' heartbeats, only deaths are noticed."""
        self._say = say
        self._clock = clock
        self._watch = watch
        self._roll = roll
        self._asked = float("-inf")
        self._children: list[Child] = []

    def start(self, *children: Child) -> None:
        """Starts these and keeps them from now on."""
        for child in children:
            self._children.append(child)
            self._start(child, self._clock())

    def tick(self) -> None:
        """Notices who died or stands still, and starts them again when their time has come; call it several times a second.

        Raises `ServiceLost` when one died too often or gave up for good, and `BadInput` when one refused what the user gave.
        """
        now = self._clock()
        self._call_the_roll(now)
        for child in self._children:
            status = child.death()
            if status == BAD_INPUT_STATUS and (words := child.last_words(1)):
                raise BadInput(words)
            if status == FAULT_STATUS:
                raise ServiceLost(f"{child.name} gave up: {child.last_words(1)}")
            if status is not None:
                self._bury(child, f"died {how(status)}", now)
            elif child.running and self._watch and (trouble := self._watch.trouble(child.name, now)):
                child.kill()
                self._bury(child, f"{trouble}; it was killed", now)
            if not child.running and now >= child.start_at:
                child.restarts += 1
                self._start(child, now)

    def _start(self, child: Child, now: float) -> None:
        child.start()
        if self._watch:
            self._watch.started(child.name, now)

    def _bury(self, child: Child, fate: str, now: float) -> None:
        delay = child.policy.delay_after_death(now)
        if delay is None:
            often = f"more than {child.policy.max_restarts} times within {child.policy.window_s:.0f} s"
            raise ServiceLost(f"{child.name} was lost {often}. The last time it {fate}; its log ends:\n{child.last_words()}")
        child.start_at = now + delay
        self._say(f"{child.name} {fate}; starting it again")

    def _call_the_roll(self, now: float) -> None:
        if self._watch is None or self._roll is None:
            return
        if (peers := self._roll.heard()) is not None:
            self._watch.heard(peers, now)
        if now - self._asked >= ROLL_EVERY_S:
            self._asked = now
            self._roll.ask()

    def health(self) -> list[Health]:
        """Each process: alive or not, and how often it was restarted."""
        return [Health(child.name, child.running, child.restarts) for child in self._children]

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Ends everything, the last started first, but the first (the broker) only after all others; none survives this."""
        services, brokers = self._children[1:], self._children[:1]
        for group, time_s in ((services, grace_s), (brokers, grace_s / 2)):
            await _end(group, time_s)
        if self._roll:
            self._roll.close()

    def kill(self) -> None:
        """Ends everything at once."""
        for child in reversed(self._children):
            child.kill()


async def _end(children: Sequence[Child], grace_s: float) -> None:
    try:
        for child in reversed(children):
            child.terminate()
        deadline = time.monotonic() + grace_s
        while any(child.running for child in children) and time.monotonic() < deadline:
            for child in children:
                child.death()
            await asyncio.sleep(_TICK_S)
    finally:
        for child in children:
            child.kill()


def how(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"with exit status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"
