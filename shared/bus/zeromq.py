"""The bus over ZeroMQ: the client of `shared.bus.broker`. Belongs to one event loop; sockets are made on first use.

Requests carry a number and are sent again, under the same number, until an answer comes: every request may safely arrive twice.
One task owns the receiving side of each socket; others wait for futures, so that no receive is ever cancelled half-way.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Sequence

import zmq
import zmq.asyncio

from shared.bus.address import parse_address
from shared.bus.bell import Bell
from shared.bus.port import BusClosed, Page
from shared.bus.wire import (
    AskCursor,
    AskHead,
    At,
    BadMessage,
    Doorbell,
    MoveCursor,
    Publish,
    Read,
    Refusal,
    Reply,
    Request,
    Rows,
    doorbell_of,
    pack,
    reply_of,
)
from shared.codec import decode, encode
from shared.eventlog.entry import Refused, check_sizes
from shared.messages import Fact
from shared.retry import bus_attempts

RESEND_S = 1.0
"""A request without an answer for this long is sent again; a restarted broker lost what it had not yet acknowledged."""
POLL_S = 1.0
"""How often `news` asks for the log's length itself, in case a doorbell was lost."""
IN_FLIGHT = 256
"""Requests of one client under way at once; more of them wait here, so that no queue in the sockets ever fills up."""
DRAIN = 256
"""Replies taken in one go before other tasks get their turn."""


class ZmqBus:
    """Implements `shared.bus.port.Bus` against a broker process."""

    def __init__(self, address: str, *, patience_s: float = 30.0) -> None:
        """`patience_s`: how long a broker may be unreachable before `BusClosed`. Raises `BadInput` for a bad address."""
        self._address = parse_address(address)
        self._patience_s = patience_s
        self._context: zmq.asyncio.Context | None = None
        self._closed = False
        self._numbers = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[Reply]] = {}
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._bell = Bell()
        self._known = Doorbell(0, {})
        self._tasks: list[asyncio.Task[None]] = []

    async def publish(self, facts: Sequence[Fact]) -> None:
        """Appends the facts as one group; returns when they are on disk.

        Raises `shared.eventlog.entry.Refused` when the log will not take them, `BusClosed` when the broker is gone.
        """
        if facts:
            payloads = [encode(fact) for fact in facts]
            # Looked at here already: the broker would cut the connection of whoever sends an oversized message.
            check_sizes(payloads)
            await self._ask(Publish(payloads))

    async def read(self, after: int, types: Iterable[type[Fact]] | None = None, limit: int = 512) -> Page:
        """The wanted facts above `after`, at most `limit`. The last doorbell may tell, without asking, that there are none."""
        names = None if types is None else sorted(fact_type.__name__ for fact_type in types)
        known = self._known
        if names is not None and known.head > after and all(known.latest.get(name, 0) <= after for name in names):
            return Page((), known.head)
        reply = await self._ask(Read(after, names, limit))
        assert isinstance(reply, Rows)
        return Page([(seq, decode(payload)) for seq, payload in reply.rows], reply.upto)

    async def news(self, after: int, timeout_s: float) -> bool:
        """Waits until the log is longer than `after`; False when the time passed first."""
        self._open()
        deadline = time.monotonic() + timeout_s
        while not await self._bell.heard(after, max(0.0, min(POLL_S, deadline - time.monotonic()))):
            if (left := deadline - time.monotonic()) <= 0:
                return False
            try:
                async with asyncio.timeout(left):
                    reply = await self._ask(AskHead())
            except TimeoutError:
                return False
            assert isinstance(reply, At)
            self._bell.ring(reply.seq)
        return True

    async def cursor(self, subscriber: str) -> int:
        """Where this subscriber stands."""
        reply = await self._ask(AskCursor(subscriber))
        assert isinstance(reply, At)
        return reply.seq

    async def move_cursor(self, subscriber: str, seq: int) -> None:
        """The subscriber handled everything up to `seq`; returns when that is on disk."""
        await self._ask(MoveCursor(subscriber, seq))

    async def close(self) -> None:
        """Closes the sockets; whoever still waits gets `BusClosed`."""
        self._closed = True
        self._bell.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(
                    BusClosed(f"the bus at {self._address.text} was closed here while a request was under way")
                )
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._context is not None:
            self._context.destroy(linger=0)

    async def _ask(self, request: Request) -> Reply:
        """The broker's answer, however often it has to be asked. Raises `Refused` or `BusClosed`."""
        self._open()
        number = next(self._numbers).to_bytes(8, "big")
        frames = [number, pack(request)]
        async with self._room:
            future = self._waiting[number] = asyncio.get_running_loop().create_future()
            start = time.monotonic()
            try:
                async for attempt in bus_attempts(self._patience_s):
                    with attempt:
                        reply = await self._answered(frames, future)
            except TimeoutError as error:
                tried = f"for {time.monotonic() - start:.0f} s"
                raise BusClosed(f"no answer from the bus at {self._address.text} {tried}: is the broker running?") from error
            finally:
                del self._waiting[number]
        if isinstance(reply, Refusal):
            raise Refused(reply.reason)
        return reply

    async def _answered(self, frames: list[bytes], future: asyncio.Future[Reply]) -> Reply:
        """Sends once and waits a while. The future outlives a `TimeoutError`: a late answer to an earlier try counts too."""
        if self._closed:
            raise BusClosed(f"the bus at {self._address.text} was closed here")
        if not future.done():
            try:
                await self._dealer.send_multipart(frames)
            except zmq.Again as error:
                raise TimeoutError from error
            await asyncio.wait({future}, timeout=RESEND_S)
        if not future.done():
            raise TimeoutError
        return future.result()

    def _open(self) -> None:
        if self._closed:
            raise BusClosed(f"the bus at {self._address.text} was closed here")
        if self._context is not None:
            return
        self._context = zmq.asyncio.Context()
        self._dealer = self._connected(self._context, zmq.DEALER, self._address.requests)
        news = self._connected(self._context, zmq.SUB, self._address.news)
        self._tasks = [asyncio.create_task(self._hear_replies()), asyncio.create_task(self._hear_news(news))]

    def _connected(self, context: zmq.asyncio.Context, kind: int, endpoint: str) -> zmq.asyncio.Socket:
        socket = context.socket(kind)
        socket.linger = 0
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        if self._address.path is None:
            socket.setsockopt(zmq.HEARTBEAT_IVL, 2000)
            socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 10_000)
        if kind == zmq.DEALER:
            # Nothing is handed to a connection that is not there; what is not sent within the time is tried again.
            socket.setsockopt(zmq.IMMEDIATE, 1)
            socket.setsockopt(zmq.SNDTIMEO, int(RESEND_S * 1000))
        else:
            socket.setsockopt(zmq.CONFLATE, 1)
            socket.setsockopt(zmq.SUBSCRIBE, b"")
        socket.connect(endpoint)
        return socket

    async def _hear_replies(self) -> None:
        """Owns the receiving side of the DEALER: waits once, then takes what is there without waiting."""
        plain: zmq.Socket[bytes] = zmq.Socket.shadow(self._dealer)
        while True:
            self._settle(await self._dealer.recv_multipart())
            for _ in range(DRAIN):
                try:
                    frames = plain.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._settle(frames)
            await asyncio.sleep(0)

    def _settle(self, frames: list[bytes]) -> None:
        """Gives a reply to whoever waits for it; an answer to a request that was answered already is nobody's."""
        future = self._waiting.get(frames[0])
        if future is None or future.done():
            return
        try:
            future.set_result(reply_of(frames[-1]))
        except BadMessage as error:
            future.set_exception(Refused(f"the broker's answer cannot be read: {error}; do both run the same version?"))

    async def _hear_news(self, news: zmq.asyncio.Socket) -> None:
        """Owns the SUB. What cannot be read is passed over: `news` asks by itself every second."""
        while True:
            try:
                doorbell = doorbell_of(await news.recv())
            except BadMessage:
                continue
            if doorbell.head > self._known.head:
                self._known = doorbell
                self._bell.ring(doorbell.head)
