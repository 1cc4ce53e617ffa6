"""How fast is the bus? Publishes per second with 1, 8 and 64 publishers at once, and the latency of one hop.

``python benchmarks/bench_bus.py [--seconds S]`` prints one table: in process (memory and SQLite) beside ZeroMQ with a broker
process (SQLite). A hop is publish, doorbell and read by another subscriber: what passes between two roles. Read the numbers as
ratios; the disk's time for a sync dominates those of one publisher.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shared.bus.address import bus_address_for
from shared.bus.inprocess import InProcessBus
from shared.bus.port import Bus
from shared.bus.zeromq import ZmqBus
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import SampleFailed, named

PUBLISHERS = (1, 8, 64)
REASON = "x" * 900
"""Makes a fact of about 1 KB."""


def fact(cause: str, index: int) -> SampleFailed:
    """One fact of about 1 KB."""
    return named(SampleFailed(request="r", reason=REASON), cause, index)


async def publishes_per_second(bus: Bus, publishers: int, seconds: float) -> float:
    """So many tasks publish one fact after the other; acknowledged facts per second."""
    end = time.perf_counter() + seconds

    async def publisher(name: str) -> int:
        done = 0
        while time.perf_counter() < end:
            await bus.publish([fact(name, done)])
            done += 1
        return done

    counts = await asyncio.gather(*(publisher(f"{publishers}/{number}") for number in range(publishers)))
    return sum(counts) / seconds


async def hop_ms(publisher: Bus, subscriber: Bus, hops: int = 200) -> tuple[float, float]:
    """Median and 99th percentile, in ms, from before `publish` until the other side has read the fact."""
    times: list[float] = []
    seen = (await subscriber.read(0, [])).upto
    while await subscriber.news(seen, 0.2):
        seen = (await subscriber.read(seen, [])).upto
    for index in range(hops):
        start = time.perf_counter()
        publishing = asyncio.create_task(publisher.publish([fact("hop", index)]))
        while not (page := await subscriber.read(seen, [SampleFailed])).facts:
            await subscriber.news(page.upto, 1.0)
        times.append(1000 * (time.perf_counter() - start))
        seen = page.upto
        await publishing
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


async def measure(make: Callable[[], tuple[Bus, Bus]], seconds: float) -> list[str]:
    """One row of the table."""
    publisher, subscriber = make()
    rates = [await publishes_per_second(publisher, count, seconds) for count in PUBLISHERS]
    median, tail = await hop_ms(publisher, subscriber)
    for bus in {id(publisher): publisher, id(subscriber): subscriber}.values():
        await bus.close()
    return [*(f"{rate:,.0f}" for rate in rates), f"{median:.2f}", f"{tail:.2f}"]


def shared_bus(bus: Bus) -> tuple[Bus, Bus]:
    """In process, publisher and subscriber use the same bus."""
    return bus, bus


def with_broker(directory: Path, seconds: float) -> list[str]:
    """The row of the real thing."""
    address = bus_address_for(directory)
    command = [sys.executable, "-m", "services.bus", "--bus", address, "--log", str(directory / "broker.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        try:
            assert broker.stdout is not None
            broker.stdout.readline()
            return asyncio.run(measure(lambda: (ZmqBus(address), ZmqBus(address)), seconds))
        finally:
            broker.terminate()


def run(seconds: float) -> Table:
    """The whole table."""
    table = Table("bus", *(f"{count} publishing /s" for count in PUBLISHERS), "hop median ms", "hop p99 ms")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        memory = asyncio.run(measure(lambda: shared_bus(InProcessBus(MemoryJournal())), seconds))
        table.add_row("in process, memory", *memory)
        disk = asyncio.run(measure(lambda: shared_bus(InProcessBus(SqliteJournal(directory / "log.sqlite"))), seconds))
        table.add_row("in process, SQLite", *disk)
        table.add_row("ZeroMQ ipc, SQLite", *with_broker(directory, seconds))
    return table


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each rate is measured")
    Console().print(run(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
