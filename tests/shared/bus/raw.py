"""Raw sockets against a broker, for tests that break the rules on the wire."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from shared.bus.address import parse_address
from shared.bus.wire import Reply, reply_of

from .conftest import BrokerProcess

NUMBER = bytes(8)
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
"""What a ZeroMQ peer without keys says first."""
READY = b"\x04\x26\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"
"""What it says next."""


@contextmanager
def dealer(broker: BrokerProcess) -> Iterator[zmq.Socket[bytes]]:
    """A plain ZeroMQ client of the broker."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as made:
        made.linger = 0
        made.setsockopt(zmq.SNDHWM, 0)
        made.setsockopt(zmq.RCVHWM, 0)
        made.connect(parse_address(broker.address).requests)
        yield made


def ask(broker: BrokerProcess, *frames: bytes, wait_ms: int = 3000) -> Reply | None:
    """The answer to raw frames; None when there is none within a moment."""
    with dealer(broker) as made:
        made.send_multipart(frames)
        return reply_of(made.recv_multipart()[-1]) if made.poll(wait_ms) else None


def plain(broker: BrokerProcess) -> socket.socket:
    """A bare connection to the broker's socket, without ZeroMQ."""
    address = parse_address(broker.address)
    made = socket.socket(socket.AF_UNIX if address.path else socket.AF_INET)
    made.settimeout(5)
    made.connect(
        address.requests.removeprefix("ipc://") if address.path else (address.host, int(address.requests.rpartition(":")[2]))
    )
    return made


def resident_mb(broker: BrokerProcess) -> float:
    """What the broker holds in memory."""
    assert broker.process is not None
    status = Path(f"/proc/{broker.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS"))
