"""A storm over a run: processes are killed, frozen and interrupted at random; whatever the bus delivers meanwhile is noted."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shared.bus.address import bus_address_for
from shared.bus.zeromq import ZmqBus
from tests.chaos.run_process import RunProcess, alive

CONSOLE = "console"
PATIENT = (
    "run.max_restarts=100000", "run.deaths_over_one_fact=100000", "run.stall_s=600", "learner.step_deadline_s=3600",
)  # fmt: skip
"""Random kills are no fault of any process or fact, and a step takes as long as it takes."""
CALM_FACTS, CALM_S = 10, 20.0
"""After each start of the console nothing is struck until there are so many new facts, or so many seconds have passed."""
WHO_IS_LEFT_S = 10.0
"""After its console's end a process has so long to be gone."""


class Weather(NamedTuple):
    """How rough it is."""

    pause_s: tuple[float, float] = (0.2, 1.2)
    """Between two blows."""
    freeze_s: tuple[float, float] = (0.2, 2.5)
    kinds: tuple[tuple[str, int], ...] = (("kill", 12), ("freeze", 6), ("freeze for good", 2), ("console", 2))
    """What happens, and how often for each other."""


class Storm:
    """One run in a storm, from its first start to its end; resumed whenever its console was struck."""

    def __init__(self, folder: Path, seed: int, *options: str, steps: int, weather: Weather) -> None:
        """`seed` is the run's and the storm's."""
        self._folder = folder
        self._options = [part for setting in PATIENT for part in ("--set", setting)] + list(options)
        self._seed = seed
        self._steps = steps
        self._weather = weather
        self._chance = random.Random(seed)
        self._resumed = False
        self._thaws: list[tuple[float, int]] = []
        self.blows: Counter[str] = Counter()
        """How often what was done to whom, such as ``kill solver``."""
        self.delivered: dict[int, str] = {}
        """By sequence number, the id of every fact that the bus delivered."""

    async def rage(self, timeout_s: float) -> None:
        """Goes on until the run has ended well. Fails when it ends otherwise, or takes too long."""
        listening = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._until_the_console_is_struck():
                    self._resumed = True
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _until_the_console_is_struck(self) -> bool:
        """Whether the run has ended."""
        options = [*self._options, *(["--resume"] if self._resumed else [])]
        with RunProcess(self._folder, *options, steps=self._steps, seed=self._seed) as run:
            await self._spell_of_calm(run)
            while run.process.poll() is None:
                await self._pause(self._chance.uniform(*self._weather.pause_s))
                if run.process.poll() is None and (number := self._strike(run)):
                    await self._see_everybody_gone(run, number)
                    return False
            assert run.process.returncode == 0, f"{run.process.returncode} after {self.blows}:\n{run.output()}"
            return True

    async def _spell_of_calm(self, run: RunProcess) -> None:
        """Until the run has said something new since it was started or resumed: it would never end if it never got so far."""
        head, until = run.head(), time.monotonic() + CALM_S
        while run.head() <= head + CALM_FACTS and run.process.poll() is None and time.monotonic() < until:
            await self._pause(0.2)

    def _strike(self, run: RunProcess) -> signal.Signals | None:
        """One blow. The signal, when it was the console that will end by it."""
        kinds, weights = zip(*self._weather.kinds, strict=True)
        (kind,) = self._chance.choices(kinds, weights)
        if kind == "console":
            return self._strike_console(run)
        there = sorted(run.services().items())
        if not there:
            return None
        name, pid = self._chance.choice(there)
        number = signal.SIGKILL if kind == "kill" else signal.SIGSTOP
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            self.blows[f"{kind} {name}"] += 1
            if kind == "freeze":
                self._thaws.append((time.monotonic() + self._chance.uniform(*self._weather.freeze_s), pid))
        return None

    def _strike_console(self, run: RunProcess) -> signal.Signals | None:
        number = self._chance.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGSTOP])
        os.kill(run.process.pid, number)
        self.blows[f"{number.name} {CONSOLE}"] += 1
        if number is signal.SIGSTOP:
            self._thaws.append((time.monotonic() + self._chance.uniform(1.0, 6.0), run.process.pid))
            return None
        return number

    async def _see_everybody_gone(self, run: RunProcess, number: signal.Signals) -> None:
        """No process outlives its console for long, however that ended."""
        pids = [run.process.pid, *run.services().values()]
        deadline = time.monotonic() + WHO_IS_LEFT_S
        while any(alive(pid) for pid in pids):
            assert time.monotonic() < deadline, f"still there after {number.name}: {run.services()}\n{run.output()}"
            await self._pause(0.1)
        self._thaws.clear()
        if number is not signal.SIGKILL:
            assert run.process.wait() in {0, 128 + number}, run.output()

    async def _pause(self, seconds: float) -> None:
        """Waits, and wakes up whoever was frozen for long enough."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            due = [thaw for thaw in self._thaws if thaw[0] <= now]
            self._thaws = [thaw for thaw in self._thaws if thaw[0] > now]
            for _, pid in due:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            if now >= until:
                return
            await asyncio.sleep(0.05)

    async def _listen(self) -> None:
        """An observer that hears every fact in order, through all deaths of the broker."""
        bus = ZmqBus(bus_address_for(self._folder), patience_s=3600)
        seen = 0
        try:
            while True:
                page = await bus.read(seen, None)
                for seq, fact in page.facts:
                    assert seq == len(self.delivered) + 1, f"fact {seq} came after {len(self.delivered)}"
                    self.delivered[seq] = fact.id
                seen = page.upto
                await bus.news(seen, 1.0)
        finally:
            await bus.close()
