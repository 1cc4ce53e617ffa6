"""No queue grows without bound: clients that stand still, or ask and never listen, cost the broker nothing and delay nobody."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from shared.bus.zeromq import ZmqBus
from shared.messages import RunEnded, named

from .conftest import BrokerProcess, read_all
from .raw import resident_mb

READER = """
import asyncio, sys
from shared.bus.zeromq import ZmqBus
async def main():
    bus, after = ZmqBus(sys.argv[1]), 0
    while after < int(sys.argv[2]):
        page = await bus.read(after)
        assert [seq for seq, _ in page.facts] == list(range(after + 1, page.upto + 1)), "a gap"
        if after == 0 < page.upto:
            print("reading", flush=True)
        after = page.upto
        if not page.facts:
            await bus.news(after, 1.0)
    print("all", after, flush=True)
    await bus.close()
asyncio.run(main())
"""
"""Follows the log to a given length."""
NEVER_LISTENS = """
import sys, time, zmq
from shared.bus.wire import Read, pack
context = zmq.Context()
socket = context.socket(zmq.DEALER)
socket.setsockopt(zmq.RCVHWM, 1)
socket.setsockopt(zmq.SNDHWM, 0)
socket.connect(sys.argv[1] + ".req")
for number in range(5000):
    socket.send_multipart([number.to_bytes(8, "big"), pack(Read(0, None, 4096))])
print("asked", flush=True)
time.sleep(600)
"""
"""Asks for gigabytes and takes nothing."""


@contextmanager
def process(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A client process, killed at the end."""
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def said(client: subprocess.Popen[str]) -> str:
    """The next line of a client."""
    assert client.stdout is not None
    return client.stdout.readline().strip()


async def publish_mb(bus: ZmqBus, name: str, megabytes: int, check: Callable[[], None]) -> float:
    """Publishes so many facts of about 1 MB; the longest time that one took, in seconds."""
    longest = 0.0
    for number in range(megabytes):
        start = time.monotonic()
        await bus.publish([named(RunEnded(ok=True, reason="x" * 1_000_000), name, number)])
        longest = max(longest, time.monotonic() - start)
        check()
    return longest


async def test_a_frozen_subscriber_delays_nobody_and_misses_nothing(broker: BrokerProcess) -> None:
    """While it is stopped, 200 MB pass: publishing and another reader go on, and the broker's memory stays flat. Then it reads
    everything: there is nothing to evict it from."""
    bus = ZmqBus(broker.address)
    count = 220
    highest: list[float] = []
    with process(READER, broker.address, str(count)) as frozen:
        await publish_mb(bus, "before", 20, lambda: None)
        assert await asyncio.to_thread(said, frozen) == "reading"
        frozen.send_signal(signal.SIGSTOP)
        assert await publish_mb(bus, "meanwhile", count - 20, lambda: highest.append(resident_mb(broker))) < 2.0
        assert [seq for seq, _ in await read_all(bus)] == list(range(1, count + 1))
        frozen.send_signal(signal.SIGCONT)
        assert await asyncio.to_thread(said, frozen) == f"all {count}"
    assert max(highest) < 300
    assert max(highest[150:]) < max(highest[100:150]) + 20, "it goes on growing"
    await bus.close()
    assert broker.stop()[0] == 0


async def test_who_asks_for_gigabytes_and_never_listens_gets_only_what_fits(broker: BrokerProcess) -> None:
    """Replies to it are dropped beyond a bound; others are answered meanwhile, and the broker's memory stays flat."""
    bus = ZmqBus(broker.address)
    await publish_mb(bus, "content", 20, lambda: None)
    with process(NEVER_LISTENS, broker.address) as deaf:
        assert await asyncio.to_thread(said, deaf) == "asked"
        deaf.send_signal(signal.SIGSTOP)
        highest, longest = 0.0, 0.0
        end = time.monotonic() + 2
        while time.monotonic() < end:
            start = time.monotonic()
            await bus.cursor("somebody")
            longest = max(longest, time.monotonic() - start)
            highest = max(highest, resident_mb(broker))
            await asyncio.sleep(0.02)
    assert longest < 2.0
    assert highest < 300
    assert len(await read_all(bus)) == 20
    await bus.close()
    assert broker.stop()[0] == 0


@pytest.mark.slow
async def test_many_publishers_at_once_are_held_back_and_not_lost(broker: BrokerProcess) -> None:
    """More than the disk takes: they wait for their acknowledgements, the broker's memory stays flat, nothing is missing."""
    clients = [ZmqBus(broker.address) for _ in range(8)]
    highest = 0.0

    async def publish(client: ZmqBus, name: int) -> None:
        nonlocal highest
        for number in range(0, 400, 20):
            facts = [named(RunEnded(ok=True, reason="x" * 100_000), f"client {name}", number + n) for n in range(20)]
            await client.publish(facts)
            highest = max(highest, resident_mb(broker))

    await asyncio.gather(*(publish(client, name) for name, client in enumerate(clients) for _ in range(4)))
    assert len(await read_all(clients[0])) == 8 * 400
    assert highest < 300
    for client in clients:
        await client.close()
