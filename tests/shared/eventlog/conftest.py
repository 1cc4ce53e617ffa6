"""Facts and logs for the tests of this folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shared.codec import encode
from shared.eventlog.entry import Entry, entry_of
from shared.eventlog.reader import LogReader
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import RunEnded, StepOpened, named


def entry(number: int, *, size: int = 0) -> Entry:
    """A step, or with a size a fact about as large."""
    if size:
        return entry_of(encode(named(RunEnded(ok=True, reason="x" * size), "test", number)))
    step = StepOpened(step=number, policy=f"policy-{number:04}", num_challenges=1, num_assignments=1, lineage=f"s{number}")
    return entry_of(encode(named(step, "test", number)))


def problems_in(path: Path) -> list[tuple[int, str]]:
    """What `verify` finds in a file."""
    with closing(LogReader(path)) as reader:
        return [(problem.seq, problem.what) for problem in reader.verify()]


def edit(path: Path, statement: str, *values: object) -> None:
    """Changes a log behind everybody's back."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


@pytest.fixture
def log(tmp_path: Path) -> Callable[[int], Path]:
    """Makes a closed log of so many steps."""

    def made(count: int) -> Path:
        journal = SqliteJournal(tmp_path / "log.sqlite")
        journal.append([entry(number) for number in range(1, count + 1)])
        journal.close()
        return tmp_path / "log.sqlite"

    return made
