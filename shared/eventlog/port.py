"""What a bus needs of a log. Adapters: `shared.eventlog.memory` (tests) and `shared.eventlog.sqlite` (real)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from shared.eventlog.entry import Entry

PAGE_BYTES = 4 << 20
"""A stretch ends soon after this many bytes, so that no reply grows without bound."""

NO_CURSORS: Mapping[str, int] = {}


class JournalFault(Exception):
    """The log cannot be written any more (disk full, read-only, gone). What was not acknowledged is not in it."""


class Stretch(NamedTuple):
    """Wanted rows of the log as (seq, time_ns, payload); `upto` is the last sequence number looked at."""

    rows: list[tuple[int, int, bytes]]
    upto: int


class Journal(Protocol):
    """Facts numbered 1, 2, 3, ... without gaps, each id once, and each subscriber's cursor. One writer."""

    @property
    def head(self) -> int:
        """The last sequence number; 0 when the log is empty."""

    @property
    def latest(self) -> Mapping[str, int]:
        """By fact type, the last sequence number of that type."""

    def append(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """`stage`, `commit` and `settle`: writes the entries in order and moves the cursors; durable on return.

        Raises `JournalFault` when nothing was written.
        """

    def stage(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """Writes the entries in order and moves the cursors, all in one transaction that stays open until `commit`.

        An entry whose id is known is skipped; a cursor never moves back. Raises `JournalFault` when nothing was written.
        """

    def commit(self) -> None:
        """Makes what is staged durable. May be called in another thread: meanwhile the journal may be read, and no more.

        Raises `JournalFault` when nothing was written.
        """

    def settle(self) -> None:
        """What was committed can be read from now on, and counts."""

    def read(self, after: int, types: Collection[str] | None, limit: int) -> Stretch:
        """Rows above `after` of these types (None: all), at most `limit`.

        May look at only a part of the log at once: `upto` says how far, even when nothing was found. Raises `Refused` when
        the stored rows cannot be read.
        """

    def cursor(self, subscriber: str) -> int:
        """The subscriber's cursor; 0 when it has none."""

    def close(self) -> None:
        """Lets go of the files."""


def gather(rows: Iterable[tuple[int, int, str, bytes]], types: Collection[str] | None, limit: int, end: int) -> Stretch:
    """The stretch made of the wanted `rows` (seq, time_ns, type, payload) until `limit` or `PAGE_BYTES`; `end` is where the
    rows end."""
    found: list[tuple[int, int, bytes]] = []
    size = 0
    for seq, time_ns, type_name, payload in rows:
        if types is not None and type_name not in types:
            continue
        found.append((seq, time_ns, payload))
        size += len(payload)
        if len(found) >= limit or size >= PAGE_BYTES:
            return Stretch(found, seq)
    return Stretch(found, end)
