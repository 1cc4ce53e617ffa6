"""How quick is it to look into a long log, and how much does the log's form cost its writer? ``python benchmarks/bench_log.py``

* ``write``: rows/s in batches of 256 with FULL into our journal; into the same tables by sqlite3 alone; and without indexes.
* ``read``: each `sagepace log` command on a log of a million facts of about 1 KB, as a process of its own, with its peak
  memory, beside a bare sqlite3 scan of the same file and the time that any `sagepace` command takes to start.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from log_parts import long_log
from rich.console import Console
from rich.table import Table

from shared.eventlog.entry import GENESIS, Entry, row_after
from shared.eventlog.fresh import write_log
from shared.eventlog.schema import INSERT, TABLES
from shared.eventlog.sqlite import SqliteJournal

BATCH = 256
ROUNDS = 5
RUN = """
import atexit, re, runpy, sys
note, module = sys.argv[1], sys.argv[2]
del sys.argv[1:3]
@atexit.register
def tell():
    with open("/proc/self/status") as status, open(note, "w") as file:
        file.write(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])
runpy.run_module(module, run_name="__main__")
"""
"""Runs a module and notes its peak memory. (What `wait4` tells of a process includes its parent's memory before the exec.)"""
SCAN = """
import sqlite3, sys
print(sum(1 for _ in sqlite3.connect(sys.argv[1]).execute("SELECT * FROM facts")))
"""


def main() -> None:
    """Makes what is measured, measures it, prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=1_000_000, help="length of the log that is read [%(default)s]")
    parser.add_argument("--written", type=int, default=60_000, help="facts that are written a round [%(default)s]")
    parser.add_argument("--dir", type=Path, help="where the files go; a directory of the system's for such, without it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.dir) as directory:
        show_writing(Path(directory), given.written)
        show_reading(Path(directory), given.facts)


def show_writing(directory: Path, facts: int) -> None:
    """The best of some rounds, which take turns. On a disk that others use, the processor's time is what can be compared."""
    entries = [entry for _, entry in long_log(facts)]
    plain = "\n".join(line for line in TABLES.splitlines() if not line.startswith("CREATE INDEX"))
    ways: dict[str, Callable[[Path], None]] = {
        "journal": lambda path: _journal(path, entries),
        "sqlite3, the same tables": lambda path: _bare(path, entries, TABLES),
        "sqlite3, without the two indexes": lambda path: _bare(path, entries, plain),
        "sqlite3, without them and ids not unique": lambda path: _bare(path, entries, plain.replace(" UNIQUE", "")),
    }
    best = dict.fromkeys(ways, 0.0)
    least_cpu = dict.fromkeys(ways, float("inf"))
    size = dict.fromkeys(ways, 0)
    for number in range(ROUNDS):
        for name, write in ways.items():
            path = directory / f"written{number}.sqlite"
            began, cpu = time.perf_counter(), time.process_time()
            write(path)
            best[name] = max(best[name], facts / (time.perf_counter() - began))
            least_cpu[name] = min(least_cpu[name], (time.process_time() - cpu) / facts)
            size[name] = path.stat().st_size
            for file in directory.glob(f"{path.name}*"):
                file.unlink()
    table = Table("write, batches of 256, FULL", "rows/s", "CPU us a row", "bytes a fact")
    for name, rate in best.items():
        table.add_row(name, f"{rate:,.0f}", f"{1e6 * least_cpu[name]:.1f}", f"{size[name] / facts:,.0f}")
    Console().print(table)


def _journal(path: Path, entries: Sequence[Entry]) -> None:
    with closing(SqliteJournal(path)) as journal:
        for start in range(0, len(entries), BATCH):
            journal.append(entries[start : start + BATCH])


def _bare(path: Path, entries: Sequence[Entry], tables: str) -> None:
    """The same rows, checksums included, by sqlite3 alone."""
    insert = INSERT if " UNIQUE" in tables else INSERT.partition(" ON CONFLICT")[0]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(tables)
        seq, checksum, rest = 0, GENESIS, iter(entries)
        while batch := list(islice(rest, BATCH)):
            db.execute("BEGIN")
            for entry in batch:
                row = row_after(checksum, seq + 1, time.time_ns(), entry)
                db.execute(insert, row)
                seq, checksum = row.seq, row.checksum
            db.execute("COMMIT")


def show_reading(directory: Path, facts: int) -> None:
    """Each command once, on a log that nobody has read before, and once more."""
    home = directory / "run"
    home.mkdir()
    began = time.perf_counter()
    write_log(home / "log.sqlite", long_log(facts))
    seconds = time.perf_counter() - began
    size = (home / "log.sqlite").stat().st_size
    middle = facts // 4200 or 1  # a step leaves about 2,100 facts
    table = Table(f"read, {facts:,} facts, {size / 1e9:.2f} GB (made in {seconds:.0f} s)", "first s", "again s", "peak MB")
    commands = {
        "(start of any command)": ["version"],
        "info": ["log", "info", str(home)],
        "trace s{middle}.c7": ["log", "trace", str(home), f"s{middle}.c7"],
        "trace a task's id": ["log", "trace", str(home), f"task-{middle}-7"],
        "why-waiting": ["log", "why-waiting", str(home)],
        "cat --step N": ["log", "cat", str(home), "--step", str(middle)],
        "cat --only CandidateJudged": ["log", "cat", str(home), "--only", "CandidateJudged"],
        "cat --only AnswerGraded": ["log", "cat", str(home), "--only", "AnswerGraded"],
        "slice --step N": ["log", "slice", str(home), str(directory / "slice"), "--step", str(middle)],
        "cat": ["log", "cat", str(home)],
        "cat --json": ["log", "cat", str(home), "--json"],
        "verify": ["log", "verify", str(home)],
        "diff with itself": ["log", "diff", str(home), str(home)],
    }
    (directory / "scan.py").write_text(SCAN)
    rows = {"sqlite3 alone, all rows": ["scan", str(home / "log.sqlite")]}
    rows |= {name: ["console", *words] for name, words in commands.items()}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(directory), str(Path(__file__).parents[1])])
    for name, command in rows.items():
        first, peak = _measured(command, directory / "peak")
        shutil.rmtree(directory / "slice", ignore_errors=True)
        again, second_peak = _measured(command, directory / "peak")
        shutil.rmtree(directory / "slice", ignore_errors=True)
        table.add_row(name.format(middle=middle), f"{first:.2f}", f"{again:.2f}", f"{max(peak, second_peak):.0f}")
    Console().print(table)


def _measured(command: Sequence[str], note: Path) -> tuple[float, float]:
    """Seconds and peak memory in MB of one process, a module with its arguments. Its output is thrown away."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", RUN, str(note), *command], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}")
    return time.perf_counter() - began, int(note.read_text()) / 1024


if __name__ == "__main__":
    main()
