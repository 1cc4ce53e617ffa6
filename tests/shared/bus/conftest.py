"""A real broker process for the tests of this folder."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shared.bus.address import bus_address_for
from shared.bus.port import Bus
from shared.eventlog.reader import LogReader
from shared.messages import StepOpened, named


def free_port() -> int:
    """A port of which the one after it is free as well, most likely."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def steps(*numbers: int, cause: str = "test") -> list[StepOpened]:
    """Named facts, one for each number."""
    return [named(StepOpened(step=n, policy="p", num_challenges=1, num_assignments=1), cause, n) for n in numbers]


class BrokerProcess:
    """`python -m services.bus` on an address and a log; started, killed and started again."""

    def __init__(self, directory: Path, address: str | None = None, *, keys: Path | None = None) -> None:
        self.address = address or bus_address_for(directory)
        self.log = directory / "log.sqlite"
        self.options = ["--keys", str(keys)] if keys else []
        self.process: subprocess.Popen[str] | None = None

    def start(self, *prefix: str) -> BrokerProcess:
        """Returns when the broker listens. `prefix`: a command that runs the broker's."""
        command = [*prefix, sys.executable, "-m", "services.bus", "--bus", self.address, "--log", str(self.log)]
        command += self.options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"ready {self.address}\n"
        return self

    def kill(self) -> None:
        """SIGKILL: no chance to tidy up."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def stop(self) -> tuple[int, str]:
        """SIGTERM; the exit code and what was said on standard error."""
        assert self.process is not None
        self.process.terminate()
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Waits for the end by itself."""
        assert self.process is not None
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


def run_broker(address: str, log: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A broker that is expected to end by itself."""
    command = [sys.executable, "-m", "services.bus", "--bus", address, "--log", str(log), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


async def read_all(bus: Bus) -> list[tuple[int, Any]]:
    """The whole log, page by page."""
    found: list[tuple[int, Any]] = []
    after = 0
    while (page := await bus.read(after)).facts:
        found += page.facts
        after = page.upto
    return found


async def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for something to become true."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - whatever it is about knows nothing of events
            await asyncio.sleep(0.02)


def problems_in(log: Path) -> list[str]:
    """What `verify` says of a log, but for causes outside it: the facts of these tests come from nowhere."""
    with closing(LogReader(log)) as reader:
        return [problem.what for problem in reader.verify() if "hangs in the air" not in problem.what]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker over ipc that is running, and is gone after the test."""
    server = BrokerProcess(tmp_path).start()
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()
