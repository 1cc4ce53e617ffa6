"""Wakes whoever waits for the log to grow; one per client."""

from __future__ import annotations

import asyncio

from shared.bus.port import BusClosed


class Bell:
    """Knows how long the log is, as far as anybody said. Belongs to one event loop."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._ended: BusClosed | None = None
        self._rung = asyncio.Event()

    def ring(self, head: int) -> None:
        """The log has `head` facts. An older, lower number changes nothing."""
        if head > self.head:
            self.head = head
            self._wake()

    def close(self, why: BusClosed) -> None:
        """Nobody will ring any more; whoever waits gets `why`."""
        self._ended = why
        self._wake()

    async def heard(self, after: int, timeout_s: float) -> bool:
        """Waits until the log is known to be longer than `after`; False when the time passed first."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.head <= after:
                    if self._ended is not None:
                        raise self._ended
                    await self._rung.wait()
        except TimeoutError:
            return self.head > after
        return True

    def _wake(self) -> None:
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()
