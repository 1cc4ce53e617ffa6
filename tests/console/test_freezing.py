"""A session whose processes are frozen, with a real broker and a real service: noticed, cured, and ended in time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from console.child import Child, python_module
from console.recording import LOG_NAME
from console.screen import LineScreen
from console.session import Ending, Limits, Session
from shared.bus.rollcall import RollCall
from shared.bus.zeromq import ZmqBus
from shared.messages import RunStarted, named

pytestmark = pytest.mark.slow

STARTED = named(RunStarted(seed=0, config={"run": {"name": "t", "steps": 1}}, base_policy="b0", store=""), "test")
NOTICED_S = 5.0


class Stage:
    """A session with a broker and a planner that has nothing to do."""

    def __init__(self, folder: Path) -> None:
        address = f"ipc://{folder / 'bus'}"
        broker = python_module("services.bus", "--bus", address, "--log", str(folder / LOG_NAME))
        self.broker = Child("bus", broker, folder / "b.log", {})
        planner = python_module("services.planner", "--bus", address)
        config = {"PYTHONUNBUFFERED": "1"}
        self.service = Child("planner", planner, folder / "p.log", config)
        self.said = StringIO()
        self.bus = ZmqBus(address)
        screen = LineScreen(Console(file=self.said, width=200))
        limits = Limits(stall_s=60, max_fault_share=0.2, evaluations=2)
        self.session = Session(ZmqBus(address), self.broker, [self.service], screen, limits, roll=RollCall(address))

    async def until(self, reached: Callable[[], bool], timeout_s: float = 20.0) -> float:
        """Waits, and gives the seconds that it took."""
        began = time.monotonic()
        while not reached():
            assert time.monotonic() - began < timeout_s, self.said.getvalue()
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    async def at_work(self) -> None:
        """The planner has begun to work, so it has beaten by now."""
        async with asyncio.timeout(20):
            while await self.bus.cursor("planner") < 1:  # noqa: ASYNC110 - a cursor rings no bell
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.0)

    def pids(self) -> list[int]:
        """The processes that there are."""
        return [child.pid for child in (self.broker, self.service) if child.pid]


@asynccontextmanager
async def playing(folder: Path) -> AsyncIterator[tuple[Stage, asyncio.Task[Ending]]]:
    """A stage with the planner at work."""
    stage = Stage(folder)
    running = asyncio.create_task(stage.session.run([STARTED]))
    try:
        await stage.at_work()
        yield stage, running
    finally:
        if not running.done():
            os.kill(os.getpid(), signal.SIGINT)
            await running
        await stage.bus.close()


def gone(pid: int) -> bool:
    """Whether no such process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_frozen_service_and_a_frozen_broker_are_started_again(tmp_path: Path) -> None:
    """SIGSTOP is noticed in under five seconds and said; killed and started again, the process is at work as before."""
    async with playing(tmp_path) as (stage, running):
        for child, why in ((stage.service, "no heartbeat"), (stage.broker, "no answer")):
            frozen = child.pid
            assert frozen
            os.kill(frozen, signal.SIGSTOP)
            assert await stage.until(lambda c=child: c.restarts == 1 or not c.running) < NOTICED_S  # type: ignore[misc]
            await stage.until(lambda c=child: c.running)  # type: ignore[misc]
            assert f"{child.name} stood still: {why} for 4." in stage.said.getvalue()
            assert gone(frozen)
        await asyncio.sleep(6.0)
        assert not running.done()
        assert [one.restarts for one in stage.session.health()] == [1, 1], stage.said.getvalue()


@pytest.mark.parametrize("who", ["service", "broker", "both", "broker is dead"])
async def test_ctrl_c_ends_everything_in_time_whoever_is_frozen(tmp_path: Path, who: str) -> None:
    """Within ten seconds of Ctrl-C the session has ended and no process is left, frozen ones included."""
    async with playing(tmp_path) as (stage, running):
        pids = stage.pids()
        assert len(pids) == 2
        broker, service = pids
        number = signal.SIGKILL if who == "broker is dead" else signal.SIGSTOP
        for pid, name in ((broker, "broker"), (service, "service")):
            if who in {"both", name} or who.startswith(f"{name} "):
                os.kill(pid, number)
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
        assert (await running).status == 130
        assert time.monotonic() - began < 10
        assert all(gone(pid) for pid in pids)
