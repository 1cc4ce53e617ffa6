"""How fast is the bus, and how much of that is ours? ``python benchmarks/bench_bus.py [--quick] [--only NAME,...]``

Everything in one run, beside references that do less, so that the numbers can be read as ratios on a machine that others use:

* ``throughput``: publish -> journal (FULL) -> deliver, facts of 1 KB, three processes; a bare sequencer with the same journal;
  raw pyzmq without a journal; raw SQLite. Best of several rounds, which take turns.
* ``latency``: from when a fact was due to be published until another process has decoded it, at 1,000 facts/s, open loop; on
  this disk, on one whose sync takes 3 ms longer, and without a disk.
* ``memory``: what broker and reader hold while a million facts pass.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from bus_parts import fact, resident_mb
from rich.console import Console
from rich.table import Table

from shared.codec import encode
from shared.eventlog.entry import entries_of
from shared.eventlog.sqlite import SqliteJournal

PARTS = Path(__file__).with_name("bus_parts.py")
GROUP = 32
"""Facts of one publish in the main row."""
BATCH = 256
RATE = 1000
SLOW_S = 0.003


class Part:
    """A process of `bus_parts`, from ``ready`` to its result."""

    def __init__(self, name: str, **values: object) -> None:
        command = [sys.executable, str(PARTS), name, json.dumps(values)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self._lines = self.process.stdout
        if self._lines.readline() != "ready\n":
            raise SystemExit(f"{name} did not start")

    def result(self) -> dict[str, Any]:
        """Waits for its end."""
        found: dict[str, Any] = json.loads(self._lines.readline())
        self.process.wait()
        self._lines.close()
        return found

    def stop(self) -> None:
        """Ends a part that would go on."""
        self.process.terminate()
        self.process.wait()
        self._lines.close()


@contextmanager
def running(name: str, **values: object) -> Iterator[Part]:
    """A part that is stopped at the end."""
    part = Part(name, **values)
    try:
        yield part
    finally:
        part.stop()


def rate(directory: Path, names: tuple[str, str, str], facts: int, *, log: bool, group: int) -> float:
    """Facts per second from the first publish until the subscriber has the last."""
    sequencer, subscriber, publisher = names
    with tempfile.TemporaryDirectory(dir=directory) as place:
        address = f"ipc://{place}/bus"
        with running(sequencer, address=address, log=f"{place}/log.sqlite" if log else ""):
            reading = Part(subscriber, address=address, facts=facts)
            publishing = Part(publisher, address=address, facts=facts, group=group)
            begun, ended = publishing.result(), reading.result()
        return float(facts / (ended["end"] - begun["start"]))


OURS = ("broker", "subscribe", "publish")
BARE = ("bare_sequencer", "bare_subscribe", "bare_publish")


def raw_sqlite(directory: Path, facts: int) -> float:
    """Rows per second into one plain table, WAL and FULL, so many a transaction."""
    payloads = [encode(fact("raw", index)) for index in range(BATCH)]
    with (
        tempfile.TemporaryDirectory(dir=directory) as place,
        closing(sqlite3.connect(f"{place}/raw", isolation_level=None)) as db,
    ):
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE facts (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL)")
        start = time.monotonic()
        for first in range(0, facts, BATCH):
            db.execute("BEGIN IMMEDIATE")
            rows = ((first + index, payload) for index, payload in enumerate(payloads))
            db.executemany("INSERT INTO facts VALUES (?, ?)", rows)
            db.execute("COMMIT")
        return facts / (time.monotonic() - start)


def journal_alone(directory: Path, facts: int) -> float:
    """Facts per second into our journal, in this process, checked before."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        journal = SqliteJournal(Path(place) / "log.sqlite")
        batches = [entries_of([encode(fact("j", first + i)) for i in range(BATCH)]) for first in range(0, facts, BATCH)]
        start = time.monotonic()
        for batch in batches:
            journal.append(batch)
        took = time.monotonic() - start
        journal.close()
        return facts / took


def sync_ms(directory: Path, longer_s: float, times: int = 400) -> float:
    """Median of one fsync after 4 KB, in ms, on a disk where it takes longer by so much."""
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
        for index in range(times):
            os.pwrite(file.fileno(), os.urandom(4096), 4096 * (index % 256))
            start = time.perf_counter()
            os.fsync(file.fileno())
            if longer_s:
                time.sleep(longer_s)
            taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


def latency(directory: Path, seconds: float, *, longer_s: float = 0.0, log: bool = True) -> dict[str, float]:
    """Hops at a steady rate, in ms."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        address = f"ipc://{place}/bus"
        with running("broker", address=address, log=f"{place}/log.sqlite" if log else "", longer_s=longer_s):
            watching = Part("watch", address=address, facts=int(RATE * seconds))
            Part("steady", address=address, rate=RATE, seconds=seconds).result()
            return watching.result()


def throughput_table(directory: Path, facts: int, rounds: int) -> Table:
    """Ours beside the references, which take turns in every round."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        found = {
            f"the bus, {GROUP} facts a publish": rate(directory, OURS, facts, log=True, group=GROUP),
            f"bare sequencer, same journal, {GROUP} a message": rate(directory, BARE, facts, log=True, group=GROUP),
            "the bus, 1 fact a publish": rate(directory, OURS, facts // 4, log=True, group=1),
            "bare sequencer, same journal, 1 a message": rate(directory, BARE, facts // 4, log=True, group=1),
            f"raw pyzmq, no journal, {GROUP} a message": rate(directory, BARE, facts, log=False, group=GROUP),
            f"our journal alone, {BATCH} a transaction": journal_alone(directory, facts // BATCH * BATCH),
            f"raw SQLite, WAL, FULL, {BATCH} a transaction": raw_sqlite(directory, facts // BATCH * BATCH),
        }
        best = {name: max(value, best.get(name, 0.0)) for name, value in found.items()}
    bare = best[f"bare sequencer, same journal, {GROUP} a message"]
    table = Table("publish -> journal -> deliver, 1 KB", "facts/s", "of the bare sequencer")
    for name, value in best.items():
        table.add_row(name, f"{value:,.0f}", f"{value / bare:.2f}")
    return table


def latency_table(directory: Path, seconds: float, rounds: int) -> Table:
    """One row a disk; the best of several rounds by the 99th percentile."""
    table = Table("one hop at 1,000 facts/s", "fsync ms", "median ms", "p90", "p99", "p99.9", "most", "p99 / fsync")
    disks = {"this disk": (0.0, True), f"sync {1000 * SLOW_S:.0f} ms longer": (SLOW_S, True), "no disk": (0.0, False)}
    for name, (longer_s, log) in disks.items():
        found = min(
            (latency(directory, seconds, longer_s=longer_s, log=log) for _ in range(rounds)), key=lambda each: each["p99"]
        )
        sync = min(sync_ms(directory, longer_s) for _ in range(3))
        cells = [f"{found[key]:.2f}" for key in ("median", "p90", "p99", "p999", "most")]
        table.add_row(name, f"{sync:.2f}" if log else "-", *cells, f"{found['p99'] / sync:.1f}" if log else "-")
    return table


def memory_table(directory: Path, facts: int) -> Table:
    """MB resident of broker and reader, ten times on the way."""
    table = Table("facts so far", "broker MB", "reader MB")
    every = facts // 10
    with tempfile.TemporaryDirectory(dir=directory) as place, ExitStack() as undo:
        address = f"ipc://{place}/bus"
        broker = undo.enter_context(running("broker", address=address, log=f"{place}/log.sqlite"))
        held: list[float] = []
        reading = Part("subscribe", address=address, facts=facts, every=every)
        publishing = Part("publish", address=address, facts=facts, group=GROUP)
        with closing(sqlite3.connect(f"{place}/log.sqlite")) as log:
            while len(held) < 10 and publishing.process.poll() is None:
                if log.execute("SELECT seq FROM head").fetchone()[0] >= every * (len(held) + 1):
                    held.append(resident_mb(broker.process.pid))
                time.sleep(0.02)
        publishing.result()
        read = reading.result()["memory"]
        held += [resident_mb(broker.process.pid)] * (10 - len(held))
    for index, (ours, theirs) in enumerate(zip(held, read, strict=True), start=1):
        table.add_row(f"{index * every:,}", f"{ours:.0f}", f"{theirs:.0f}")
    return table


def main() -> None:
    """Prints the tables, and what else the machine had to do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a minute instead of several; the numbers are rough")
    parser.add_argument("--only", default="throughput,latency,memory", metavar="NAME,...", help="[%(default)s]")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()), help="a place on the disk to measure")
    options = parser.parse_args()
    quick, directory = options.quick, options.dir
    console = Console(width=128)
    console.print(f"load before {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    wanted = options.only.split(",")
    if "throughput" in wanted:
        console.print(throughput_table(directory, 40_000 if quick else 200_000, 1 if quick else 3))
    if "latency" in wanted:
        console.print(latency_table(directory, 3 if quick else 10, 1 if quick else 3))
    if "memory" in wanted:
        console.print(memory_table(directory, 100_000 if quick else 1_000_000))
    console.print(f"load after {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
