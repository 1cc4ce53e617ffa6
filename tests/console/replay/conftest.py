"""Real replays for the tests of this folder, and the recording of a small real run."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from console.recording import LOG_NAME
from shared.bus.wire import Status
from shared.bus.zeromq import ZmqBus
from tests.console.replay.recordings import ROOT, record, story

WITHIN_S = 20.0


class ReplayProcess:
    """`sagepace replay` on a recording, from its greeting to its end."""

    def __init__(self, directory: Path, *options: str) -> None:
        command = [sys.executable, "-m", "console", "replay", str(directory), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline().rstrip("\n")
        self.address = self.greeting.rpartition(" at ")[2]

    def ended(self) -> tuple[int, str, str]:
        """Waits for the end: exit status, and what was printed to standard output and standard error."""
        out, err = self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode, out, err

    def told(self, number: signal.Signals) -> tuple[int, str, str]:
        """Sends a signal and waits for the end."""
        self.process.send_signal(number)
        return self.ended()


Play = Callable[..., ReplayProcess]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Starts replays: of the given directory, or of six facts, a second apart, in `tmp_path`/run."""
    processes: list[ReplayProcess] = []

    def start(*options: str, directory: Path | None = None) -> ReplayProcess:
        if directory is None:
            directory = tmp_path / "run"
            if not directory.exists():
                record(directory, story(4))
        processes.append(ReplayProcess(directory, *options))
        return processes[-1]

    yield start
    for each in processes:
        if each.process.poll() is None:
            each.told(signal.SIGTERM)


Connect = Callable[[ReplayProcess], ZmqBus]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Clients of replays, closed after the test."""
    clients: list[ZmqBus] = []

    def to(replay: ReplayProcess) -> ZmqBus:
        clients.append(ZmqBus(replay.address))
        return clients[-1]

    yield to
    for client in clients:
        await client.close()


@pytest.fixture
def recorded_run(tmp_path: Path) -> Path:
    """The directory of a real run of a few steps."""
    shutil.copy(ROOT / "tests" / "replay" / "histories" / "commit" / LOG_NAME, tmp_path)
    return tmp_path


def service(role: str, address: str) -> subprocess.Popen[str]:
    """`python -m services.ROLE` at an address."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", f"services.{role}", "--bus", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment)


async def until(bus: ZmqBus, reached: Callable[[Status], bool]) -> Status:
    """Waits until the replay stands as it should."""
    async with asyncio.timeout(WITHIN_S):
        while not reached(status := await bus.status()):  # noqa: ASYNC110 - a replay tells only whom asks
            await asyncio.sleep(0.02)
    return status


def sockets_in(folder: Path) -> list[str]:
    """The sockets in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.is_socket())


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="spr-") as name:
        yield Path(name)
