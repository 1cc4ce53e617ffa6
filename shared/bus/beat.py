"""The heartbeat of a process, sent from a thread of its own: it tells a process that works from one that stands still.

A busy event loop does not stop the thread, a frozen process does. How long the event loop has not come round goes along with
each beat, so that a loop that is stuck is noticed too.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from pathlib import Path

import zmq

from shared.awake import AwakeClock
from shared.bus.address import parse_address
from shared.bus.keys import client_keys
from shared.bus.sockets import prepare_client
from shared.bus.wire import Beat, pack

EVERY_S = 0.5
_UNANSWERED = bytes(8)
"""The number under which beats are sent; nobody waits for an answer."""
_WAITING = 4
"""Beats that wait for a broker that does not listen; later ones are left out."""


class LoopLag:
    """How long an event loop has not come round. Asks it again and again from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._clock = AwakeClock()
        self._came_round = threading.Event()
        self._came_round.set()
        self._asked_at = 0.0

    def look(self, now: float) -> float:
        """Seconds since the loop was asked, when it has not answered; else 0, and it is asked again.

        Raises `RuntimeError` when the loop is closed.
        """
        at = self._clock.at(now)
        if not self._came_round.is_set():
            return at - self._asked_at
        self._came_round.clear()
        self._asked_at = at
        self._loop.call_soon_threadsafe(self._came_round.set)
        return 0.0


class Heart:
    """Beats from `start` to `stop`. Belongs to one process and its event loop."""

    def __init__(self, address: str, name: str, role: str, keys: Path | None = None) -> None:
        """`name` is the process's own. Raises `BadInput` for an address or keys that cannot be used."""
        self._address = parse_address(address)
        self._keys = client_keys(self._address, keys)
        self._name = name
        self._role = role
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Beats from now on, and watches `loop`."""
        self._thread = threading.Thread(target=self._beat, args=(LoopLag(loop),), name="heart", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No further beat is sent."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self, lag: LoopLag) -> None:
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.IMMEDIATE, 1)
            socket.setsockopt(zmq.SNDHWM, _WAITING)
            prepare_client(socket, self._address, self._keys)
            socket.connect(self._address.requests)
            with suppress(RuntimeError):  # the loop was closed before the heart was stopped
                while True:
                    beat = Beat(self._name, self._role, lag.look(time.monotonic()))
                    with suppress(zmq.Again):
                        socket.send_multipart([_UNANSWERED, pack(beat)], zmq.NOBLOCK)
                    if self._stopping.wait(EVERY_S):
                        return
