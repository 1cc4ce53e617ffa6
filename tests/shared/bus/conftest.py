"""A real broker process for the tests of this folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.bus.address import bus_address_for
from shared.messages import StepOpened, named


def steps(*numbers: int, cause: str = "test") -> list[StepOpened]:
    """Named facts, one for each number."""
    return [named(StepOpened(step=n, policy="p", num_challenges=1, num_assignments=1), cause, n) for n in numbers]


class BrokerProcess:
    """`python -m services.bus` on an address and a log; started, killed and started again."""

    def __init__(self, directory: Path, address: str | None = None) -> None:
        self.address = address or bus_address_for(directory)
        self.log = directory / "log.sqlite"
        self.process: subprocess.Popen[str] | None = None

    def start(self, *prefix: str) -> BrokerProcess:
        """Returns when the broker listens. `prefix`: a command that runs the broker's."""
        command = [*prefix, sys.executable, "-m", "services.bus", "--bus", self.address, "--log", str(self.log)]
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


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker over ipc that is running, and is gone after the test."""
    server = BrokerProcess(tmp_path).start()
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()
