"""How the sockets of a bus are set up, on both sides: every queue has a bound, and a line that is cut is noticed and made anew.

A cut of some seconds costs nothing but time: both sides notice it within `SILENCE_MS`, the client then tries to connect again,
each time for at most `CONNECT_MS`, until the line is there, and asks again what was not answered.
"""

from __future__ import annotations

import os
import socket as net
from typing import Any

import zmq

from shared.bus.address import Address
from shared.bus.keys import BrokerKeys, ClientKeys
from shared.errors import BadInput
from shared.eventlog.entry import MAX_GROUP_BYTES

FRAME_BYTES = MAX_GROUP_BYTES + (1 << 20)
"""Larger frames make ZeroMQ drop the connection before they fill the memory; clients never send them."""
REQUESTS_WAITING = 64
"""Requests of one client that wait in the broker's socket; further ones wait on the way, and then at the client."""
REPLIES_WAITING = 16
"""Replies that wait for one client, each up to some MB. To one that takes none, more are dropped; it may ask again."""
PULSE_MS = 2000
"""How often either side asks over TCP whether the other is there."""
SILENCE_MS = 6000
"""A TCP connection without any sign of life for so long is given up."""
CONNECT_MS = 2000
"""How long one attempt to connect may take. The system's own limit is minutes: far longer than the cut."""


def prepare_broker(socket: zmq.Socket[bytes], address: Address, keys: BrokerKeys | None) -> None:
    """Sets up a broker's ROUTER or PUB, before it listens. Replies already given have a second to leave when it is closed."""
    socket.linger = 1000
    socket.setsockopt(zmq.MAXMSGSIZE, FRAME_BYTES)
    if socket.type == zmq.ROUTER:
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.RCVHWM, REQUESTS_WAITING)
        socket.setsockopt(zmq.SNDHWM, REPLIES_WAITING)
    else:
        socket.setsockopt(zmq.CONFLATE, 1)
    _tune(socket, address)
    if keys is not None:
        keys.secure(socket)


def listen(socket: zmq.Socket[bytes], endpoint: str, address: Address) -> None:
    """Binds the socket; for ipc, to this user alone. Raises `BadInput` when the address is taken, unknown or not ours."""
    before = os.umask(0o077)
    try:
        socket.bind(_numbered(endpoint, address))
    except (zmq.ZMQError, net.gaierror) as error:
        raise BadInput(
            f"the bus cannot listen on {endpoint}: {error.strerror}; stop whoever does, or choose another --bus address"
        ) from error
    finally:
        os.umask(before)


def prepare_client(socket: zmq.Socket[Any], address: Address, keys: ClientKeys | None) -> None:
    """Sets up a client's socket, before it is connected."""
    socket.linger = 0
    socket.setsockopt(zmq.RECONNECT_IVL, 50)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
    _tune(socket, address)
    if keys is not None:
        keys.secure(socket)


def _tune(socket: zmq.Socket[Any], address: Address) -> None:
    if address.path is None:
        socket.setsockopt(zmq.HEARTBEAT_IVL, PULSE_MS)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENCE_MS)
        socket.setsockopt(zmq.CONNECT_TIMEOUT, CONNECT_MS)
        socket.setsockopt(zmq.IPV6, int(":" in address.host))


def _numbered(endpoint: str, address: Address) -> str:
    """The endpoint with a number in place of a name: ZeroMQ listens on numbers and network cards only."""
    if address.path is not None or ":" in address.host:
        return endpoint
    port = endpoint.rpartition(":")[2]
    return f"tcp://{net.getaddrinfo(address.host, None, net.AF_INET, net.SOCK_STREAM)[0][4][0]}:{port}"
