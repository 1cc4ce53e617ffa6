"""Recordings for the tests of this folder: with journal times of one's choice."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from console.recording import LOG_NAME
from shared.codec import encode
from shared.eventlog.entry import entries_of
from shared.eventlog.fresh import write_log
from shared.eventlog.schema import HANDLED_FROM
from shared.messages import Fact, RunEnded, RunStarted, StepOpened, digest, named

ROOT = Path(__file__).parents[3]
BEGAN_NS = 1_800_000_000_000_000_000
SECOND = 1_000_000_000


def started(name: str = "demo", wire_version: int = 1) -> RunStarted:
    """A run's first fact."""
    run = RunStarted(seed=1, config={"run": {"name": name}}, base_policy="p0", store="", wire_version=wire_version)
    return named(run, digest("run", name))


def story(steps: int) -> list[Fact]:
    """A run with so many steps and nothing in them: numbers 1, 2 to steps + 1, and steps + 2."""
    run = started()
    opened = [
        named(StepOpened(step=n, policy="p0", num_challenges=1, num_assignments=1, lineage=f"s{n}"), run, n)
        for n in range(1, steps + 1)
    ]
    return [run, *opened, named(RunEnded(ok=True, reason="done"), run)]


def record(directory: Path, facts: Sequence[Fact], times_s: Sequence[float] | None = None, *, context: int = 0) -> Path:
    """The directory with a recording of these facts, `times_s` seconds after `BEGAN_NS` (a second apart when None).

    `context` makes it a slice whose first facts are there only to be seen.
    """
    directory.mkdir(parents=True, exist_ok=True)
    times = [BEGAN_NS + round(t * SECOND) for t in times_s or range(len(facts))]
    entries = zip(times, entries_of([encode(fact) for fact in facts]), strict=True)
    write_log(directory / LOG_NAME, entries, meta={HANDLED_FROM: str(context)} if context else {})
    return directory


def spoil(log: Path, seq: int, payload: bytes | None = None) -> None:
    """Changes the bytes of one recorded fact: to `payload`, else one letter in the middle of it."""
    with closing(sqlite3.connect(log)) as db, db:
        (old,) = db.execute("SELECT payload FROM facts WHERE seq = ?", (seq,)).fetchone()
        new = payload if payload is not None else old.replace(b"p0", b"p1", 1)
        assert new != old
        db.execute("UPDATE facts SET payload = ? WHERE seq = ?", (new, seq))
