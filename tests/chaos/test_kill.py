"""SIGKILL at any time: the run ends with the same facts, byte for byte, as if nothing had happened. Real processes."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.messages import CandidateNominated, Fact, PolicyTrained, SampleCompleted, SampleRequested, StepClosed
from tests.chaos.run_process import SERVICES, RunProcess, alive, differences

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fact]:
    """The facts of a run that nobody disturbs."""
    with RunProcess(tmp_path_factory.mktemp("calm") / "run") as run:
        assert run.end() == 0, run.output()
        assert not run.services()
        return run.said()


def kill(run: RunProcess, service: str) -> None:
    """Kills a service and waits for the next one of its name."""
    before = run.services()[service]
    os.kill(before, signal.SIGKILL)
    run.wait_for(lambda: run.services().get(service, before) != before, f"a new {service}")


def kill_while(run: RunProcess, service: str, busy: Callable[[], bool]) -> None:
    """Kills a service in the midst of something: that is still so once it is dead."""
    for _ in range(4):
        run.wait_for(busy, f"work for {service}")
        kill(run, service)
        if busy():
            return
    raise AssertionError(f"{service} was never caught in the midst of its work")


def test_every_service_is_killed_once_and_the_facts_are_the_same(undisturbed: dict[str, Fact], tmp_path: Path) -> None:
    """Broker, inference and the seven roles die one by one in mid-work; each comes back, nothing is lost or said twice."""
    with RunProcess(tmp_path / "run") as run:
        run.wait_for(lambda: run.head() > 60, "facts beyond the seeds")
        for service in SERVICES:
            head = run.head()
            kill(run, service)
            run.wait_for(lambda h=head: run.head() > h + 10, f"news after the death of {service}")  # type: ignore[misc]
        assert run.end() == 0, run.output()
        assert differences(undisturbed, run.said()) == []


def test_death_in_the_midst_of_training_sampling_and_testing_changes_nothing(
    undisturbed: dict[str, Fact], tmp_path: Path
) -> None:
    """The Learner dies while it trains, first with a fresh and then with a carried-on optimizer, inference while it samples,
    the gate while it tests: the policies and all else come out the same, bit for bit."""
    with RunProcess(tmp_path / "run") as run:
        run.wait_for(lambda: run.head() > 60, "facts beyond the seeds")
        kill_while(run, "inference", lambda: run.count(SampleRequested) > run.count(SampleCompleted))
        for step in (1, 2):
            kill_while(run, "learner", lambda s=step: run.count(StepClosed) >= s > run.count(PolicyTrained))  # type: ignore[misc]
        run.wait_for(lambda: run.count(CandidateNominated) > 0, "a candidate")
        kill(run, "gate")
        assert run.end() == 0, run.output()
        assert differences(undisturbed, run.said()) == []


def test_the_console_is_killed_and_the_run_is_resumed(undisturbed: dict[str, Fact], tmp_path: Path) -> None:
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
        assert differences(undisturbed, resumed.said()) == []


def test_a_console_that_was_frozen_finds_nobody_dead(undisturbed: dict[str, Fact], tmp_path: Path) -> None:
    """Ctrl-Z for longer than a silence may last, and `fg`: no process is taken to stand still, none is restarted."""
    with RunProcess(tmp_path / "run") as run:
        run.wait_for(lambda: run.head() > 200, "facts of the first step")
        run.process.send_signal(signal.SIGSTOP)
        time.sleep(7)
        run.process.send_signal(signal.SIGCONT)
        assert run.end() == 0, run.output()
        assert "starting it again" not in run.output()
        assert differences(undisturbed, run.said()) == []


def test_a_run_that_is_interrupted_again_and_again_comes_to_the_same_end(undisturbed: dict[str, Fact], tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM, early, in the midst and late: each time all is over in ten seconds and goes on by --resume."""
    options: tuple[str, ...] = ()
    for number, head in ((signal.SIGINT, 60), (signal.SIGTERM, 200), (signal.SIGINT, 700), (signal.SIGTERM, 1300)):
        with RunProcess(tmp_path / "run", *options) as run:
            run.wait_for(lambda h=head, r=run: r.head() > h, f"{head} facts")  # type: ignore[misc]
            pids = run.services().values()
            run.process.send_signal(number)
            assert run.end(timeout_s=10) == 128 + number, run.output()
            assert not any(alive(pid) for pid in pids)
            assert "go on with:" in run.output()
        options = ("--resume",)
    with RunProcess(tmp_path / "run", "--resume") as last:
        assert last.end() == 0, last.output()
        assert differences(undisturbed, last.said()) == []
