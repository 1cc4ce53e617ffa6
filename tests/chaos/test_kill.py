"""SIGKILL at any time: the run ends with the same facts, by id, as if nothing had happened. Real processes, real sockets."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.chaos.run_process import SERVICES, RunProcess, alive

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The facts of a run that nobody disturbs."""
    with RunProcess(tmp_path_factory.mktemp("calm") / "run") as run:
        assert run.end() == 0, run.output()
        assert not run.services()
        return run.facts()


def test_every_service_is_killed_once_and_the_facts_are_the_same(undisturbed: set[tuple[str, str]], tmp_path: Path) -> None:
    """Broker, inference and the seven roles die one by one in mid-work; each comes back, nothing is lost or said twice."""
    with RunProcess(tmp_path / "run") as run:
        run.wait_for(lambda: run.head() > 60, "facts beyond the seeds")
        for service in SERVICES:
            before, head = run.services()[service], run.head()
            os.kill(before, signal.SIGKILL)
            run.wait_for(lambda s=service, b=before: run.services().get(s, b) != b, f"a new {service}")  # type: ignore[misc]
            run.wait_for(lambda h=head: run.head() > h + 10, f"news after the death of {service}")  # type: ignore[misc]
        assert run.end() == 0, run.output()
        facts = run.facts()
    assert facts - undisturbed == set()
    assert undisturbed - facts == set()


def test_the_console_is_killed_and_the_run_is_resumed(undisturbed: set[tuple[str, str]], tmp_path: Path) -> None:
    """No process outlives the console, and --resume goes on to the same end."""
    with RunProcess(tmp_path / "run") as run:
        run.wait_for(lambda: run.head() > 300, "facts of the first steps")
        pids = run.services().values()
        os.kill(run.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while any(alive(pid) for pid in pids):
            assert time.monotonic() < deadline, f"still there: {run.services()}"
            time.sleep(0.1)
    with RunProcess(tmp_path / "run", "--resume") as resumed:
        assert resumed.end() == 0, resumed.output()
        assert resumed.facts() == undisturbed
