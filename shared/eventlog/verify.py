"""Is a log whole? Finds missing rows, changed bytes and false numbers, and says so in words. Pure: rows in, problems out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from shared.codec import BadFact, decode
from shared.eventlog.entry import GENESIS, Row, chained
from shared.flow import author


class Problem(msgspec.Struct, frozen=True):
    """Something wrong with the log; `seq` is the fact concerned, 0 when it is the file as a whole."""

    seq: int
    what: str
    last: int = 0
    """The last fact concerned, where there are several in a row."""

    def covers(self, other: Problem) -> bool:
        """Whether it says of all facts that `other` is about what is wrong with them."""
        return self.seq <= other.seq and max(other.seq, other.last) <= max(self.seq, self.last)


class Head(NamedTuple):
    """What the log says of its own end: the last fact's number and checksum."""

    seq: int
    checksum: bytes


def problems(rows: Iterable[Row], head: Head, start: int = 0) -> Iterator[Problem]:
    """Everything wrong with `rows`, which are all rows above `start` in order.

    A row is held against the *stored* checksum of the row before, so that one changed byte accuses one row (a changed checksum
    accuses two). After a gap, and for a first row above 1, there is nothing to hold the row against.
    """
    last = start
    previous = GENESIS if start == 0 else None
    for row in rows:
        if row.seq > last + 1:
            yield missing(last + 1, row.seq - 1)
            previous = None
        elif row.seq <= last:
            yield Problem(row.seq, f"fact {row.seq} stands after fact {last}")
        if previous is not None and chained(previous, row.seq, row.time_ns, row.type, row.payload) != row.checksum:
            yield Problem(row.seq, f"fact {row.seq} ({row.type}) was changed: its checksum does not fit it and the fact before")
        yield from content_problems(row)
        last, previous = row.seq, row.checksum
    if last < head.seq:
        yield missing(last + 1, head.seq)
    elif last > head.seq:
        yield Problem(last, f"the log goes on to fact {last}, but its head says {head.seq}")
    elif previous is not None and previous != head.checksum:
        yield Problem(last, f"the head's checksum is not that of the last fact, {last}")


def missing(first: int, last: int) -> Problem:
    """Facts that are not there, by their numbers."""
    if first == last:
        return Problem(first, f"fact {first} is missing")
    return Problem(first, f"facts {first} to {last} are missing", last)


def content_problems(row: Row) -> Iterator[Problem]:
    """Whether the payload is a fact and the searchable columns say what it says."""
    try:
        fact = decode(row.payload)
    except BadFact as error:
        yield Problem(row.seq, f"fact {row.seq} ({row.type}) cannot be decoded: {error}")
        return
    said = (row.id, row.type, row.role, row.cause, row.lineage)
    if said != (fact.id, type(fact).__name__, author(fact), fact.cause, fact.lineage):
        yield Problem(
            row.seq, f"fact {row.seq} ({row.type}): a column (id, type, role, cause or lineage) differs from the fact itself"
        )
