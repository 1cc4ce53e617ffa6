"""The bus within one event loop: for tests, and for running roles without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from shared.bus.bell import Bell
from shared.bus.port import BusClosed, Page
from shared.codec import decode, encode
from shared.eventlog.entry import entries_of
from shared.eventlog.port import Journal
from shared.messages import Fact


class InProcessBus:
    """Implements `shared.bus.port.Bus` over any journal, which it closes with itself.

    Facts pass through the codec as they would on the wire, so that what a broker would refuse is refused here too.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._bell = Bell(journal.head)
        self._closed = False

    async def publish(self, facts: Sequence[Fact]) -> None:
        """Appends the facts as one group. Raises `shared.eventlog.entry.Refused` for an unnamed or oversized fact."""
        self._check()
        if facts:
            self._journal.append(entries_of([encode(fact) for fact in facts]))
            self._bell.ring(self._journal.head)
        await asyncio.sleep(0)

    async def read(self, after: int, types: Iterable[type[Fact]] | None = None, limit: int = 512) -> Page:
        """The wanted facts above `after`, at most `limit`."""
        self._check()
        names = None if types is None else {fact_type.__name__ for fact_type in types}
        found = self._journal.read(after, names, limit)
        await asyncio.sleep(0)
        facts = [(seq, decode(payload)) for seq, _, payload in found.rows]
        return Page(facts, found.upto, [time_ns for _, time_ns, _ in found.rows])

    async def news(self, after: int, timeout_s: float) -> bool:
        """Waits until the log is longer than `after`; False when the time passed first."""
        self._check()
        return await self._bell.heard(after, timeout_s)

    async def cursor(self, subscriber: str) -> int:
        """Where this subscriber stands."""
        self._check()
        return self._journal.cursor(subscriber)

    async def move_cursor(self, subscriber: str, seq: int) -> None:
        """The subscriber handled everything up to `seq`."""
        self._check()
        self._journal.append([], {subscriber: seq})

    async def close(self) -> None:
        """Closes the journal and wakes whoever waits with `BusClosed`."""
        if not self._closed:
            self._closed = True
            self._bell.close(BusClosed("this bus was closed while somebody waited for news"))
            self._journal.close()

    def _check(self) -> None:
        if self._closed:
            raise BusClosed("this bus was closed")
