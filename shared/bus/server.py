"""The sockets of a bus: takes requests, has a *desk* answer them, and rings. Plain synchronous ZeroMQ.

* A ROUTER answers requests. It drains whatever waits (never waiting for more) and hands all of it to the desk at once, so that
  the desk can write all of it in one transaction (group commit). The desk may owe an answer and give it later. A reply that
  cannot be delivered is dropped; the client asks again.
* A PUB rings the doorbell when the desk has news. It keeps only the newest message for each subscriber (CONFLATE), and that
  one says everything. So a slow or stopped subscriber costs nothing, and nothing rests on a high-water mark.

Desks: `shared.bus.broker` keeps the log of a live run; `console.replay` plays a recording again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import zmq

from shared.bus.address import Address
from shared.bus.calls import Call, Later, Refusals
from shared.bus.doorkeeper import Doorkeeper
from shared.bus.keys import BrokerKeys
from shared.bus.sockets import listen, prepare_broker
from shared.bus.wire import BadMessage, Done, Doorbell, Read, Reply, pack, request_of
from shared.eventlog.lock import FileLock

BATCH = 256
"""Requests handed to the desk at once at most."""
BATCH_BYTES = 4 << 20
"""A batch takes no further request after this many bytes."""
READS = 32
"""Nor after this many reads: a page may take milliseconds to give, and others wait that long."""
POLL_MS = 100
"""How soon `stop` is noticed, and how often the desk gets a turn, on a quiet bus."""
DOOR_S = 0.1
"""How often the doorkeeper is asked whom it turned away."""
_DONE = pack(Done())


class Desk(Protocol):
    """What answers."""

    def answers(self, calls: Sequence[Call]) -> list[Reply | None]:
        """The reply to each call, in order; None where nobody waits for one."""

    def turn(self) -> None:
        """Called after every batch, and several times a second on a quiet bus."""

    def news(self) -> Doorbell | None:
        """What to tell everybody, when it has changed since the last time this was asked; else None."""


class Server:
    """Serves one desk at one address from construction to `close`."""

    def __init__(
        self,
        desk: Desk,
        address: Address,
        refusals: Refusals,
        *,
        poll_ms: int = POLL_MS,
        keys: BrokerKeys | None = None,
        later: Later | None = None,
    ) -> None:
        """Binds both sockets; `keys` as `shared.bus.keys.broker_keys` found them for this address; `later` is the desk's own.

        Raises `BadInput` when the address is taken or cannot be bound.
        """
        self._address = address
        self._poll_ms = poll_ms
        self._desk = desk
        self._refusals = refusals
        self._later = later
        self._stopping = False
        self._lock = _claim(address)
        self._context = zmq.Context()
        self._door = Doorkeeper(self._context, keys and keys.clients)
        self._asked_door = 0.0
        try:
            self._router = self._listening(zmq.ROUTER, address.requests, address, keys)
            self._bell = self._listening(zmq.PUB, address.news, address, keys)
        except BaseException:
            self.close()
            raise

    def run(self) -> None:
        """Serves until `stop`. Raises what the desk raises; what it did not answer was not acknowledged."""
        while not self._stopping or (self._later and self._later.owed):
            self._wait()
            if self._takes and (calls := self._drained()):
                self._serve(zip(calls, self._desk.answers(calls), strict=True))
            self._desk.turn()
            if (doorbell := self._desk.news()) is not None:
                self._bell.send(pack(doorbell), zmq.NOBLOCK)
            if self._later is not None:
                self._serve(self._later.taken())
            if time.monotonic() - self._asked_door > DOOR_S:
                self._ask_door()
        self._ask_door()

    def stop(self) -> None:
        """Makes `run` return after the batch at hand. May be called from a signal handler."""
        self._stopping = True

    def close(self) -> None:
        """Closes the sockets (replies already given still leave within a second) and frees the address."""
        self._door.close()
        self._context.destroy(linger=1000)
        if self._lock:
            # ZeroMQ leaves them behind; while the name is held they are nobody else's.
            for endpoint in (self._address.requests, self._address.news):
                Path(endpoint.removeprefix("ipc://")).unlink(missing_ok=True)
            self._lock.release()

    def _listening(self, kind: int, endpoint: str, address: Address, keys: BrokerKeys | None) -> zmq.Socket[bytes]:
        socket = self._context.socket(kind)
        prepare_broker(socket, address, keys)
        self._door.watch(socket)
        listen(socket, endpoint, address)
        return socket

    def _ask_door(self) -> None:
        self._asked_door = time.monotonic()
        for who in self._door.turned_away():
            self._refusals.note(who)

    def _drained(self) -> list[Call]:
        calls: list[Call] = []
        size = reads = 0
        for _ in range(BATCH):
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            size += sum(map(len, frames))
            if len(frames) != 3 or len(frames[1]) != 8:
                self._refusals.note(f"a message of {len(frames) - 1} frames, which is no request")
                continue
            peer, number, body = frames
            try:
                calls.append(Call(peer, number, request_of(body)))
            except BadMessage as error:
                self._reply(peer, number, pack(self._refusals.refuse(str(error))))
                continue
            reads += isinstance(calls[-1].request, Read)
            if size >= BATCH_BYTES or reads >= READS:
                break
        return calls

    @property
    def _takes(self) -> bool:
        return not self._stopping and not (self._later and self._later.full)

    def _wait(self) -> None:
        """Until there is a request, or the desk wants its turn."""
        if self._later is None:
            self._router.poll(self._poll_ms)
            return
        poller = zmq.Poller()
        poller.register(self._later.woken, zmq.POLLIN)
        if self._takes:
            poller.register(self._router, zmq.POLLIN)
        if self._later.woken in dict(poller.poll(self._poll_ms)):
            self._later.calm()

    def _serve(self, answered: Iterable[tuple[Call, Reply | None]]) -> None:
        """Sends the answers. All of a client's `Done` go out as one message, since there may be many."""
        done: dict[bytes, list[bytes]] = {}
        for call, reply in answered:
            if isinstance(reply, Done):
                done.setdefault(call.peer, []).append(call.number)
            elif reply is not None:
                self._reply(call.peer, call.number, pack(reply))
        for peer, numbers in done.items():
            self._reply(peer, b"".join(numbers), _DONE)

    def _reply(self, peer: bytes, numbers: bytes, body: bytes) -> None:
        # EHOSTUNREACH: the client is gone; EAGAIN: it reads nothing. Either way it asks again if it still wants to know.
        with suppress(zmq.ZMQError):
            self._router.send_multipart([peer, numbers, body], zmq.NOBLOCK)


def _claim(address: Address) -> FileLock | None:
    """Holds the name of an ipc address, which ZeroMQ would let a second broker steal without an error. TCP needs no lock."""
    if address.path is None:
        return None
    taken = f"the bus address {address.text} is taken by another broker: stop that one, or choose another --bus address"
    return FileLock(address.path.with_name(address.path.name + ".lock"), taken)
