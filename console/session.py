"""A run while it goes on: starts the processes, follows the log, and knows when it is over, in trouble, or interrupted."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from console.child import Child
from console.health import RunStopped, StallWatch, busy, check_failure, check_faults
from console.screen import Health, Screen
from console.supervisor import ServiceLost, Supervisor
from console.view import VIEW_TYPES, RunView
from console.watch import FROZEN_S, STUCK_S, Watch
from shared.bus.port import Bus, BusClosed
from shared.bus.rollcall import RollCall
from shared.messages import Fact, RunEnded, RunStarted, named

OK, FAULT = 0, 3
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_S = 0.1
_REDRAW_S = 0.25
_PUBLISH_AT_ONCE = 200
_LAST_WORD_S = 5.0


class Ending(NamedTuple):
    """How a session ended."""

    status: int
    """The exit status of the command."""
    reason: str


class Limits(NamedTuple):
    """When a run stops by itself."""

    stall_s: float
    max_fault_share: float
    evaluations: int
    """So many different `EvaluationCompleted` facts end the run."""
    frozen_s: float = FROZEN_S
    """A process without a heartbeat for so long is killed and started again."""
    stuck_s: float = STUCK_S
    """A process whose event loop has not come round for so long is killed and started again."""


class Session:
    """One run from start to end."""

    def __init__(
        self,
        bus: Bus,
        broker: Child,
        services: Sequence[Child],
        screen: Screen,
        limits: Limits,
        *,
        roll: RollCall | None = None,
    ) -> None:
        """`bus` and `roll` are clients of the broker that `broker` is; without `roll` only deaths of processes are noticed."""
        self.view = RunView()
        self._bus = bus
        self._broker = broker
        self._services = services
        self._screen = screen
        self._limits = limits
        watch = Watch(broker.name, limits.frozen_s, limits.stuck_s) if roll else None
        self._supervisor = Supervisor(screen.say, watch=watch, roll=roll)
        self._signals: list[signal.Signals] = []
        self._signalled = asyncio.Event()

    async def run(self, first: Sequence[Fact]) -> Ending:
        """Publishes the `first` facts and goes on until the run is over; leaves no process behind.

        Raises `BadInput` when a process refuses what the user gave.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            return await self._guarded(first)
        finally:
            await self._supervisor.stop()
            await self._bus.close()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def health(self) -> list[Health]:
        """The processes as the supervisor sees them."""
        return self._supervisor.health()

    def _on_signal(self, number: signal.Signals) -> None:
        """The first signal ends the run in order; a second one means at once."""
        if self._signals:
            self._supervisor.kill()
        self._signals.append(number)
        self._signalled.set()

    async def _guarded(self, first: Sequence[Fact]) -> Ending:
        """Whatever comes first: the run's own end, a signal, or a service that cannot be kept alive."""
        self._supervisor.start(self._broker)
        tasks = [asyncio.create_task(work) for work in (self._follow(first), self._interrupted(), self._keep_alive())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task for task in tasks if task.done()).result()
        except (RunStopped, ServiceLost, BusClosed) as error:
            return await self._stopped(str(error))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _interrupted(self) -> Ending:
        await self._signalled.wait()
        number = self._signals[0]
        return Ending(128 + number, f"interrupted by {number.name}")

    async def _keep_alive(self) -> Ending:
        while True:
            self._supervisor.tick()
            await asyncio.sleep(_TICK_S)

    async def _follow(self, first: Sequence[Fact]) -> Ending:
        for start in range(0, len(first), _PUBLISH_AT_ONCE):
            await self._bus.publish(first[start : start + _PUBLISH_AT_ONCE])
        self._supervisor.start(*self._services)
        seen = await self._catch_up()
        watch, drawn = StallWatch(self._limits.stall_s), 0.0
        while True:
            page = await self._bus.read(seen, VIEW_TYPES)
            seen, now = page.upto, time.monotonic()
            for _, fact in page.facts:
                self.view.take(fact, now)
                check_failure(fact)
            if now - drawn >= _REDRAW_S or self._evaluated:
                self._screen.show(self.view, self.health(), seen)
                drawn = now
            if self._evaluated:
                return await self._completed()
            if self.view.training_failed and self.view.ending:
                raise RunStopped(self.view.ending.reason)
            check_faults(self.view, self._limits.max_fault_share)
            if watch.stalled(seen, now):
                names = [child.name for child in self._services]
                raise RunStopped(
                    f"no new fact for {self._limits.stall_s:g} s (run.stall_s); still open: {await busy(self._bus, names)}"
                )
            if not page.facts:
                await self._bus.news(seen, _REDRAW_S)

    async def _catch_up(self) -> int:
        """Reads what was in the log before this session; its times say nothing about the pace."""
        seen = 0
        while True:
            page = await self._bus.read(seen, VIEW_TYPES)
            for _, fact in page.facts:
                self.view.take(fact)
                check_failure(fact)
            if page.upto <= seen:
                return seen
            seen = page.upto

    @property
    def _evaluated(self) -> bool:
        return len(self.view.evaluations) >= self._limits.evaluations

    async def _completed(self) -> Ending:
        reason = self.view.ending.reason if self.view.ending else "evaluated"
        await self._end(RunEnded(ok=True, reason=reason))
        return Ending(OK, reason)

    async def _stopped(self, reason: str) -> Ending:
        """Writes the last fact if the log still takes one; the run stops all the same."""
        with suppress(BusClosed, TimeoutError):
            async with asyncio.timeout(_LAST_WORD_S):
                await self._end(RunEnded(ok=False, reason=reason))
        return Ending(FAULT, reason)

    async def _end(self, ended: RunEnded) -> None:
        """The n-th end of a run that was resumed has the index n, so that it is said and not taken for the first."""
        started = (await self._bus.read(0, [RunStarted], limit=1)).facts
        if started:
            await self._bus.publish([named(ended, started[0][1], self.view.endings)])
            self.view.take(ended)
