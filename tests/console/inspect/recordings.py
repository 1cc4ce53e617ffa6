"""Recordings for the tests of this folder: a real run's, parts of it, and small ones written from facts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import typer

from console.cli import app
from console.recording import LOG_NAME
from shared.codec import encode
from shared.errors import BadInput
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
    return named(StepOpened(step=step, policy="p0", lineage=f"s{step}", **counts), cause, step)


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


class Done(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


def sagepace(*words: object, status: int = 0) -> Done:
    """Runs the command in this process to its end, which must be of this status, as `console.cli.main` would see it."""
    out, err = StringIO(), StringIO()
    ended: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            ended = app([str(word) for word in words], standalone_mode=False)
        except BadInput as error:
            ended = 2
            print(f"sagepace: {error}", file=sys.stderr)
        except typer.Exit as exiting:
            ended = exiting.exit_code
    assert (ended or 0) == status, f"{out.getvalue()}\n{err.getvalue()}"
    return Done(out.getvalue(), err.getvalue())


def complaint(*words: object) -> str:
    """What a command says that ends with status 2: one line, and nothing on standard output."""
    done = sagepace(*words, status=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def names(facts: Sequence[Fact]) -> list[str]:
    """Their types."""
    return [type(fact).__name__ for fact in facts]
