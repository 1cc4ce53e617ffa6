"""What a role's runtime needs of a bus. Adapters: `shared.bus.inprocess` (one process) and `shared.bus.zeromq` (real)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from shared.errors import BadInput
from shared.messages import Fact


class Page(NamedTuple):
    """A stretch of the log. ``upto`` is the last sequence number looked at, whether or not its fact was wanted."""

    facts: Sequence[tuple[int, Fact]]
    upto: int
    times: Sequence[int] = ()
    """When each of ``facts`` was journalled, in ns since the UNIX epoch."""


class BusClosed(Exception):
    """The bus cannot be reached any more; the message says which and for how long it was tried."""


class HandshakeRefused(BusClosed, BadInput):
    """Something answers at the bus's address and will not have this client: for its keys, or because it is no bus."""


class Rewound(BusClosed):
    """A replay was moved back: what this client has read is no longer the past, so it has to begin anew."""

    def __init__(self) -> None:
        super().__init__("the replay was moved back; start this service again")


class Bus(Protocol):
    """A totally ordered, durable log with news.

    Guarantees: sequence numbers are 1, 2, 3, ... without gaps; `publish` returns only when every fact is on disk, and
    publishing a fact again (same id) changes nothing; `read` gives facts in the order of the log.
    """

    async def publish(self, facts: Sequence[Fact]) -> None:
        """Appends the facts in order, as one atomic group; returns after the acknowledgement. Facts must be named."""

    async def read(self, after: int, types: Iterable[type[Fact]] | None = None, limit: int = 512) -> Page:
        """The wanted facts with sequence numbers above `after` (None: all types), at most `limit` of them."""

    async def news(self, after: int, timeout_s: float) -> bool:
        """Waits until the log is longer than `after`. False when the time passed first."""

    async def cursor(self, subscriber: str) -> int:
        """Where this subscriber said that it had handled everything; 0 when it never did."""

    async def move_cursor(self, subscriber: str, seq: int) -> None:
        """Remembers, durably, that the subscriber handled everything up to `seq`."""

    async def close(self) -> None:
        """Lets go of sockets and files."""
