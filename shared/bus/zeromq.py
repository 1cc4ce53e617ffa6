"""The bus over ZeroMQ: the client of `shared.bus.broker`, over a `shared.bus.line`. Belongs to one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from shared.bus.address import parse_address
from shared.bus.bell import Bell
from shared.bus.keys import client_keys
from shared.bus.line import Line
from shared.bus.port import BusClosed, Page, Rewound
from shared.bus.wire import (
    AskCursor,
    AskHead,
    AskStatus,
    At,
    Control,
    Doorbell,
    MoveCursor,
    Publish,
    Read,
    Rows,
    Status,
)
from shared.codec import decode, encode
from shared.errors import BadInput
from shared.eventlog.entry import check_sizes
from shared.messages import Fact

PATIENCE_S = 60.0
"""Outlasts a restart of the broker, and a link that is cut for 20 s, by far."""
POLL_S = 1.0
"""How often `news` asks for the log's length itself, in case a doorbell was lost."""


class ZmqBus:
    """Implements `shared.bus.port.Bus` against a broker process."""

    def __init__(self, address: str, *, patience_s: float = PATIENCE_S, keys: Path | None = None) -> None:
        """`patience_s`: how long a broker may be unreachable before `BusClosed`; `keys`: the folder of `shared.bus.keys`.

        Raises `BadInput` for a bad address, and where keys are needed and there are none that can be used.
        """
        place = parse_address(address)
        if place.everywhere:
            raise BadInput(f"the bus address {address} is one to listen on: give the name or number of the broker's host")
        self._line = Line(place, client_keys(place, keys), patience_s, self._hear)
        self._bell = Bell()
        self._known = Doorbell(0, {})
        self._epoch: int | None = None
        self._rewound = False

    async def publish(self, facts: Sequence[Fact]) -> None:
        """Appends the facts as one group; returns when they are on disk.

        Raises `shared.eventlog.entry.Refused` when the log will not take them, `BusClosed` when the broker is gone.
        """
        self._check_past()
        if facts:
            payloads = [encode(fact) for fact in facts]
            # Looked at here already: the broker would cut the connection of whoever sends an oversized message.
            check_sizes(payloads)
            await self._line.ask(Publish(payloads))

    async def read(self, after: int, types: Iterable[type[Fact]] | None = None, limit: int = 512) -> Page:
        """The wanted facts above `after`, at most `limit`. The last doorbell may tell, without asking, that there are none.

        Raises `Rewound` once a replay was moved back, until `rejoin`.
        """
        self._check_past()
        names = None if types is None else sorted(fact_type.__name__ for fact_type in types)
        known = self._known
        if names is not None and known.head > after and all(known.latest.get(name, 0) <= after for name in names):
            return Page((), known.head)
        reply = await self._line.ask(Read(after, names, limit))
        assert isinstance(reply, Rows)
        self._belongs(reply.epoch)
        facts = [(seq, decode(payload)) for seq, _, payload in reply.rows]
        return Page(facts, reply.upto, [time_ns for _, time_ns, _ in reply.rows])

    async def news(self, after: int, timeout_s: float) -> bool:
        """Waits until the log is longer than `after`; False when the time passed first. Raises `Rewound` as `read` does."""
        self._line.open()
        self._check_past()
        deadline = time.monotonic() + timeout_s
        while not await self._bell.heard(after, max(0.0, min(POLL_S, deadline - time.monotonic()))):
            if (left := deadline - time.monotonic()) <= 0:
                return False
            try:
                async with asyncio.timeout(left):
                    reply = await self._line.ask(AskHead())
            except TimeoutError:
                return False
            assert isinstance(reply, At)
            self._belongs(reply.epoch)
            self._bell.ring(reply.seq)
        return True

    async def cursor(self, subscriber: str) -> int:
        """Where this subscriber stands."""
        self._check_past()
        reply = await self._line.ask(AskCursor(subscriber))
        assert isinstance(reply, At)
        return reply.seq

    async def move_cursor(self, subscriber: str, seq: int) -> None:
        """The subscriber handled everything up to `seq`; returns when that is on disk."""
        self._check_past()
        await self._line.ask(MoveCursor(subscriber, seq))

    async def status(self) -> Status:
        """What this bus is (live, or a replay) and how it stands."""
        reply = await self._line.ask(AskStatus())
        assert isinstance(reply, Status)
        return reply

    async def control(self, command: str, value: float = 0.0) -> None:
        """Moves a replay; see `console.replay.control`. Raises `Refused` on a live bus and for what makes no sense."""
        await self._line.ask(Control(command, value))

    async def rejoin(self) -> None:
        """After `Rewound`: the client forgets the past that it had read; its caller reads again from the beginning."""
        reply = await self._line.ask(AskHead())
        assert isinstance(reply, At)
        self._epoch, self._rewound = reply.epoch, False
        self._known, self._bell = Doorbell(0, {}, reply.epoch), Bell(reply.seq)

    async def close(self) -> None:
        """Closes the sockets; whoever still waits gets `BusClosed`."""
        self._bell.close(BusClosed("this bus was closed while somebody waited for news"))
        await self._line.close()

    def _check_past(self) -> None:
        if self._rewound:
            raise Rewound()

    def _belongs(self, epoch: int) -> None:
        """Whether what was heard belongs to the past that this client reads. Raises `Rewound`, for good when time moved back.

        A live bus has one past, epoch 0. A lower epoch is an answer from before a `rejoin`.
        """
        if self._epoch is None:
            self._epoch = epoch
        elif epoch > self._epoch and not self._rewound:
            self._rewound = True
            self._bell.close(Rewound())
        if epoch != self._epoch:
            raise Rewound()

    def _hear(self, doorbell: Doorbell) -> None:
        try:
            self._belongs(doorbell.epoch)
        except Rewound:
            return
        if doorbell.head > self._known.head:
            self._known = doorbell
            self._bell.ring(doorbell.head)
