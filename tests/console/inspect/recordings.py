"""Recordings for the tests of this folder: a real run's, parts of it, and small ones written from facts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from console.recording import LOG_NAME
from shared.codec import encode
from shared.eventlog.entry import Entry, entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.reader import LogReader
from shared.messages import Fact, RunStarted, StepOpened, digest, named

ROOT = Path(__file__).parents[3]
HISTORIES = ROOT / "tests" / "replay" / "histories"
REAL = HISTORIES / "commit"
"""A real run of two steps that ends with a commit."""
BEGAN_NS = 1_800_000_000_000_000_000
SECOND = 1_000_000_000


def started(name: str = "demo", **changes: object) -> RunStarted:
    """A run's first fact."""
    values = {"seed": 1, "config": {"run": {"name": name}}, "base_policy": "p0", "store": ""} | changes
    return named(RunStarted(**values), digest("run", values["seed"]))  # type: ignore[arg-type]


def opened(cause: Fact, step: int, **counts: int) -> StepOpened:
    """A step with one challenge and one assignment, or as many as stated."""
    counts = {"num_challenges": 1, "num_assignments": 1} | counts
    return named(StepOpened(step=step, policy="p0", lineage=f"s{step}", **counts), cause)


def record(directory: Path, facts: Iterable[Fact], *, cursors: Mapping[str, int] | None = None) -> Path:
    """The directory with a recording of these facts, a second apart."""
    directory.mkdir(parents=True, exist_ok=True)
    entries = ((BEGAN_NS + n * SECOND, entry_of(encode(fact))) for n, fact in enumerate(facts))
    write_log(directory / LOG_NAME, entries, cursors=cursors or {})
    return directory


def beginning(directory: Path, count: int, source: Path = REAL) -> Path:
    """A recording of the first `count` facts of another, without marks."""
    directory.mkdir(parents=True, exist_ok=True)
    with closing(LogReader(source / LOG_NAME)) as reader:
        entries = ((row.time_ns, Entry(*row[1:6], row.payload)) for row in reader.rows(until=count))
        write_log(directory / LOG_NAME, entries)
    return directory


def sagepace(*words: object, status: int = 0, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end, which must be of this status, as another `user` if stated."""
    command = [sys.executable, "-m", "console", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False, user=user)
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done


def complaint(*words: object, user: str | None = None) -> str:
    """What a command says that ends with status 2: one line, and nothing on standard output."""
    done = sagepace(*words, status=2, user=user)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sagepace: ")
    return done.stderr


def names(facts: Sequence[Fact]) -> list[str]:
    """Their types."""
    return [type(fact).__name__ for fact in facts]
