"""Reads a log file that another process may be writing: read-only, in short stretches, and around damaged places."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shared.errors import BadInput
from shared.eventlog.entry import Row, row_of
from shared.eventlog.schema import FORMAT, ROW, among
from shared.eventlog.verify import Head, Problem, problems

CHUNK = 500
"""Rows per query. A reader that held one long query open would keep the writer from trimming its write-ahead log."""

OnDamage = Callable[[Problem], None]


class LogDamaged(BadInput):
    """The file is a log, but this part of it cannot be read."""


class LogReader:
    """A read-only view of one log file. Close it."""

    def __init__(self, path: Path) -> None:
        """Raises `BadInput` when there is no log at `path` that this version can read."""
        self._path = path
        self._db = _open(path)
        try:
            found = self._db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        except sqlite3.Error as error:
            self._db.close()
            raise BadInput(f"{path} is not a readable log: {error}; give the directory of a run") from error
        if found != (FORMAT,):
            self._db.close()
            raise BadInput(f"{path} has log format {found and found[0]}, this version reads {FORMAT}; use a matching version")

    def head(self) -> Head:
        """What the log says of its own end. Raises `LogDamaged`."""
        found = self._query("SELECT seq, checksum FROM head")
        if len(found) != 1:
            raise LogDamaged(f"the log {self._path} is damaged: its head is missing; restore it from a copy")
        return Head(*found[0])

    def counts(self) -> dict[str, int]:
        """How many facts of each type, in the order of their first appearance. Raises `LogDamaged`."""
        return dict(self._query("SELECT type, count(*) FROM facts GROUP BY type ORDER BY min(seq)"))

    def span(self) -> tuple[int, int, int, int]:
        """First and last sequence number, first and last journal time in ns; zeros when empty. Raises `LogDamaged`."""
        ends = "(SELECT min(seq) FROM facts), (SELECT max(seq) FROM facts)"
        found = self._query(f"SELECT seq, time_ns FROM facts WHERE seq IN ({ends}) ORDER BY seq")
        return (found[0][0], found[-1][0], found[0][1], found[-1][1]) if found else (0, 0, 0, 0)

    def cursors(self) -> dict[str, int]:
        """Each subscriber's cursor. Raises `LogDamaged`."""
        return dict(self._query("SELECT subscriber, seq FROM cursors ORDER BY subscriber"))

    def rows(
        self,
        after: int = 0,
        *,
        until: int | None = None,
        types: Collection[str] | None = None,
        lineage: str | None = None,
        on_damage: OnDamage | None = None,
    ) -> Iterator[Row]:
        """Rows above `after` up to and including `until` (None: the end as it is now), in order.

        `lineage` selects that unit of work and those below it (``s3`` also gives ``s3.c7``, not ``s30``). Rows that cannot be
        read are reported to `on_damage` and passed over; without it they raise `LogDamaged`.
        """
        where, values = _conditions(types, lineage)
        query = f"SELECT {ROW} FROM facts WHERE seq > ? AND seq <= ? {where}ORDER BY seq"
        head = self.head().seq
        last = head if until is None else min(until, head)
        for start in range(after, last, CHUNK):
            end = min(start + CHUNK, last)
            try:
                chunk = [self._row(found) for found in self._query(query, start, end, *values)]
            except LogDamaged:
                if on_damage is None:
                    raise
                chunk = self._salvage(query, start, end, values, on_damage)
            yield from chunk

    def verify(self) -> Iterator[Problem]:
        """Everything wrong with the file, in the order of the log; nothing when it is whole."""
        try:
            head = self.head()
            beyond = self._query("SELECT count(*) FROM facts WHERE seq > ? AND seq > (SELECT seq FROM head)", head.seq)[0][0]
        except LogDamaged as error:
            yield Problem(0, str(error))
            return
        if beyond:
            yield Problem(head.seq + 1, f"{beyond} facts stand after fact {head.seq}, the last one the log's head knows")
        found: list[Problem] = []
        for problem in problems(self.rows(until=head.seq, on_damage=found.append), head):
            yield from _drained(found)
            yield problem
        yield from _drained(found)
        yield from self._file_problems(head)

    def close(self) -> None:
        """Lets go of the file."""
        self._db.close()

    def _file_problems(self, head: Head) -> Iterator[Problem]:
        """What SQLite itself finds, such as an index that differs from its table, and cursors beyond the end."""
        try:
            for (line,) in self._query("PRAGMA integrity_check(10)"):
                if line != "ok":
                    yield Problem(0, f"SQLite: {line}")
            for subscriber, seq in self.cursors().items():
                if seq > head.seq:
                    yield Problem(seq, f"the cursor of {subscriber} stands at {seq}, beyond the last fact {head.seq}")
        except LogDamaged as error:
            yield Problem(0, str(error))

    def _salvage(self, query: str, start: int, end: int, values: tuple[str | int, ...], on_damage: OnDamage) -> list[Row]:
        """The readable rows of a stretch in which something is not."""
        rows = []
        for seq in range(start, end):
            try:
                rows += [self._row(found) for found in self._query(query, seq, seq + 1, *values)]
            except LogDamaged as error:
                on_damage(Problem(seq + 1, f"fact {seq + 1} cannot be read: {error}"))
        return rows

    def _query(self, query: str, *values: Any) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise LogDamaged(f"the log {self._path} is damaged: {error}; `sagepace log verify` says where") from error

    def _row(self, found: tuple[Any, ...]) -> Row:
        try:
            return row_of(found)
        except ValueError as error:
            raise LogDamaged(f"the log {self._path} is damaged: {error}; `sagepace log verify` says where") from error


def _open(path: Path) -> sqlite3.Connection:
    """A read-only connection; also where the directory itself may not be written, once the writer has closed the log."""
    if not path.is_file():
        raise BadInput(f"there is no log at {path}: give the directory of a run")
    place = f"file:{quote(str(path.resolve()))}?mode=ro"
    waiting = path.with_name(path.name + "-wal")
    try:
        db = _connected(place)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            db.close()
            if waiting.exists():
                raise
            return _connected(place + "&immutable=1")
        except sqlite3.Error:
            db.close()
            raise
    except sqlite3.Error as error:
        raise BadInput(f"cannot open the log {path}: {error}; check that you may read it") from error
    return db


def _connected(place: str) -> sqlite3.Connection:
    """A connection that also opens a file that lost its end: SQLite would refuse all of it, what is left can be read."""
    db = sqlite3.connect(place, uri=True, isolation_level=None, timeout=5.0)
    db.execute("PRAGMA writable_schema = ON")
    return db


def _conditions(types: Collection[str] | None, lineage: str | None) -> tuple[str, tuple[str | int, ...]]:
    where: str = ""
    values: tuple[str | int, ...] = ()
    if types is not None:
        where, values = f"AND {among(len(types))} ", tuple(types)
    if lineage is not None:
        where += "AND (lineage = ? OR substr(lineage, 1, ?) = ?) "
        values = (*values, lineage, len(lineage) + 1, f"{lineage}.")
    return where, values


def _drained(found: list[Problem]) -> list[Problem]:
    """Takes what has gathered, so that problems come out in the order of the log."""
    taken = found.copy()
    found.clear()
    return taken
