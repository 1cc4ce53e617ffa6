"""The line from one client to its bus: requests and their answers, the doorbell, and what the handshakes tell. One event loop.

Requests carry a number and are sent again, under the same number, until an answer comes: every request may safely arrive twice.
Who asks waits for a future; the sockets are plain ones, and the event loop itself is told when something comes in. ZeroMQ says
so once and not again, so whatever is there is taken until nothing is left, and looked for after every send.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import zmq
from zmq.utils.monitor import parse_monitor_message

from shared.bus.address import Address
from shared.bus.handshakes import Handshakes, Outcome
from shared.bus.keys import ClientKeys
from shared.bus.port import BusClosed, HandshakeRefused
from shared.bus.sockets import prepare_client
from shared.bus.wire import BadMessage, Doorbell, Read, Refusal, Reply, Request, doorbell_of, numbers_of, pack, reply_of
from shared.eventlog.entry import Refused
from shared.retry import bus_attempts

RESEND_S = 1.0
"""A request without an answer for this long is sent again, and then after twice as long each time, in case a frame was dropped.
Whatever a broker lost by a restart is sent again as soon as the connection is back."""
RESEND_MAX_S = 4.0
UNSENT_S = 0.25
"""While there is no connection, one is looked for again after so long, unless one is made sooner."""
IN_FLIGHT = 256
"""Requests of one client under way at once; more of them wait here, so that no queue in the sockets ever fills up."""
READS_IN_FLIGHT = 8
"""Of these, requests whose answers may be large."""
DRAIN = 256
"""Messages taken in one go before other tasks get their turn."""
_OUTCOMES: dict[int, Outcome] = {
    zmq.EVENT_HANDSHAKE_SUCCEEDED: Outcome.SUCCEEDED,
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: Outcome.KEY_REFUSED,
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: Outcome.FOREIGN,
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: Outcome.HUNG_UP,
}


class Line:
    """Sockets are made on first use."""

    def __init__(self, address: Address, keys: ClientKeys | None, patience_s: float, heard: Callable[[Doorbell], None]) -> None:
        """`heard` gets every doorbell. `patience_s`: how long the bus may be unreachable before `BusClosed`."""
        self._address = address
        self._keys = keys
        self._patience_s = patience_s
        self._heard = heard
        self._loop: asyncio.AbstractEventLoop
        self._connected: asyncio.Future[None]
        """Done when a connection is made; then there is another one."""
        self._reconnected: asyncio.Future[None]
        """The same, but for the first connection, before which nothing was sent."""
        self._had_connection = False
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._ended: BusClosed | None = None
        self._handshakes = Handshakes(address.text, keyed=keys is not None)
        self._numbers = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[Reply]] = {}
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._room_to_read = asyncio.Semaphore(READS_IN_FLIGHT)
        self._listening: list[zmq.Socket[bytes]] = []

    def open(self) -> None:
        """Makes the sockets unless they are there. Raises `BusClosed` once the line has ended."""
        if self._ended is not None:
            raise self._ended
        if self._context is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._connected, self._reconnected = self._loop.create_future(), self._loop.create_future()
        self._context = zmq.Context()
        self._dealer, news = self._context.socket(zmq.DEALER), self._context.socket(zmq.SUB)
        # Nothing is handed to a connection that is not there.
        self._dealer.setsockopt(zmq.IMMEDIATE, 1)
        news.setsockopt(zmq.CONFLATE, 1)
        news.setsockopt(zmq.SUBSCRIBE, b"")
        for socket in (self._dealer, news):
            prepare_client(socket, self._address, self._keys)
        self._listen(self._dealer.get_monitor_socket(sum(_OUTCOMES)), self._hear_handshake)
        self._listen(self._dealer, self._settle)
        self._listen(news, self._hear_news)
        self._dealer.connect(self._address.requests)
        news.connect(self._address.news)

    async def ask(self, request: Request) -> Reply:
        """The bus's answer, however often it has to be asked. Raises `Refused` or `BusClosed`."""
        if isinstance(request, Read):
            async with self._room_to_read:
                return await self._ask(request)
        return await self._ask(request)

    async def close(self) -> None:
        """Closes the sockets; whoever still waits gets `BusClosed`."""
        if self._ended is None:
            self._end(BusClosed(f"the bus at {self._address.text} was closed here"))
        if self._context is not None and not self._context.closed:
            self._dealer.disable_monitor()
            for socket in self._listening:
                self._loop.remove_reader(socket)
                socket.close()
            self._context.destroy(linger=0)

    async def _ask(self, request: Request) -> Reply:
        async with self._room:
            self.open()
            number = next(self._numbers).to_bytes(8, "big")
            future = self._waiting[number] = self._loop.create_future()
            start = time.monotonic()
            try:
                reply = await self._patiently([number, pack(request)], future)
            except TimeoutError as error:
                tried = f"for {time.monotonic() - start:.0f} s"
                guess = self._handshakes.guess()
                raise BusClosed(f"no answer from the bus at {self._address.text} {tried}: {guess}") from error
            finally:
                del self._waiting[number]
        if isinstance(reply, Refusal):
            raise Refused(reply.reason)
        return reply

    async def _patiently(self, frames: list[bytes], future: asyncio.Future[Reply]) -> Reply:
        """Nearly always the first try is enough; the policy, which costs more than an answer takes, is for the others."""
        start = time.monotonic()
        with suppress(TimeoutError):
            return await self._answered(frames, future, min(RESEND_S, self._patience_s))
        async for attempt in bus_attempts(self._patience_s - (time.monotonic() - start)):
            with attempt:
                wait_s = min(RESEND_MAX_S, RESEND_S * 2.0**attempt.retry_state.attempt_number)
                left_s = self._patience_s - (time.monotonic() - start)
                return await self._answered(frames, future, min(wait_s, max(0.05, left_s)))
        raise AssertionError("the policy ends with an answer or an exception")

    async def _answered(self, frames: list[bytes], future: asyncio.Future[Reply], wait_s: float) -> Reply:
        """Sends once and waits a while. The future outlives a `TimeoutError`: a late answer to an earlier try counts too."""
        if not future.done():
            sent = self._sent(frames)
            either: set[asyncio.Future[Any]] = {future, self._reconnected if sent else self._connected}
            wait_s = wait_s if sent else min(wait_s, UNSENT_S)
            await asyncio.wait(either, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            raise TimeoutError
        return future.result()

    def _sent(self, frames: list[bytes]) -> bool:
        """Sends; False when there is no connection, or one that takes nothing."""
        try:
            self._dealer.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            return False
        if int(self._dealer.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            self._loop.call_soon(self._take, self._dealer, self._settle)
        return True

    def _end(self, why: BusClosed) -> None:
        """No answer will come any more: everybody who waits, and who asks later, gets `why`."""
        self._ended = why
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(why)

    def _listen(self, socket: zmq.Socket[bytes], heard: Callable[[Sequence[bytes]], None]) -> None:
        self._listening.append(socket)
        self._loop.add_reader(socket, self._take, socket, heard)
        # Whatever came in before somebody looked is not announced at all.
        self._loop.call_soon(self._take, socket, heard)

    def _take(self, socket: zmq.Socket[bytes], heard: Callable[[Sequence[bytes]], None]) -> None:
        """Takes what has come in, until nothing is left or others should have their turn."""
        for _ in range(DRAIN):
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            except zmq.ZMQError:
                if self._ended is None:  # else it was closed meanwhile
                    raise
                return
            heard(frames)
        self._loop.call_soon(self._take, socket, heard)

    def _settle(self, frames: Sequence[bytes]) -> None:
        """Gives a reply to whoever waits for it; an answer to a request that was answered already is nobody's."""
        waiting = [future for number in numbers_of(frames[0]) if (future := self._waiting.get(number)) and not future.done()]
        if not waiting:
            return
        try:
            reply = reply_of(frames[-1])
        except BadMessage as error:
            reply = Refusal(f"the broker's answer cannot be read: {error}; do both run the same version?")
        for future in waiting:
            if not future.done():  # a request that was sent twice may be answered twice in one message
                future.set_result(reply)

    def _hear_news(self, frames: Sequence[bytes]) -> None:
        """What cannot be read is passed over: clients ask by themselves every second."""
        with suppress(BadMessage):
            self._heard(doorbell_of(frames[0]))

    def _hear_handshake(self, frames: Sequence[bytes]) -> None:
        """Ends the line when the bus refuses this client for good."""
        event = parse_monitor_message(list(frames))
        outcome = _OUTCOMES[event["event"]]
        if outcome is Outcome.SUCCEEDED:
            self._connected = self._renewed(self._connected)
            if self._had_connection:
                self._reconnected = self._renewed(self._reconnected)
            self._had_connection = True
        if event["value"] == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
            outcome = Outcome.OTHER_SECURITY
        if (reason := self._handshakes.heard(outcome)) is not None and self._ended is None:
            self._end(HandshakeRefused(reason))

    def _renewed(self, future: asyncio.Future[None]) -> asyncio.Future[None]:
        """Tells whoever waits for it, and gives the next one."""
        future.set_result(None)
        return self._loop.create_future()
