"""Reads a log file that another process may be writing: read-only, in short stretches, and around damaged places.

`opening` opens the file, `scan` walks through it, `selection` says which facts are wanted, and `check` finds what is wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shared.eventlog.check import check
from shared.eventlog.entry import Row, row_of
from shared.eventlog.lock import is_held
from shared.eventlog.opening import one_line, open_log
from shared.eventlog.scan import CHUNK, LogDamaged, OnDamage, Scan
from shared.eventlog.schema import HANDLED_FROM, ORIGIN, ROW, among
from shared.eventlog.selection import Selection
from shared.eventlog.verify import Head, Problem, problems

__all__ = ["CHUNK", "PARTIAL", "SLICE", "LogDamaged", "LogReader", "OnDamage", "Origin", "Tally"]


SLICE, PARTIAL = "slice", "partial"


class Tally(NamedTuple):
    """How many facts of one type one role gave, and the first and last of them."""

    type: str
    role: str
    facts: int
    first: int
    last: int


class Origin(msgspec.Struct, frozen=True):
    """What a log was made from that is a part of another."""

    kind: str
    """`SLICE`, which can be re-run, or `PARTIAL`, which can only be looked at."""
    name: str
    """The name of the run."""
    what: str
    """Which part of it, in words."""
    facts: int
    """How many facts the other log had."""


class LogReader:
    """A read-only view of one log file. Close it."""

    def __init__(self, path: Path) -> None:
        """Raises `BadInput` when there is no log at `path` that this version can read."""
        self.path = path
        self._db = open_log(path)

    def head(self) -> Head:
        """What the log says of its own end. Raises `LogDamaged`."""
        found = self._query("SELECT seq, checksum FROM head")
        if len(found) != 1 or not (isinstance(found[0][0], int) and isinstance(found[0][1], bytes)):
            raise LogDamaged(f"the log {self.path} is damaged: its head is missing; restore it from a copy")
        return Head(*found[0])

    def counts(self) -> dict[str, int]:
        """How many facts of each type, in the order of their first appearance. Raises `LogDamaged`."""
        counts: dict[str, int] = {}
        for tally in self.tallies():
            counts[tally.type] = counts.get(tally.type, 0) + tally.facts
        return counts

    def tallies(self) -> list[Tally]:
        """How many facts of each type and role, in the order of their first appearance. Raises `LogDamaged`."""
        query = "SELECT type, role, count(*), min(seq), max(seq) FROM facts INDEXED BY facts_by_type GROUP BY type, role"
        return sorted((Tally(*found) for found in self._query(query)), key=lambda tally: tally.first)

    def gaps(self) -> list[tuple[int, int]]:
        """The numbers that are missing between 1 and the head, as (first, last), from an index alone. Raises `LogDamaged`."""
        head = self.head().seq
        ends = "SELECT count(*), (SELECT coalesce(max(seq), 0) FROM facts) FROM facts INDEXED BY facts_by_type"
        count, last = self._query(ends)[0]
        if count == head == last:
            return []
        there = bytearray(last + 1)
        for (seq,) in self._stream("SELECT seq FROM facts INDEXED BY facts_by_type WHERE seq > 0"):
            there[seq] = 1
        there[0] = 1
        gaps, end = [], 0
        while (begin := there.find(0, end)) != -1:
            end = there.find(1, begin)  # there is one: the last row
            gaps.append((begin, end - 1))
        return [*gaps, (last + 1, head)] if head > last else gaps

    def span(self) -> tuple[int, int, int, int]:
        """First and last sequence number, first and last journal time in ns; zeros when empty. Raises `LogDamaged`."""
        ends = "(SELECT min(seq) FROM facts), (SELECT max(seq) FROM facts)"
        found = self._query(f"SELECT seq, time_ns FROM facts WHERE seq IN ({ends}) ORDER BY seq")
        return (found[0][0], found[-1][0], found[0][1], found[-1][1]) if found else (0, 0, 0, 0)

    def cursors(self) -> dict[str, int]:
        """Each subscriber's cursor, and the notes that services keep beside them under names with a slash.

        Raises `LogDamaged`.
        """
        return dict(self._query("SELECT subscriber, seq FROM cursors ORDER BY subscriber"))

    def handled_from(self) -> int:
        """Facts up to this number are context: seen and not worked on when the log is re-run. 0 in a whole log.

        Raises `LogDamaged`.
        """
        found = self._meta(HANDLED_FROM)
        return int(found) if found and found.isdecimal() else 0

    def origin(self) -> Origin | None:
        """What this log is a part of; None for a whole log. Raises `LogDamaged`."""
        found = self._meta(ORIGIN)
        try:
            return msgspec.json.decode(found, type=Origin) if found else None
        except msgspec.DecodeError as error:
            raise LogDamaged(f"the log {self.path} is damaged: it does not say what it is a part of: {error}") from error

    def being_written(self) -> bool:
        """Whether a broker holds the log just now."""
        return is_held(self.path.with_name(self.path.name + ".lock"))

    def checksums(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """The stored checksums of these facts, as far as they can be read; at most some hundred at a time."""
        try:
            return dict(self._query(f"SELECT seq, checksum FROM facts WHERE {among('seq', len(numbers))}", *numbers))
        except LogDamaged:
            return {}

    def with_id(self, fact_id: str) -> Row | None:
        """The fact of that id, or None. Raises `LogDamaged`."""
        found = self._query(f"SELECT {ROW} FROM facts WHERE id = ?", fact_id)
        return self._row(found[0]) if found else None

    def with_ids_like(self, beginning: str, limit: int) -> list[Row]:
        """Facts whose ids begin so, at most `limit`, in the order of their ids. Raises `LogDamaged`."""
        query = f"SELECT {ROW} FROM facts WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [self._row(found) for found in self._query(query, beginning, beginning + "\U0010ffff", limit)]

    def containing(self, text: str, types: Collection[str]) -> list[Row]:
        """Facts of these types whose bytes hold `text` somewhere, in the order of the log. Raises `LogDamaged`."""
        wanted = Selection(types).condition()
        query = f"SELECT {ROW} FROM facts INDEXED BY facts_by_type WHERE {wanted.text} AND instr(payload, ?) > 0"
        found = self._query(query, *wanted.values, text.encode())
        return sorted((self._row(each) for each in found), key=lambda row: row.seq)

    def first_since(self, time_ns: int) -> int | None:
        """The first fact, in the order of the log, that was journalled at `time_ns` or later; None when none was."""
        first: int | None = self._query("SELECT min(seq) FROM facts WHERE time_ns >= ?", time_ns)[0][0]
        return first

    def rows(
        self,
        after: int = 0,
        *,
        until: int | None = None,
        types: Collection[str] | None = None,
        lineage: str | None = None,
        roles: Collection[str] | None = None,
        lineages: Collection[str] | None = None,
        on_damage: OnDamage | None = None,
    ) -> Iterator[Row]:
        """Rows above `after` up to and including `until` (None: the end as it is now), in order.

        `lineage` selects that unit of work and those below it (``s3`` also gives ``s3.c7``, not ``s30``), `lineages` several.
        Rows that cannot be read are reported to `on_damage` and passed over; without it they raise `LogDamaged`.
        """
        units = lineages if lineage is None else [lineage, *(lineages or ())]
        scan = Scan(self.path, self._stream, self.head, Selection(types, roles, units), on_damage)
        return scan.rows(after, until)

    def numbered(self, numbers: Sequence[int], on_damage: OnDamage | None = None) -> Iterator[Row]:
        """The rows of these ascending numbers, as far as they are there; damage as in `rows`."""
        return Scan(self.path, self._stream, self.head, Selection(), on_damage).numbered(numbers)

    def verify(self) -> Iterator[Problem]:
        """Everything wrong with the file, in the order of the log; nothing when it is whole."""
        return check(self, self._stream)

    def require_sound(self) -> None:
        """Raises `LogDamaged` unless every fact is there, in its place, as it was recorded.

        For whatever is made from a log and could not tell damage from what was said: a slice, a re-run, a run that goes on.
        """
        head = self.head()
        problem = next(problems(self.rows(until=head.seq), head), None)
        if problem is not None:
            raise LogDamaged(f"the log {self.path} is damaged: {problem.what}; `sagepace log verify` lists everything")

    def close(self) -> None:
        """Lets go of the file."""
        self._db.close()

    def _meta(self, key: str) -> str | None:
        found = self._query("SELECT value FROM meta WHERE key = ?", key)
        return str(found[0][0]) if found else None

    def _query(self, query: str, *values: Any) -> list[Any]:
        return list(self._stream(query, *values))

    def _stream(self, query: str, *values: Any) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, values)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise LogDamaged(f"the log {self.path} is damaged: {one_line(error)}; `sagepace log verify` says where") from error

    def _row(self, found: tuple[Any, ...]) -> Row:
        try:
            return row_of(found)
        except ValueError as error:
            raise LogDamaged(f"the log {self.path} is damaged: {error}; `sagepace log verify` says where") from error
