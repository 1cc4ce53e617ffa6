"""Where a bus is: its address as users write it, the two sockets that stands for, and the address that belongs to a run.

``ipc:///dir/bus`` is the sockets ``/dir/bus.req`` and ``/dir/bus.news``; ``tcp://127.0.0.1:5550`` is the ports 5550 and 5551.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from shared.errors import BadInput

IPC_PATH_MAX = 103
"""Bytes in a socket's path that every system takes (Linux would take 107)."""
_LONGEST_SUFFIX = len(".news")


class Address(NamedTuple):
    """The sockets of one bus."""

    text: str
    """As the user wrote it."""
    requests: str
    """Where the broker answers requests."""
    news: str
    """Where the broker rings when the log has grown."""
    path: Path | None
    """For ipc, the path that both sockets' names begin with; None for TCP."""


def parse_address(text: str) -> Address:
    """The sockets that `text` stands for. Raises `BadInput` when it is no address of a bus on this machine."""
    scheme, _, rest = text.partition("://")
    if scheme == "ipc":
        return _ipc(text, rest)
    if scheme == "tcp":
        return _tcp(text, rest)
    raise BadInput(f"bus address {text!r}: give ipc:///absolute/path or tcp://127.0.0.1:PORT")


def bus_address_for(run_dir: Path) -> str:
    """The address of the bus of a run: in its directory, or in a short private one when the path is too long for a socket."""
    directory = run_dir.resolve()
    if _fits(directory / "bus"):
        return f"ipc://{directory / 'bus'}"
    name = "sagepace-" + hashlib.blake2b(os.fsencode(directory), digest_size=6).hexdigest()
    return f"ipc://{_private(Path(os.environ.get('XDG_RUNTIME_DIR') or tempfile.gettempdir()) / name) / 'bus'}"


def _ipc(text: str, rest: str) -> Address:
    path = Path(rest)
    if not path.is_absolute() or path.name in {"", ".."} or rest.endswith("/"):
        raise BadInput(f"bus address {text!r}: an ipc address is ipc:///absolute/path, such as ipc:///tmp/run/bus")
    if not _fits(path):
        raise BadInput(
            f"bus address {text!r}: a socket's path has at most {IPC_PATH_MAX - _LONGEST_SUFFIX} bytes; use a shorter one"
        )
    return Address(text, f"ipc://{path}.req", f"ipc://{path}.news", path)


def _tcp(text: str, rest: str) -> Address:
    host, _, port = rest.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65534:
        raise BadInput(f"bus address {text!r}: a TCP address is tcp://127.0.0.1:PORT with a port from 1 to 65534")
    try:
        local = ipaddress.IPv4Address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        local = None
    if local is None or not local.is_loopback:
        raise BadInput(
            f"bus address {text!r}: only loopback (127.0.0.1) is allowed: on other addresses the bus needs CURVE keys, "
            "which this version does not have; use tcp://127.0.0.1:PORT"
        )
    return Address(text, f"tcp://{local}:{int(port)}", f"tcp://{local}:{int(port) + 1}", None)


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) + _LONGEST_SUFFIX <= IPC_PATH_MAX


def _private(directory: Path) -> Path:
    """The directory, made with mode 0700. Somebody else's directory of that name is refused, not used."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise BadInput(f"cannot make {directory} for the bus's sockets: {error.strerror}; set XDG_RUNTIME_DIR") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise BadInput(f"{directory} is open to other users: remove it, or set XDG_RUNTIME_DIR to a directory of your own")
    return directory
