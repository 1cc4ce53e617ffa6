"""Supervision of real processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.child import Child, RestartPolicy
from console.supervisor import ServiceLost, Supervisor, how
from shared.errors import BadInput

ROOT = Path(__file__).parents[2]
SLEEP = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


def child(tmp_path: Path, code: str, name: str = "worker") -> Child:
    """A child that runs a line of Python."""
    return Child(name, [sys.executable, "-S", "-c", code], tmp_path / f"{name}.log", {})


def exists(pid: int) -> bool:
    """Whether a process with this id is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """Waits up to ten seconds until the condition holds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


@pytest.fixture
def said() -> list[str]:
    """What the supervisor said."""
    return []


@pytest.fixture
async def supervisor(said: list[str]) -> AsyncIterator[Supervisor]:
    """A supervisor that leaves nothing behind."""
    supervisor = Supervisor(said.append)
    yield supervisor
    supervisor.kill()


async def test_a_killed_process_is_started_again(tmp_path: Path, supervisor: Supervisor, said: list[str]) -> None:
    """SIGKILL on a child is noticed, said and cured within seconds."""
    worker = child(tmp_path, SLEEP)
    supervisor.start(worker)
    first = worker.pid
    assert first
    os.kill(first, signal.SIGKILL)

    def restarted() -> bool:
        supervisor.tick()
        return worker.running and worker.pid != first

    await eventually(restarted, "not restarted")
    assert said == ["worker died by SIGKILL; starting it again"]
    assert [(h.name, h.alive, h.restarts) for h in supervisor.health()] == [("worker", True, 1)]


async def test_a_process_that_keeps_dying_ends_the_run_with_its_last_words(tmp_path: Path) -> None:
    """After so many restarts within two minutes the root cause is raised: the end of the log."""
    ticks = iter(range(10_000))
    supervisor = Supervisor(lambda text: None, clock=lambda: float(next(ticks)))
    worker = child(tmp_path, "raise SystemExit('no weights: cannot go on')")
    worker.policy = RestartPolicy(max_restarts=5)
    supervisor.start(worker)

    def lost() -> bool:
        supervisor.tick()
        return False

    with pytest.raises(ServiceLost, match=r"(?s)worker was lost more than 5 times.*exit status 1.*no weights: cannot go on"):
        await eventually(lost, "never gave up")
    assert worker.restarts == 5


async def test_bad_input_is_not_tried_again(tmp_path: Path, supervisor: Supervisor) -> None:
    """A child that ends with status 2 refused what the user gave: its line is the user's line."""
    supervisor.start(child(tmp_path, "import sys; print('port 5555 is taken', file=sys.stderr); sys.exit(2)"))

    def refused() -> bool:
        supervisor.tick()
        return False

    with pytest.raises(BadInput, match=r"^port 5555 is taken$"):
        await eventually(refused, "never refused")


async def test_stop_ends_all_in_order_and_the_deaf_by_force(tmp_path: Path, supervisor: Supervisor) -> None:
    """The first child goes last, a child that ignores SIGTERM is killed after the grace, and none is left."""
    broker, deaf = child(tmp_path, SLEEP, "bus"), child(tmp_path, DEAF, "deaf")
    supervisor.start(broker, deaf)
    await eventually(lambda: "deaf" in deaf.last_words(), "never started")
    pids = [pid for pid in (broker.pid, deaf.pid) if pid]
    stopping = asyncio.create_task(supervisor.stop(grace_s=0.3))
    await asyncio.sleep(0.1)
    assert broker.running
    await stopping
    assert len(pids) == 2
    assert not any(exists(pid) for pid in pids)
    assert [h.alive for h in supervisor.health()] == [False, False]


async def test_stop_copes_with_who_died_unnoticed_or_stands_still(tmp_path: Path, supervisor: Supervisor) -> None:
    """A child that was killed just before, and one that is frozen, are gone after `stop` like any other."""
    dead, frozen = child(tmp_path, SLEEP, "dead"), child(tmp_path, SLEEP, "frozen")
    supervisor.start(dead, frozen)
    pids = [pid for pid in (dead.pid, frozen.pid) if pid]
    os.kill(pids[0], signal.SIGKILL)
    os.kill(pids[1], signal.SIGSTOP)
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await supervisor.stop(grace_s=5)
    assert time.monotonic() - began < 3
    assert not any(exists(pid) for pid in pids)


async def test_what_a_dead_child_started_dies_too(tmp_path: Path, supervisor: Supervisor) -> None:
    """Grandchildren in the child's process group are killed when the child is found dead."""
    code = (
        "import subprocess, sys\n"
        f"print(subprocess.Popen([sys.executable, '-S', '-c', {SLEEP!r}]).pid, flush=True)\n"
        "import time; time.sleep(60)"
    )
    worker = child(tmp_path, code)
    supervisor.start(worker)
    await eventually(lambda: worker.last_words().isdigit(), "no grandchild")
    grandchild = int(worker.last_words())
    assert worker.pid
    os.kill(worker.pid, signal.SIGKILL)
    await eventually(lambda: worker.death() is not None, "not noticed")
    await eventually(lambda: not running(grandchild), "grandchild survived")


def running(pid: int) -> bool:
    """Whether a process is there and not a zombie that waits to be reaped by the system."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_delays_grow_and_old_deaths_are_forgotten() -> None:
    """Delays double up to five seconds, the sixth death in two minutes is the last, and old deaths do not count."""
    policy = RestartPolicy(max_restarts=5)
    assert [policy.delay_after_death(at) for at in (0, 1, 2, 3, 4, 5)] == [0.2, 0.4, 0.8, 1.6, 3.2, None]
    patient = RestartPolicy()
    assert [patient.delay_after_death(at) for at in (0, 121, 242)] == [0.2, 0.2, 0.2]


def test_statuses_in_words() -> None:
    """Signals have their names."""
    assert (how(3), how(-9), how(-64)) == ("with exit status 3", "by SIGKILL", "by SIGRTMAX")


def test_a_child_ends_with_its_parent_even_when_it_is_frozen(tmp_path: Path) -> None:
    """A parent that is killed takes along a child that was stopped before its own program could do anything about it."""
    parent = (
        "import sys, pathlib\n"
        "from console.child import Child\n"
        f"child = Child('worker', [sys.executable, '-S', '-c', {SLEEP!r}], pathlib.Path({str(tmp_path / 'w.log')!r}), {{}})\n"
        "child.start()\n"
        "import os, signal\n"
        "os.kill(child.pid, signal.SIGSTOP)\n"
        "print(child.pid, flush=True)\n"
        "import time; time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        deadline = time.monotonic() + 5
        while running(pid):
            assert time.monotonic() < deadline, "it outlived its parent"
            time.sleep(0.02)
