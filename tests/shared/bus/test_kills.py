"""The broker is killed again and again, at random moments, under load: what was acknowledged is there once, in order."""

from __future__ import annotations

import asyncio
import random

import pytest

from shared.bus.zeromq import ZmqBus
from shared.messages import SampleFailed, named

from .conftest import BrokerProcess, problems_in, read_all, until

PUBLISHERS = 3
AT_ONCE = 4
"""Groups that each publisher has under way."""


class Publisher:
    """Publishes groups of one to four facts until it is told to stop; remembers what was acknowledged."""

    def __init__(self, address: str, name: str) -> None:
        self._bus = ZmqBus(address)
        self._name = name
        self._count = 0
        self.groups: list[list[str]] = []
        self.stopping = False

    async def run(self) -> None:
        """Several groups at a time."""
        await asyncio.gather(*(self._work() for _ in range(AT_ONCE)))
        await self._bus.close()

    async def _work(self) -> None:
        while not self.stopping:
            size = self._count % 4 + 1
            facts = [
                named(SampleFailed(request="r", reason="x" * (self._count % 7) * 300), self._name, self._count + n)
                for n in range(size)
            ]
            self._count += size
            await self._bus.publish(facts)
            self.groups.append([fact.id for fact in facts])


async def follow(bus: ZmqBus, seen: list[tuple[int, str]]) -> None:
    """A subscriber that was there from the beginning."""
    after = 0
    while True:
        page = await bus.read(after, [SampleFailed])
        seen += [(seq, fact.id) for seq, fact in page.facts]
        after = page.upto
        if not page.facts:
            await bus.news(after, 0.5)


@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.slow)])
async def test_killed_at_random_the_broker_keeps_its_word(kills: int, broker: BrokerProcess) -> None:
    """Every acknowledged group is there once and together, numbers have no gap, a subscriber saw it all, checksums hold."""
    chance = random.Random(kills)
    publishers = [Publisher(broker.address, f"publisher {name}") for name in range(PUBLISHERS)]
    seen: list[tuple[int, str]] = []
    reading = ZmqBus(broker.address)
    following = asyncio.create_task(follow(reading, seen))
    work = [asyncio.create_task(publisher.run()) for publisher in publishers]
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(0.0, 0.4))
        broker.kill()
        await asyncio.to_thread(broker.start)
    await until(lambda: all(len(publisher.groups) > kills for publisher in publishers))
    for publisher in publishers:
        publisher.stopping = True
    await asyncio.gather(*work)
    log = [(seq, fact.id) for seq, fact in await read_all(reading)]
    await until(lambda: len(seen) >= len(log))
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await reading.close()
    assert broker.stop()[0] == 0
    assert seen == log
    assert [seq for seq, _ in log] == list(range(1, len(log) + 1))
    place = {identity: seq for seq, identity in log}
    assert len(place) == len(log)
    for publisher in publishers:
        assert len(publisher.groups) > kills
        for group in publisher.groups:
            first = place[group[0]]
            assert [place[identity] for identity in group] == list(range(first, first + len(group)))
    assert len(log) == sum(len(group) for publisher in publishers for group in publisher.groups)
    assert problems_in(broker.log) == []
