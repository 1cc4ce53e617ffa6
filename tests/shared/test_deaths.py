"""Death over one fact: the guilty fact is found, exactly that one is given up, and work goes on. With real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.child import Child, RestartPolicy
from console.supervisor import Supervisor
from shared.bus.inprocess import InProcessBus
from shared.bus.zeromq import ZmqBus
from shared.deaths import DeathNotes, Try
from shared.eventlog.memory import MemoryJournal
from shared.messages import Fact, PlanMalformed, Role, RunStarted, Task, TaskAssigned, WorkFailed, named
from tests.shared.bus.conftest import BrokerProcess
from tests.shared.poison import POISON, SLOW_POISON

RUN = named(RunStarted(seed=0, config={"run": {"deaths_over_one_fact": 2}}, base_policy="b", store=""), "test")


def assigned(slot: int, question: str = "harmless") -> TaskAssigned:
    """An assignment."""
    fact = TaskAssigned(step=1, slot=slot, policy="p", task=Task(f"t{slot}", question, "words"), lineage=f"s1.a{slot}")
    return named(fact, RUN, slot)


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[ZmqBus]:
    """A client of a broker process of its own."""
    broker = BrokerProcess(tmp_path).start()
    client = ZmqBus(broker.address)
    await client.publish([RUN])
    yield client
    await client.close()
    broker.kill()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Child]:
    """The delicate planner, started again at once whenever it dies."""
    supervisor = Supervisor(lambda text: None)
    command = [sys.executable, "-m", "tests.shared.poison", "--bus", f"ipc://{tmp_path / 'bus'}"]
    child = Child("planner", command, tmp_path / "planner.log", {})
    child.policy = RestartPolicy(max_restarts=20, first_delay_s=0.001)
    supervisor.start(child)

    async def keep() -> None:
        while True:
            supervisor.tick()
            await asyncio.sleep(0.02)

    keeping = asyncio.create_task(keep())
    yield child
    keeping.cancel()
    supervisor.kill()


async def wait_for(bus: ZmqBus, kind: type[Fact], count: int) -> list[Fact]:
    """The facts of a type, once there are so many."""
    async with asyncio.timeout(60):
        while True:
            page = await bus.read(0, [kind], 4096)
            if len(page.facts) >= count:
                return [fact for _, fact in page.facts]
            await bus.news(page.upto, 0.5)


@pytest.mark.parametrize(
    ("poison", "places"), [(POISON, (17,)), (SLOW_POISON, (17,)), pytest.param(POISON, (3, 30), marks=pytest.mark.slow)]
)
async def test_exactly_the_guilty_facts_are_given_up(bus: ZmqBus, service: Child, poison: str, places: tuple[int, ...]) -> None:
    """Among fifty facts handled at once, those over which the process dies get a `WorkFailed`; all others are handled."""
    await bus.publish([assigned(slot, poison if slot in places else "harmless") for slot in range(50)])
    failed = await wait_for(bus, WorkFailed, len(places))
    handled = await wait_for(bus, PlanMalformed, 50 - len(places))
    assert {fact.work for fact in failed if isinstance(fact, WorkFailed)} == {assigned(slot).id for slot in places}
    assert {fact.lineage for fact in handled} == {f"s1.a{slot}" for slot in range(50) if slot not in places}
    assert all(
        "died 2 times over it" in fact.reason and fact.role is Role.PLANNER for fact in failed if isinstance(fact, WorkFailed)
    )
    deaths = service.restarts
    await bus.publish([assigned(100)])
    await wait_for(bus, PlanMalformed, 50 - len(places) + 1)
    assert service.restarts == deaths, "it died again although nothing poisoned was left"


async def test_random_kills_blame_nobody(bus: ZmqBus, service: Child) -> None:
    """Whoever is killed from outside again and again while it gets on gives nothing up."""
    for slot in range(0, 60, 10):
        await bus.publish([assigned(slot + i) for i in range(10)])
        await wait_for(bus, PlanMalformed, slot + 1)
        if service.pid:
            os.kill(service.pid, signal.SIGKILL)
    assert len(await wait_for(bus, PlanMalformed, 60)) == 60
    assert not (await bus.read(0, [WorkFailed])).facts


@pytest.fixture
def notes() -> Callable[[], DeathNotes]:
    """Makes the notes of one process on one bus, as each start of it finds them."""
    bus = InProcessBus(MemoryJournal())
    return lambda: DeathNotes(bus, "solver-1", 2)


async def test_two_deaths_at_one_cursor_make_careful(notes: Callable[[], DeathNotes]) -> None:
    """Starts at another cursor, and starts that ended in order, do not count."""
    assert [await notes().started(7) for _ in range(2)] == [False, False]
    assert not await notes().started(8)
    assert await notes().started(7)
    for _ in range(4):
        orderly = notes()
        assert not await orderly.started(9)
        await orderly.stopped()


async def test_tries_count_as_long_as_nothing_new_was_said(notes: Callable[[], DeathNotes]) -> None:
    """The third try without progress is none; with progress the count begins anew; what is done is passed over."""
    assert [await notes().before(5, 0) for _ in range(3)] == [Try.HANDLE, Try.HANDLE, Try.GIVE_UP]
    assert await notes().before(5, 12) is Try.HANDLE
    assert await notes().before(6, 0) is Try.HANDLE
    await notes().after(5)
    assert await notes().before(5, 12) is Try.PASS_OVER
