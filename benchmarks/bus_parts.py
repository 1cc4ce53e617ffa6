"""The processes of `bench_bus.py`, one each: `python benchmarks/bus_parts.py PART '{"address": ...}'`.

Every part prints ``ready``, then one line of JSON when it is done. Times are of the monotonic clock, which all processes share.
The *bare* parts are what somebody would write for this bench alone: plain pyzmq, no typed facts, no checks, no restart; the
bare sequencer keeps the same journal in the same way.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import time
from collections import deque
from pathlib import Path
from types import FrameType
from typing import Any

import zmq

from services.bus.__main__ import make_room
from shared.bus.address import parse_address
from shared.bus.broker import Broker
from shared.bus.calls import Later, Refusals
from shared.bus.server import Server
from shared.bus.zeromq import ZmqBus
from shared.codec import encode
from shared.eventlog.entry import Entry
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.port import Journal
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import SampleFailed, digest, named

WINDOW = 64
"""Groups that a publisher has under way at once."""
BATCH = 256


def fact(cause: str, index: int, note: str = "") -> SampleFailed:
    """One fact of 1 KB as MessagePack."""
    return named(SampleFailed(request="r" * 24, reason=note.ljust(880, "x")), cause, index)


def say(**values: object) -> None:
    """One line of JSON."""
    print(json.dumps(values), flush=True)


def resident_mb(pid: int | str = "self") -> float:
    """What a process holds in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class SlowDisk(SqliteJournal):
    """The journal on a disk whose sync takes longer by so many seconds."""

    longer_s = 0.0

    def commit(self) -> None:
        """As the journal's, and slower."""
        super().commit()
        time.sleep(self.longer_s)


def broker(address: str, log: str = "", longer_s: float = 0.0) -> None:
    """The project's broker; without a log it keeps everything in memory, and acknowledges at once."""
    make_room()
    SlowDisk.longer_s = longer_s
    journal: Journal = MemoryJournal() if not log else SlowDisk(Path(log)) if longer_s else SqliteJournal(Path(log))
    refusals = Refusals(lambda line: print(line, file=sys.stderr))
    later = Later()
    desk = Broker(journal, refusals, later)
    server = Server(desk, parse_address(address), refusals, later=later)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    print("ready", flush=True)
    server.run()
    desk.close()
    server.close()
    journal.close()


def publish(address: str, facts: int, group: int) -> None:
    """Publishes facts in groups, many of them under way at once."""

    async def work() -> None:
        bus = ZmqBus(address)
        await bus.news(-1, 10.0)
        print("ready", flush=True)
        numbers = iter(range(0, facts, group))
        start = time.monotonic()

        async def worker() -> None:
            for first in numbers:
                await bus.publish([fact(f"bench {group}", first + index) for index in range(group)])

        await asyncio.gather(*(worker() for _ in range(WINDOW)))
        say(start=start, end=time.monotonic(), cpu=time.process_time())
        await bus.close()

    asyncio.run(work())


def subscribe(address: str, facts: int, every: int = 0) -> None:
    """Reads, decodes and counts so many facts; with `every`, also says how much memory it holds each time."""

    async def work() -> None:
        bus = ZmqBus(address)
        print("ready", flush=True)
        seen, after = 0, 0
        memory: list[float] = []
        while seen < facts:
            page = await bus.read(after, [SampleFailed])
            after = page.upto
            for seq, found in page.facts:
                seen += 1
                assert seq == seen, "a gap"
                assert len(found.reason) == 880
            if every and seen // every > len(memory):
                memory.append(resident_mb())
            if not page.facts:
                await bus.news(after, 1.0)
        say(end=time.monotonic(), cpu=time.process_time(), memory=memory)
        await bus.close()

    asyncio.run(work())


def steady(address: str, rate: float, seconds: float) -> None:
    """Publishes one fact every 1/rate s, whether or not the earlier ones were acknowledged; each says when it was due.

    A thread keeps the time, since an event loop rounds its waits up to whole milliseconds.
    """

    async def work() -> None:
        bus = ZmqBus(address)
        await bus.news(-1, 10.0)
        print("ready", flush=True)
        loop, tasks = asyncio.get_running_loop(), list[asyncio.Task[None]]()

        def begin(index: int, due: float) -> None:
            tasks.append(loop.create_task(bus.publish([fact("steady", index, f"{due:.6f} ")])))

        def keep_time() -> None:
            start = time.monotonic() + 0.5
            for index in range(int(rate * seconds)):
                due = start + index / rate
                time.sleep(max(0.0, due - time.monotonic()))
                loop.call_soon_threadsafe(begin, index, due)

        await asyncio.to_thread(keep_time)
        await asyncio.gather(*tasks)
        say(cpu=time.process_time())
        await bus.close()

    asyncio.run(work())


def watch(address: str, facts: int) -> None:
    """Reads as a role does, and says how long after it was due each fact was there, decoded."""

    async def work() -> None:
        bus = ZmqBus(address)
        print("ready", flush=True)
        taken: list[float] = []
        after = 0
        while len(taken) < facts:
            page = await bus.read(after, [SampleFailed])
            now = time.monotonic()
            taken += [1000 * (now - float(found.reason.partition(" ")[0])) for _, found in page.facts]
            after = page.upto
            if not page.facts:
                await bus.news(after, 1.0)
        cuts = statistics.quantiles(taken, n=1000)
        say(median=statistics.median(taken), p90=cuts[899], p99=cuts[989], p999=cuts[998], most=max(taken))
        await bus.close()

    asyncio.run(work())


def bare_sequencer(address: str, log: str = "") -> None:
    """Numbers, journals (with a log) and forwards. Groups come as [number, id, payload, id, payload, ...]."""
    context = zmq.Context()
    router, pub = context.socket(zmq.ROUTER), context.socket(zmq.PUB)
    for socket, suffix in ((router, ".req"), (pub, ".news")):
        socket.set_hwm(1_000_000)
        socket.bind(address + suffix)
    journal = SqliteJournal(Path(log)) if log else None
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopped.append(number)

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    seq = 0
    while not stopped:
        if not router.poll(100):
            continue
        groups: list[list[bytes]] = []
        while len(groups) < BATCH:
            try:
                groups.append(router.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                break
        if journal is not None:
            pairs = [(frames[at], frames[at + 1]) for frames in groups for at in range(2, len(frames), 2)]
            journal.append([Entry(i.decode(), "SampleFailed", "inference", "c", "", body) for i, body in pairs])
        for frames in groups:
            router.send_multipart(frames[:2])
            pub.send_multipart([seq.to_bytes(8, "big"), *frames[3::2]])
            seq += len(frames) // 2 - 1
    context.destroy(linger=0)
    if journal is not None:
        journal.close()


def bare_publish(address: str, facts: int, group: int) -> None:
    """Sends bytes that were made before, with as many groups under way as `publish` has."""
    made = [(digest("bare", index).encode(), encode(fact("bare", index))) for index in range(min(facts, 20_000))]
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.connect(address + ".req")
        dealer.send_multipart([b"hello"])
        dealer.recv_multipart()
        print("ready", flush=True)
        time.sleep(0.3)
        start = time.monotonic()
        waiting: deque[int] = deque()
        for first in range(0, facts, group):
            frames = [first.to_bytes(8, "big")]
            for index in range(first, first + group):
                # Beyond the facts made before only the id differs, so that making them costs nothing here.
                identity, payload = made[index % len(made)]
                frames += (identity if index < len(made) else identity[:12] + b"%012d" % index, payload)
            while len(waiting) >= WINDOW:
                dealer.recv_multipart()
                waiting.popleft()
            dealer.send_multipart(frames)
            waiting.append(first)
        while waiting:
            dealer.recv_multipart()
            waiting.popleft()
        say(start=start, end=time.monotonic(), cpu=time.process_time())


def bare_subscribe(address: str, facts: int) -> None:
    """Counts messages."""
    with zmq.Context() as context, context.socket(zmq.SUB) as sub:
        sub.linger = 0
        sub.set_hwm(1_000_000)
        sub.setsockopt(zmq.SUBSCRIBE, b"")
        sub.connect(address + ".news")
        print("ready", flush=True)
        seen = 0
        while seen < facts:
            number, *payloads = sub.recv_multipart()
            assert int.from_bytes(number, "big") == seen, "a gap"
            seen += len(payloads)
        say(end=time.monotonic(), cpu=time.process_time())


PARTS = {
    part.__name__: part for part in (broker, publish, subscribe, steady, watch, bare_sequencer, bare_publish, bare_subscribe)
}


def main() -> None:
    """Runs the part that the first argument names with the values of the second."""
    values: dict[str, Any] = json.loads(sys.argv[2])
    PARTS[sys.argv[1]](**values)


if __name__ == "__main__":
    main()
