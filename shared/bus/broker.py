"""The broker: the one process that numbers, journals and only then tells. Plain synchronous ZeroMQ, two sockets.

* A ROUTER answers requests. It drains whatever waits (never waiting for more), writes all of it in one transaction, and only
  then acknowledges: group commit. A reply that cannot be delivered is dropped; the client asks again.
* A PUB rings the doorbell after each commit. It keeps only the newest message for each subscriber (CONFLATE), and that one
  says everything. So a slow or stopped subscriber costs nothing, and nothing rests on a high-water mark.

Whatever arrives, the broker goes on; only a log that cannot be written ends it (`JournalFault`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import zmq

from shared.bus.address import Address
from shared.bus.wire import (
    AskCursor,
    AskHead,
    At,
    BadMessage,
    Done,
    Doorbell,
    MoveCursor,
    Publish,
    Read,
    Refusal,
    Reply,
    Request,
    Rows,
    pack,
    request_of,
)
from shared.errors import BadInput
from shared.eventlog.entry import MAX_GROUP_BYTES, Entry, Refused, entries_of
from shared.eventlog.lock import FileLock
from shared.eventlog.port import Journal

BATCH = 256
"""Requests in one transaction at most."""
BATCH_BYTES = 16 << 20
"""A batch takes no further request after this many bytes."""
POLL_MS = 200
"""How soon `stop` is noticed on a quiet bus."""
FRAME_BYTES = MAX_GROUP_BYTES + (1 << 20)
"""Larger frames make ZeroMQ drop the connection before they fill the memory; clients never send them."""


class Call(NamedTuple):
    """One request: who wants to know, under which number, and what (or why it is refused)."""

    peer: bytes
    number: bytes
    request: Request | Refusal
    entries: list[Entry]


class Broker:
    """Serves one journal at one address from construction to `close`."""

    def __init__(self, journal: Journal, address: Address, complain: Callable[[str], None]) -> None:
        """Binds both sockets. `complain` gets a line for the first, second, fourth, ... refusal.

        Raises `BadInput` when the address is taken or cannot be bound.
        """
        self._journal = journal
        self._complain = complain
        self._refused = 0
        self._stopping = False
        self._lock = _claim(address)
        self._context = zmq.Context()
        try:
            self._router = self._bound(zmq.ROUTER, address.requests, address)
            self._bell = self._bound(zmq.PUB, address.news, address)
        except BadInput:
            self.close()
            raise

    def run(self) -> None:
        """Serves until `stop`. Raises `JournalFault` when the log cannot be written; nothing unwritten was acknowledged."""
        while not self._stopping:
            if self._router.poll(POLL_MS):
                self._serve(self._drained())

    def stop(self) -> None:
        """Makes `run` return after the batch at hand. May be called from a signal handler."""
        self._stopping = True

    def close(self) -> None:
        """Closes the sockets (replies already given still leave within a second) and frees the address."""
        self._context.destroy(linger=1000)
        if self._lock:
            self._lock.release()

    def _bound(self, kind: int, endpoint: str, address: Address) -> zmq.Socket[bytes]:
        socket = self._context.socket(kind)
        socket.linger = 1000
        socket.setsockopt(zmq.MAXMSGSIZE, FRAME_BYTES)
        if kind == zmq.ROUTER:
            socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        else:
            socket.setsockopt(zmq.CONFLATE, 1)
        if address.path is None:
            socket.setsockopt(zmq.HEARTBEAT_IVL, 2000)
            socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 10_000)
        before = os.umask(0o077)
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise BadInput(
                f"the bus cannot listen on {endpoint}: {error.strerror}; stop whoever does, or choose another --bus address"
            ) from error
        finally:
            os.umask(before)
        return socket

    def _drained(self) -> list[Call]:
        calls: list[Call] = []
        size = 0
        while len(calls) < BATCH and size < BATCH_BYTES:
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            size += sum(map(len, frames))
            if len(frames) == 3 and len(frames[1]) == 8:
                calls.append(self._checked(*frames))
            else:
                self._count(f"a message of {len(frames) - 1} frames, which is no request")
        return calls

    def _checked(self, peer: bytes, number: bytes, body: bytes) -> Call:
        """The call, with a publish's facts looked at one by one."""
        try:
            request = request_of(body)
            entries = entries_of(request.facts) if isinstance(request, Publish) else []
        except (BadMessage, Refused) as error:
            return Call(peer, number, self._refusal(str(error)), [])
        return Call(peer, number, request, entries)

    def _serve(self, calls: list[Call]) -> None:
        """Writes everything there is to write, then answers everybody, then rings."""
        before = self._journal.head
        entries = [entry for call in calls for entry in call.entries]
        moves = [call.request for call in calls if isinstance(call.request, MoveCursor)]
        if entries or moves:
            cursors: dict[str, int] = {}
            for move in moves:
                cursors[move.subscriber] = max(move.seq, cursors.get(move.subscriber, 0))
            self._journal.append(entries, cursors)
        for call in calls:
            # EHOSTUNREACH: the client is gone; EAGAIN: it reads nothing. Either way it asks again if it still wants to know.
            with suppress(zmq.ZMQError):
                self._router.send_multipart([call.peer, call.number, pack(self._answer(call.request))], zmq.NOBLOCK)
        if self._journal.head > before:
            self._bell.send(pack(Doorbell(self._journal.head, dict(self._journal.latest))), zmq.NOBLOCK)

    def _answer(self, request: Request | Refusal) -> Reply:
        match request:
            case Publish() | MoveCursor():
                return Done()
            case Read(after, types, limit):
                try:
                    return Rows(*self._journal.read(after, types if types is None else frozenset(types), limit))
                except Refused as error:
                    return self._refusal(str(error))
            case AskCursor(subscriber):
                return At(self._journal.cursor(subscriber), self._refused)
            case AskHead():
                return At(self._journal.head, self._refused)
            case Refusal():
                return request

    def _refusal(self, reason: str) -> Refusal:
        self._count(reason)
        return Refusal(reason[:1000])

    def _count(self, reason: str) -> None:
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:
            self._complain(f"refused ({self._refused} so far): {reason[:500]}")


def _claim(address: Address) -> FileLock | None:
    """Holds the name of an ipc address, which ZeroMQ would let a second broker steal without an error. TCP needs no lock."""
    if address.path is None:
        return None
    taken = f"the bus address {address.text} is taken by another broker: stop that one, or choose another --bus address"
    return FileLock(address.path.with_name(address.path.name + ".lock"), taken)
