"""A log in memory: the journal of tests and of runs nobody wants to keep."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from shared.eventlog.entry import Entry
from shared.eventlog.port import NO_CURSORS, Stretch, gather


class MemoryJournal:
    """Implements `shared.eventlog.port.Journal`; what it holds ends with the process."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._times: list[int] = []
        self._ids: set[str] = set()
        self._latest: dict[str, int] = {}
        self._cursors: dict[str, int] = {}
        self._staged: tuple[Sequence[Entry], Mapping[str, int]] = ((), NO_CURSORS)

    @property
    def head(self) -> int:
        """The last sequence number."""
        return len(self.entries)

    @property
    def latest(self) -> Mapping[str, int]:
        """By fact type, the last sequence number of that type."""
        return self._latest

    def append(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """Takes the entries whose ids are new, and moves the cursors forward."""
        self.stage(entries, cursors)
        self.settle()

    def stage(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """Keeps them until `settle`."""
        self._staged = entries, cursors

    def commit(self) -> None:
        """Nothing becomes durable here."""

    def settle(self) -> None:
        """Takes what was staged."""
        (entries, cursors), self._staged = self._staged, ((), NO_CURSORS)
        for entry in entries:
            if entry.id not in self._ids:
                self._ids.add(entry.id)
                self.entries.append(entry)
                self._times.append(time.time_ns())
                self._latest[entry.type] = self.head
        for subscriber, seq in cursors.items():
            self._cursors[subscriber] = max(seq, self.cursor(subscriber))

    def read(self, after: int, types: Collection[str] | None, limit: int) -> Stretch:
        """Rows above `after` of these types, at most `limit`."""
        rows = (
            (seq + 1, self._times[seq], self.entries[seq].type, self.entries[seq].payload) for seq in range(after, self.head)
        )
        return gather(rows, types, limit, max(after, self.head))

    def cursor(self, subscriber: str) -> int:
        """The subscriber's cursor; 0 when it has none."""
        return self._cursors.get(subscriber, 0)

    def close(self) -> None:
        """Nothing to let go of."""
