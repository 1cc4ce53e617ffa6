"""A run without the console: a broker and services started one by one, as on several hosts; nobody starts them again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from console.launch import first_facts, install_base, model_folder, seed_tasks
from console.place import Place
from console.runfile import load_run_file
from shared.bus.address import bus_address_for
from shared.bus.zeromq import ZmqBus
from shared.flow import FLOW
from shared.messages import Fact, Role
from tests.chaos.run_process import ROOT, SMALL, alive


class ByHand:
    """Use it in an async with statement: whatever happens, nothing is left behind."""

    def __init__(self, folder: Path, *, leave_s: float, steps: int = 4, seed: int = 3) -> None:
        """The run is the one that `tests.chaos.run_process.RunProcess` does."""
        self.folder = folder
        self.place = Place(folder)
        self.run = load_run_file(ROOT / "runs" / "tiny.toml", SMALL, {"steps": steps, "seed": seed, "dir": str(folder)})
        self._leave_s = leave_s
        self._address = bus_address_for(folder)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    async def __aenter__(self) -> ByHand:
        self.place.make()
        self.bus = ZmqBus(self._address)
        self._start("bus", "services.bus", "--log", str(self.place.log), "--leave", f"{self._leave_s:g}")
        base = install_base(model_folder(self.run.model.path), self.place)
        await self.bus.publish(first_facts(self.run, self.place, base, seed_tasks(self.run)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.bus.close()
        for process in self._processes.values():
            if alive(process.pid):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    def start(self, **replicas: int) -> None:
        """Starts every role, or several processes of one where `replicas` says so, without any name for a single one."""
        for role in FLOW:
            count = replicas.get(role, 1)
            for number in range(1, count + 1):
                if role is not Role.CONSOLE:
                    self.add(role, f"{role}-{number}" if count > 1 else None)

    def add(self, role: str, replica: str | None = None) -> None:
        """Starts one more process of a role."""
        options = ["--replica", replica] if replica else []
        self._start(replica or role, f"services.{role}", *options)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to a process. It is not started again."""
        self._processes[name].send_signal(number)

    async def count(self, kind: type[Fact]) -> int:
        """How many facts of a type the log holds."""
        seen = count = 0
        while True:
            page = await self.bus.read(seen, [kind], 4096)
            count += len(page.facts)
            if page.upto <= seen:
                return count
            seen = page.upto

    async def wait_for(self, kind: type[Fact], count: int = 1, timeout_s: float = 120.0) -> None:
        """Waits until the log holds so many facts of a type."""
        async with asyncio.timeout(timeout_s):
            while await self.count(kind) < count:  # noqa: ASYNC110 - counting anew is simple, and a bell would ring for all types
                await asyncio.sleep(0.1)

    def _start(self, name: str, module: str, *options: str) -> None:
        command = [sys.executable, "-m", module, "--bus", self._address, *options]
        with (self.place.output / f"{name}.log").open("ab") as output:
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            self._processes[name] = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
