"""The newest facts of a log, kept in memory within two bounds, since nearly all reads want only those."""

from __future__ import annotations

from collections.abc import Collection

from shared.eventlog.port import Stretch, gather


class Tail:
    """A gapless run of the newest rows. `holds(seq)` tells whether reading may start there."""

    def __init__(self, max_facts: int = 20_000, max_bytes: int = 64 << 20) -> None:
        self._max_facts = max_facts
        self._max_bytes = max_bytes
        self._rows: dict[int, tuple[int, str, bytes]] = {}
        self._bytes = 0
        self._first = 0
        self._last = 0

    def push(self, seq: int, time_ns: int, type_name: str, payload: bytes) -> None:
        """Adds the next row and forgets the oldest ones beyond the bounds."""
        if not self._rows:
            self._first = seq
        self._rows[seq] = (time_ns, type_name, payload)
        self._last = seq
        self._bytes += len(payload)
        while len(self._rows) > self._max_facts or (self._bytes > self._max_bytes and len(self._rows) > 1):
            self._bytes -= len(self._rows.pop(self._first)[2])
            self._first += 1

    def holds(self, seq: int) -> bool:
        """Whether this row and all after it are here."""
        return seq in self._rows

    def read(self, after: int, types: Collection[str] | None, limit: int) -> Stretch:
        """The wanted rows above `after`; call it only if `holds(after + 1)`."""
        rows = ((seq, *self._rows[seq]) for seq in range(after + 1, self._last + 1))
        return gather(rows, types, limit, self._last)
