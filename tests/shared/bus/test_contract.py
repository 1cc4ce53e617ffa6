"""What both buses promise: the same tests for the one in process and the one over ZeroMQ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.bus.inprocess import InProcessBus
from shared.bus.port import Bus, BusClosed
from shared.bus.zeromq import ZmqBus
from shared.eventlog.entry import MAX_FACT_BYTES, Refused
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import RunEnded, StepOpened, TaskSeeded, named

from .conftest import BrokerProcess, steps


@pytest.fixture(params=["memory", "sqlite", "zeromq-ipc"])
async def bus(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bus]:
    """Each adapter in turn."""
    made: Bus
    if request.param == "memory":
        made = InProcessBus(MemoryJournal())
    elif request.param == "sqlite":
        made = InProcessBus(SqliteJournal(tmp_path / "log.sqlite"))
    else:
        server: BrokerProcess = request.getfixturevalue("broker")
        made = ZmqBus(server.address, patience_s=5.0)
    yield made
    await made.close()


async def test_facts_come_back_in_order_and_numbered_without_gaps(bus: Bus) -> None:
    """Sequence numbers are 1, 2, 3, ... and facts equal what was published."""
    facts = steps(*range(20))
    await bus.publish(facts[:5])
    for fact in facts[5:]:
        await bus.publish([fact])
    page = await bus.read(0)
    assert page.facts == list(zip(range(1, 21), facts, strict=True))
    assert page.upto == 20
    assert len(page.times) == 20
    assert list(page.times) == sorted(page.times)


async def test_publishing_again_changes_nothing(bus: Bus) -> None:
    """A known id is acknowledged and not written again, also within one group."""
    first, second = steps(1, 2)
    await bus.publish([first])
    await bus.publish([first, second, second])
    assert (await bus.read(0)).facts == [(1, first), (2, second)]


async def test_read_filters_by_type_and_says_how_far_it_looked(bus: Bus) -> None:
    """Unwanted facts are passed over, and `upto` covers them, so that nobody reads them twice."""
    ended = named(RunEnded(ok=True, reason="done"), "test")
    await bus.publish([*steps(1, 2), ended, *steps(3)])
    page = await bus.read(0, [RunEnded])
    assert page.facts == [(3, ended)]
    assert page.upto == 4
    nothing = await bus.read(0, [TaskSeeded])
    assert (len(nothing.facts), nothing.upto) == (0, 4)
    assert (await bus.read(0, [])).upto == 4


async def test_pages_have_the_asked_size_and_go_on_where_they_ended(bus: Bus) -> None:
    """Reading page by page from each `upto` gives every fact once."""
    facts = steps(*range(10))
    await bus.publish(facts)
    seen, after = [], 0
    while (page := await bus.read(after, [StepOpened], limit=3)).facts:
        assert len(page.facts) <= 3
        seen += [fact for _, fact in page.facts]
        after = page.upto
    assert seen == facts


async def test_large_facts_come_page_by_page(bus: Bus) -> None:
    """A page ends before its bytes grow without bound, and nothing is lost by that."""
    facts = [named(RunEnded(ok=True, reason="x" * 3_000_000), "test", n) for n in range(4)]
    for fact in facts:
        await bus.publish([fact])
    first = await bus.read(0)
    assert 1 <= len(first.facts) < 4
    rest = await bus.read(first.upto)
    assert [fact for _, fact in [*first.facts, *rest.facts]] == facts


async def test_news_wakes_whoever_waits(bus: Bus) -> None:
    """A waiter is woken by a publish long before its time has passed; all waiters are."""
    waiters = [asyncio.create_task(bus.news(0, 10.0)) for _ in range(3)]
    await asyncio.sleep(0.2)
    start = time.monotonic()
    await bus.publish(steps(1))
    assert await asyncio.gather(*waiters) == [True, True, True]
    assert time.monotonic() - start < 2.0


async def test_news_knows_what_is_there_and_gives_up_in_time(bus: Bus) -> None:
    """True at once when the log is longer already; False after the time when it does not grow."""
    await bus.publish(steps(1))
    assert await bus.news(0, 5.0)
    start = time.monotonic()
    assert not await bus.news(1, 0.2)
    assert 0.15 < time.monotonic() - start < 2.0


async def test_cursors_are_kept_and_never_move_back(bus: Bus) -> None:
    """A subscriber's cursor starts at 0, is its own, and ignores a late, lower move."""
    await bus.publish(steps(1, 2, 3))
    assert await bus.cursor("solver") == 0
    await bus.move_cursor("solver", 3)
    await bus.move_cursor("solver", 2)
    assert await bus.cursor("solver") == 3
    assert await bus.cursor("planner") == 0


async def test_a_bad_fact_refuses_its_whole_group_and_nothing_else(bus: Bus) -> None:
    """An unnamed fact, a wrong type inside, and an oversized fact are refused with the reason; the bus goes on."""
    good = steps(1)
    unnamed = RunEnded(ok=True, reason="")
    with pytest.raises(Refused, match=r"fact 2 of 2: RunEnded without an id"):
        await bus.publish([*good, unnamed])
    with pytest.raises(Refused, match=r"no fact of this wire schema: .*ok"):
        await bus.publish([named(RunEnded(ok="yes", reason=""), "test")])  # type: ignore[arg-type]
    with pytest.raises(Refused, match=rf"the limit is {MAX_FACT_BYTES}"):
        await bus.publish([named(RunEnded(ok=True, reason="x" * (MAX_FACT_BYTES + 1)), "test")])
    assert (await bus.read(0)).facts == []
    await bus.publish(good)
    assert (await bus.read(0)).facts == [(1, good[0])]


async def test_many_publish_at_once(bus: Bus) -> None:
    """Concurrent publishers each see their acknowledgement; groups stay together and in order."""
    groups = [steps(0, 1, 2, cause=f"publisher {n}") for n in range(300)]
    await asyncio.gather(*(bus.publish(group) for group in groups))
    page = await bus.read(0, limit=1000)
    assert [seq for seq, _ in page.facts] == list(range(1, 901))
    found = [fact for _, fact in page.facts]
    together = {tuple(fact.id for fact in found[at : at + 3]) for at in range(0, 900, 3)}
    assert together == {tuple(fact.id for fact in group) for group in groups}


async def test_a_closed_bus_says_so(bus: Bus) -> None:
    """After `close` every call raises `BusClosed`, whoever waits is woken with it, and closing again is harmless."""
    await bus.publish(steps(1))
    waiting = asyncio.create_task(bus.news(1, 10.0))
    await asyncio.sleep(0.1)
    await bus.close()
    with pytest.raises(BusClosed):
        await waiting
    with pytest.raises(BusClosed):
        await bus.publish(steps(2))
    with pytest.raises(BusClosed):
        await bus.news(0, 0.1)
    await bus.close()
