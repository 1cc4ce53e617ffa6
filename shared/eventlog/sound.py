"""Rows that say what was recorded: each is held against its checksum as it is read, also where the row before is not wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from shared.eventlog.entry import GENESIS, Row, chained
from shared.eventlog.verify import Problem, content_problems

if TYPE_CHECKING:
    from shared.eventlog.reader import LogReader

_AT_ONCE = 256


def sound_rows(log: LogReader, rows: Iterable[Row], on_damage: Callable[[Problem], None]) -> Iterator[Row]:
    """Those of `rows` that are as they were recorded; the others are told to `on_damage`."""
    rest = iter(rows)
    last: Row | None = None
    while chunk := list(islice(rest, _AT_ONCE)):
        known = {row.seq: row.checksum for row in ([last] if last else []) + chunk}
        before = log.checksums([row.seq - 1 for row in chunk if row.seq > 1 and row.seq - 1 not in known])
        for row in chunk:
            previous = GENESIS if row.seq == 1 else known.get(row.seq - 1) or before.get(row.seq - 1)
            if _is_sound(log, row, previous):
                yield row
            else:
                on_damage(Problem(row.seq, f"fact {row.seq} ({row.type}) was changed: its checksum does not fit"))
        last = chunk[-1]


def _is_sound(log: LogReader, row: Row, previous: bytes | None) -> bool:
    """Whether the row fits its checksum. Where that of the row before is lost, what the row says twice must agree."""
    if previous is not None:
        if _fits(row, previous):
            return True
        if row.seq == 1 or _is_right(log, row.seq - 1, previous):
            return False
    return not list(content_problems(row))


def _is_right(log: LogReader, seq: int, checksum: bytes) -> bool:
    """Whether the stored checksum of a row is right, because it fits it; one that was changed must not accuse the next row."""
    row = next(log.rows(seq - 1, until=seq, on_damage=lambda _: None), None)
    before = GENESIS if seq == 1 else log.checksums([seq - 1]).get(seq - 1)
    return row is not None and row.checksum == checksum and before is not None and _fits(row, before)


def _fits(row: Row, previous: bytes) -> bool:
    return chained(previous, row.seq, row.time_ns, row.type, row.payload) == row.checksum
