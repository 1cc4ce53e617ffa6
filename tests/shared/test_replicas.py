"""Runtimes that share a role on one bus: each fact is handled by one of them, and whoever leaves is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from shared.bus.inprocess import InProcessBus
from shared.eventlog.memory import MemoryJournal
from shared.membership import Replaced
from shared.messages import (
    Fact,
    PlanJudged,
    PlanMalformed,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    RunStarted,
    Task,
    TaskAssigned,
    digest,
    named,
)
from shared.runtime import Replica, Runtime

ROLE = Role.PLANNER
RUN = named(RunStarted(seed=0, config={}, base_policy="b", store=""), "test")


def assigned(slot: int) -> TaskAssigned:
    """A named assignment."""
    task = Task(f"t{slot}", f"What is {slot}?", "words")
    return named(TaskAssigned(step=1, slot=slot, policy="p", task=task, lineage=f"s1.a{slot}"), RUN, slot)


class Desk:
    """Answers assignments, unless it is told to hold them; remembers what it saw when."""

    def __init__(self, holds: Callable[[TaskAssigned], bool] = lambda fact: False) -> None:
        self.seen: list[int] = []
        self.begun: list[tuple[int, int]] = []
        """Slot, and how many facts had been seen when work on it began."""
        self._holds = holds

    def observe(self, fact: TaskAssigned) -> None:
        """Notes the order."""
        self.seen.append(fact.slot)

    async def handle(self, fact: TaskAssigned | PlanJudged) -> AsyncIterator[PlanMalformed]:
        """One answer."""
        assert isinstance(fact, TaskAssigned)
        self.begun.append((fact.slot, len(self.seen)))
        if self._holds(fact):
            await asyncio.Event().wait()
        yield PlanMalformed(step=1, slot=fact.slot, policy="p", task=fact.task, sample="", format=0.0, reason="because")

    @property
    def slots(self) -> set[int]:
        """What it worked on."""
        return {slot for slot, _ in self.begun}


@pytest.fixture
async def bus() -> AsyncIterator[InProcessBus]:
    """A bus with a run on it."""
    made = InProcessBus(MemoryJournal())
    await made.publish([RUN])
    yield made
    await made.close()


@asynccontextmanager
async def working(bus: InProcessBus, name: str, desk: Desk) -> AsyncIterator[asyncio.Task[None]]:
    """A replica at work, once it has joined."""
    before = await count(bus, ReplicaJoined)
    member = name in {fact.replica for fact in await facts(bus, ReplicaJoined) if isinstance(fact, ReplicaJoined)}
    task = asyncio.create_task(Runtime(ROLE, desk, bus, replica=Replica(name, 3)).run())
    if not member:
        await until(bus, ReplicaJoined, before + 1)
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def facts(bus: InProcessBus, kind: type[Fact]) -> list[Fact]:
    """All facts of a type."""
    return [fact for _, fact in (await bus.read(0, [kind], 4096)).facts]


async def count(bus: InProcessBus, kind: type[Fact]) -> int:
    """How many facts of a type there are."""
    return len(await facts(bus, kind))


async def until(bus: InProcessBus, kind: type[Fact], wanted: int) -> None:
    """Waits until there are so many facts of a type."""
    async with asyncio.timeout(10):
        while await count(bus, kind) < wanted:  # noqa: ASYNC110 - no bell rings for one type
            await asyncio.sleep(0.01)


def left(name: str, handled: int) -> ReplicaLeft:
    """What the bus says of a member that it misses."""
    fact = ReplicaLeft(role=ROLE, replica=name, handled=handled, reason="not heard of")
    return msgspec.structs.replace(fact, id=digest("left", name, handled))


async def test_two_share_the_work_and_nothing_is_done_twice(bus: InProcessBus) -> None:
    """Both get some of it, neither gets what the other got, and together they get all."""
    one, two = Desk(), Desk()
    async with working(bus, "planner-1", one), working(bus, "planner-2", two):
        await bus.publish([assigned(slot) for slot in range(40)])
        await until(bus, PlanMalformed, 40)
    assert one.slots | two.slots == set(range(40))
    assert not one.slots & two.slots
    assert min(len(one.begun), len(two.begun)) > 5
    assert one.seen == two.seen == list(range(40))


async def test_who_is_left_takes_over_what_the_other_had_not_finished(bus: InProcessBus) -> None:
    """One hangs over all its work and is missed: the other does it, what came before the parting included."""
    one, two = Desk(holds=lambda fact: True), Desk()
    async with working(bus, "planner-2", two):
        async with working(bus, "planner-1", one):
            await bus.publish([assigned(slot) for slot in range(40)])
            async with asyncio.timeout(5):
                while one.slots | two.slots != set(range(40)):  # noqa: ASYNC110 - desks ring no bell
                    await asyncio.sleep(0.01)
        await bus.publish([left("planner-1", await bus.cursor("planner-1"))])
        await until(bus, PlanMalformed, 40)
    assert one.slots
    assert two.slots == set(range(40))
    assert len(two.begun) == 40


async def test_work_that_nobody_was_there_for_waits_for_the_next(bus: InProcessBus) -> None:
    """When the last one has left, whoever joins later finds what came before, in between and after."""
    async with working(bus, "planner-1", Desk(holds=lambda fact: True)):
        await bus.publish([assigned(0)])
        await asyncio.sleep(0.1)
    await bus.publish([left("planner-1", await bus.cursor("planner-1")), assigned(1)])
    late = Desk()
    async with working(bus, "planner-9", late):
        await bus.publish([assigned(2)])
        await until(bus, PlanMalformed, 3)
    assert late.slots == {0, 1, 2}


async def test_a_process_that_was_declared_gone_stops_and_can_join_again(bus: InProcessBus) -> None:
    """It finds its own parting in the log and ends; started anew it joins a second time and works."""
    one = Desk(holds=lambda fact: True)
    async with working(bus, "planner-1", one) as task:
        await bus.publish([assigned(0)])
        await asyncio.sleep(0.1)
        await bus.publish([left("planner-1", await bus.cursor("planner-1"))])
        with pytest.raises(ExceptionGroup) as raised:
            await asyncio.wait_for(task, 5)
    assert isinstance(raised.value.exceptions[0], Replaced)
    again = Desk()
    task = asyncio.create_task(Runtime(ROLE, again, bus, replica=Replica("planner-1", 3)).run())
    await until(bus, PlanMalformed, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert again.slots == {0}
    assert await count(bus, ReplicaJoined) == 2


async def test_after_a_restart_work_begins_when_all_is_observed(bus: InProcessBus) -> None:
    """Whoever died before anybody missed it joins no second time, and sees the whole log before it goes on with its work."""
    async with working(bus, "planner", Desk(holds=lambda fact: fact.slot >= 5)):
        await bus.publish([assigned(slot) for slot in range(30)])
        await until(bus, PlanMalformed, 5)
        await asyncio.sleep(0.7)
    again = Desk()
    async with working(bus, "planner", again):
        await until(bus, PlanMalformed, 30)
    assert await count(bus, ReplicaJoined) == 1
    assert again.begun == [(slot, 30) for slot in range(5, 30)]


async def test_a_stop_in_order_is_no_death(bus: InProcessBus) -> None:
    """However often a process is stopped over the same work, it never works carefully and gives nothing up."""
    await bus.publish([assigned(0), assigned(1)])
    for _ in range(6):
        desk = Desk(holds=lambda fact: True)
        async with working(bus, "planner", desk):
            async with asyncio.timeout(5):
                while len(desk.begun) < 2:  # noqa: ASYNC110 - desks ring no bell
                    await asyncio.sleep(0.01)
    done = Desk()
    async with working(bus, "planner", done):
        await until(bus, PlanMalformed, 2)
    assert await bus.cursor("planner/tries/2/0") == 0
