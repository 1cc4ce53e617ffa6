"""Who may connect to a bus: lets in the clients whose keys are allowed, and says who was turned away.

Two things turn a connection away: a key that is not among the allowed ones (pyzmq's ZAP authenticator asks, in a thread of its
own), and a handshake that fails before that (no keys, or keys meant for another broker), of which the sockets' monitors tell.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import recv_monitor_message

from shared.bus.keys import ZAP_DOMAIN, allowed
from shared.errors import BadInput

_FAILURES: dict[int, str] = {
    zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: "a connection that does not use keys as this bus does",
    zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: "a connection whose key for this broker is that of another",
}


class Doorkeeper:
    """Belongs to one context, and is there before its first handshake."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], clients: Path | None) -> None:
        """`clients`: the folder of allowed keys, looked at anew for every connection; None where no keys are used."""
        self._clients = clients
        self._unknown: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._monitors: list[zmq.Socket[bytes]] = []
        self._watched: list[zmq.Socket[bytes]] = []
        self._authenticator: ThreadAuthenticator | None = None
        if clients is not None:
            self._authenticator = ThreadAuthenticator(context)
            self._authenticator.configure_curve_callback(ZAP_DOMAIN, self)
            self._authenticator.start()

    def watch(self, socket: zmq.Socket[bytes]) -> None:
        """Hears from now on of handshakes that fail on this socket."""
        events = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
        if self._clients is not None:
            # Without keys this is a client that was killed in the first moment, and nothing to speak of.
            events |= zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        self._monitors.append(socket.get_monitor_socket(events))
        self._watched.append(socket)

    def turned_away(self) -> Iterator[str]:
        """Each connection that was turned away since the last time this was asked, in words."""
        while not self._unknown.empty():
            yield self._unknown.get_nowait()
        for monitor in self._monitors:
            while monitor.poll(0):
                event = recv_monitor_message(monitor)
                if event["event"] == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                    yield "a connection that ended before it had shown a key"
                else:
                    yield _FAILURES.get(int(event["value"]), "a connection that does not speak the bus's protocol")

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether a key may come in. Called by the authenticator, in its thread; never raises."""
        assert self._clients is not None
        try:
            if key in allowed(self._clients):
                return True
            self._unknown.put(f"a client with the key {key.decode()}, which is not among those in {self._clients}")
        except BadInput as error:
            self._unknown.put(f"every client, since the allowed keys cannot be read: {error}")
        return False

    def close(self) -> None:
        """Stops listening; sockets that were watched are still open then."""
        for socket, monitor in zip(self._watched, self._monitors, strict=True):
            socket.disable_monitor()
            monitor.close(linger=0)
        if self._authenticator is not None:
            self._authenticator.stop()
