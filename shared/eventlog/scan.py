"""Walks through a log: a stretch at a time, by an index where that is quicker, and around places that cannot be read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from shared.errors import BadInput
from shared.eventlog.carve import Carver
from shared.eventlog.entry import Row, row_of
from shared.eventlog.opening import one_line
from shared.eventlog.schema import ROW, among
from shared.eventlog.selection import Selection
from shared.eventlog.verify import Head, Problem

CHUNK = 500
"""Rows per query. A reader that held one long query open would keep the writer from trimming its write-ahead log."""
NEAR = 8 * CHUNK
"""A shorter stretch is looked at row by row; in a longer one an index finds what is wanted."""

OnDamage = Callable[[Problem], None]


class LogDamaged(BadInput):
    """The file is a log, but this part of it cannot be read."""


Ask = Callable[..., Iterator[Any]]
"""Puts a query with the values of its parameters and gives its rows as they come. Raises `LogDamaged`."""


class _Stretch(NamedTuple):
    """Rows that one query gives: those above `after` up to `last` that are wanted, or those of the `numbers`."""

    after: int
    last: int
    numbers: Sequence[int] | None = None


class Scan:
    """One walk through one log."""

    def __init__(
        self, path: Path, ask: Ask, head: Callable[[], Head], selection: Selection, on_damage: OnDamage | None
    ) -> None:
        """What cannot be read is reported to `on_damage` and passed over; without it the walk ends with `LogDamaged`."""
        self._path = path
        self._ask = ask
        self._head = head
        self._selection = selection
        self._on_damage = on_damage
        condition = selection.condition()
        self._values = condition.values
        # NOT INDEXED: SQLite would otherwise look up a type's rows in the whole log to find those of one stretch.
        self._between = f"SELECT {ROW} FROM facts NOT INDEXED WHERE seq > ? AND seq <= ? AND {condition.text} ORDER BY seq"

    def rows(self, after: int, until: int | None) -> Iterator[Row]:
        """The wanted rows above `after` up to and including `until` (None: the end as it is now), in order."""
        end = self._end()
        last = end if until is None else min(until, end)
        row_by_row = self._selection.is_all or last - after <= NEAR
        yield from self._walk(_cut(after, last) if row_by_row else self._chosen(after, last))

    def numbered(self, numbers: Sequence[int]) -> Iterator[Row]:
        """The rows of these ascending numbers, as far as they are there; the selection plays no part."""
        yield from self._walk(_parted(numbers))

    def _walk(self, stretches: Iterable[_Stretch]) -> Iterator[Row]:
        for stretch in stretches:
            try:
                chunk = self._read(stretch)
            except LogDamaged:
                if self._on_damage is None:
                    raise
                chunk = self._salvage(stretch, self._on_damage)
            yield from chunk

    def _end(self) -> int:
        """The last row's number. Where damage is passed over, neither a damaged head nor a lost last row stands in the way."""
        if self._on_damage is None:
            return min(self._head().seq, self._last_row())
        try:
            head = self._head().seq
        except LogDamaged as error:
            self._on_damage(Problem(0, str(error)))
            return self._last_row()
        try:
            there = self._last_row()
        except LogDamaged:
            return head
        # Rows that were lost at the end are to be missed, but a head that leads far beyond all that can be there is false.
        return head if head - there <= self._path.stat().st_size else there

    def _last_row(self) -> int:
        last: int = next(iter(self._ask("SELECT coalesce(max(seq), 0) FROM facts")))[0]
        return last

    def _chosen(self, after: int, last: int) -> Iterator[_Stretch]:
        """Stretches of wanted numbers, found by an index; all of them where the index cannot be read."""
        numbers = array("q")
        try:
            for query in self._selection.numbers():
                found = self._ask(f"{query.text} AND seq > ? AND seq <= ?", *query.values, after, last)
                numbers.extend(seq for (seq,) in found)
        except LogDamaged:
            if self._on_damage is None:
                raise
            yield from _cut(after, last)
            return
        ordered = array("q", sorted(set(numbers) if len(self._selection.lineages or ()) > 1 else numbers))
        yield from _parted(ordered)

    def _read(self, stretch: _Stretch) -> list[Row]:
        if stretch.numbers is None:
            found = self._ask(self._between, stretch.after, stretch.last, *self._values)
        else:
            wanted = among("seq", len(stretch.numbers))
            found = self._ask(f"SELECT {ROW} FROM facts WHERE {wanted} ORDER BY seq", *stretch.numbers)
        return [self._row(each) for each in found]

    def _salvage(self, stretch: _Stretch, on_damage: OnDamage) -> list[Row]:
        """The readable rows of a stretch in which something is not: one by one, then from the file's pages."""
        rows: dict[int, Row] = {}
        lost: dict[int, str] = {}
        for seq in stretch.numbers or range(stretch.after + 1, stretch.last + 1):
            try:
                rows |= {row.seq: row for row in self._read(_Stretch(seq - 1, seq))}
            except LogDamaged as error:
                lost[seq] = one_line(error.__cause__ or error)
        if lost:
            rows |= {seq: row for seq, row in self._carved(min(lost), max(lost)).items() if seq in lost}
        for first, last in _runs([seq for seq in lost if seq not in rows]):
            which = f"fact {first}" if first == last else f"facts {first} to {last}"
            on_damage(Problem(first, f"{which} cannot be read: {lost[first]}", 0 if first == last else last))
        return [rows[seq] for seq in sorted(rows)]

    def _carved(self, first: int, last: int) -> dict[int, Row]:
        try:
            with closing(Carver(self._path)) as carver:
                found = carver.find(first, last)
        except (OSError, ValueError):
            return {}
        return {seq: row for seq, row in found.items() if self._selection.takes(row)}

    def _row(self, found: tuple[Any, ...]) -> Row:
        try:
            return row_of(found)
        except ValueError as error:
            raise LogDamaged(f"the log {self._path} is damaged: {error}; `sagepace log verify` says where") from error


def _cut(after: int, last: int) -> Iterator[_Stretch]:
    for start in range(after, last, CHUNK):
        yield _Stretch(start, min(start + CHUNK, last))


def _parted(numbers: Sequence[int]) -> Iterator[_Stretch]:
    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        yield _Stretch(part[0] - 1, part[-1], part)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as runs of neighbours."""
    begin = 0
    for place, number in enumerate(numbers):
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            yield numbers[begin], number
            begin = place + 1
