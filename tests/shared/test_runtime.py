"""The runtime: names what follows, keeps the log's order, survives restarts, and turns a broken handler into a fact."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from shared.bus.inprocess import InProcessBus
from shared.eventlog.memory import MemoryJournal
from shared.messages import Fact, PlanJudged, PlanMalformed, Role, Task, TaskAssigned, WorkFailed, digest, named
from shared.runtime import Runtime

ROLE = Role.PLANNER


def assigned(slot: int) -> TaskAssigned:
    """A named assignment."""
    task = Task(f"t{slot}", f"What is {slot}?", "words")
    return named(TaskAssigned(step=1, slot=slot, policy="p", task=task, lineage=f"s1.a{slot}"), digest("test", slot))


def malformed(fact: TaskAssigned, reason: str) -> PlanMalformed:
    """Something to say in answer."""
    return PlanMalformed(step=1, slot=fact.slot, policy="p", task=fact.task, sample="", format=0.0, reason=reason)


class Echo:
    """Answers every assignment with two facts, one of them alone and one in a group; remembers the order of what it saw."""

    def __init__(self, before: Callable[[TaskAssigned], None] = lambda fact: None) -> None:
        self.seen: list[int] = []
        self.handled: list[int] = []
        self._before = before

    def observe(self, fact: TaskAssigned) -> None:
        """Notes the order."""
        self.seen.append(fact.slot)

    async def handle(self, fact: TaskAssigned | PlanJudged) -> AsyncIterator[PlanMalformed | tuple[PlanMalformed, ...]]:
        """Two answers."""
        assert isinstance(fact, TaskAssigned)
        self._before(fact)
        self.handled.append(fact.slot)
        yield malformed(fact, "first")
        yield (malformed(fact, "second"),)


async def run_until(bus: InProcessBus, service: object, count: int, of: type[Fact]) -> list[Fact]:
    """Runs the service until `count` facts of a type are in the log, and gives them."""
    task = asyncio.create_task(Runtime(ROLE, service, bus).run())  # type: ignore[arg-type]
    found: list[Fact] = []
    async with asyncio.timeout(10):
        while len(found) < count and not task.done():
            await asyncio.sleep(0.01)
            found = [fact for _, fact in (await bus.read(0, [of])).facts]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


@pytest.fixture
async def bus() -> AsyncIterator[InProcessBus]:
    """A bus of its own."""
    made = InProcessBus(MemoryJournal())
    yield made
    await made.close()


async def test_what_follows_is_named_after_its_cause(bus: InProcessBus) -> None:
    """Ids are hash(cause, type, index), also across single facts and groups; cause and lineage are filled in."""
    await bus.publish([assigned(1)])
    facts = await run_until(bus, Echo(), 2, PlanMalformed)
    assert [fact.id for fact in facts] == [digest(assigned(1).id, "PlanMalformed", i) for i in (0, 1)]
    assert {(fact.cause, fact.lineage) for fact in facts} == {(assigned(1).id, "s1.a1")}


async def test_a_late_service_sees_everything_in_the_order_of_the_log(bus: InProcessBus) -> None:
    """Facts published before it started are observed and handled like all others."""
    await bus.publish([assigned(slot) for slot in (3, 1, 2)])
    service = Echo()
    await run_until(bus, service, 6, PlanMalformed)
    assert service.seen == [3, 1, 2]


async def test_a_restarted_service_says_the_same_once(bus: InProcessBus) -> None:
    """Without a moved cursor all work is done again; the log holds each fact once all the same."""
    await bus.publish([assigned(slot) for slot in range(5)])
    before = await run_until(bus, Echo(), 10, PlanMalformed)
    await bus.publish([assigned(5)])
    again = Echo()
    after = await run_until(bus, again, 12, PlanMalformed)
    assert len(after) == 12
    assert [fact.id for fact in after[:10]] == [fact.id for fact in before]


async def test_work_below_the_cursor_is_observed_but_not_done_again(bus: InProcessBus) -> None:
    """State comes back from the log; handling does not."""
    await bus.publish([assigned(0), assigned(1)])
    await bus.move_cursor(ROLE, 1)
    service = Echo()
    await run_until(bus, service, 2, PlanMalformed)
    assert service.seen == [0, 1]
    assert service.handled == [1]


async def test_the_cursor_moves_behind_finished_work(bus: InProcessBus) -> None:
    """After a while everything that was handled is behind the cursor."""
    await bus.publish([assigned(0)])
    task = asyncio.create_task(Runtime(ROLE, Echo(), bus).run())
    async with asyncio.timeout(10):
        while await bus.cursor(ROLE) < 1:  # noqa: ASYNC110 - a cursor rings no bell
            await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_fault_that_passes_by_is_tried_again(bus: InProcessBus) -> None:
    """One failure, then success: no WorkFailed."""
    failures = iter([True])

    def fail_once(fact: TaskAssigned) -> None:
        if next(failures, False):
            raise RuntimeError("passes by")

    await bus.publish([assigned(1)])
    assert len(await run_until(bus, Echo(fail_once), 2, PlanMalformed)) == 2
    assert not (await bus.read(0, [WorkFailed])).facts


async def test_work_that_keeps_failing_ends_in_a_fact_and_other_work_goes_on(bus: InProcessBus) -> None:
    """WorkFailed names role, work and reason; the next assignment is handled."""

    def refuse(fact: TaskAssigned) -> None:
        if fact.slot == 1:
            raise ValueError("cannot do number 1")

    await bus.publish([assigned(1), assigned(2)])
    failed = (await run_until(bus, Echo(refuse), 1, WorkFailed))[0]
    assert isinstance(failed, WorkFailed)
    assert (failed.role, failed.work, failed.work_type, failed.lineage) == (ROLE, assigned(1).id, "TaskAssigned", "s1.a1")
    assert "cannot do number 1" in failed.reason
    assert len((await bus.read(0, [PlanMalformed])).facts) == 2


def test_a_handler_that_disagrees_with_the_flow_table_does_not_start() -> None:
    """The table is the law, also at run time."""
    with pytest.raises(TypeError, match="flow table disagree"):
        Runtime(Role.CRITIC, Echo(), InProcessBus(MemoryJournal()))
