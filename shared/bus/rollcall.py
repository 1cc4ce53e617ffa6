"""Asks the bus again and again who was heard of, without ever waiting: for the supervisor, which must notice also a broker that
does not answer."""

from __future__ import annotations

import itertools

import zmq

from shared.bus.address import parse_address
from shared.bus.sockets import prepare_client
from shared.bus.wire import AskPeers, BadMessage, Peer, Peers, pack, reply_of

_WAITING = 4
"""Questions that wait for a broker that does not listen; later ones are left out."""


class RollCall:
    """One asker. Sockets are made on first use, since the broker may not be there yet."""

    def __init__(self, address: str) -> None:
        """Raises `BadInput` for an address that is none."""
        self._address = parse_address(address)
        self._numbers = itertools.count(1)
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None

    def ask(self) -> None:
        """Asks once; what a broker that is not there would have been asked is left out."""
        socket = self._opened()
        try:
            socket.send_multipart([next(self._numbers).to_bytes(8, "big"), pack(AskPeers())], zmq.NOBLOCK)
        except zmq.Again:
            return

    def heard(self) -> list[Peer] | None:
        """The newest answer that has come since the last call; None when there is none."""
        socket = self._opened()
        newest = None
        while True:
            try:
                reply = reply_of(socket.recv_multipart(zmq.NOBLOCK)[-1])
            except zmq.Again:
                return newest
            except BadMessage:
                continue
            if isinstance(reply, Peers):
                newest = reply.peers

    def close(self) -> None:
        """Closes the socket."""
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None

    def _opened(self) -> zmq.Socket[bytes]:
        if self._context is None:
            self._context = zmq.Context()
            self._socket = self._context.socket(zmq.DEALER)
            self._socket.setsockopt(zmq.IMMEDIATE, 1)
            self._socket.setsockopt(zmq.SNDHWM, _WAITING)
            prepare_client(self._socket, self._address, None)
            self._socket.connect(self._address.requests)
        return self._socket
