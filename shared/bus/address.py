"""Where a bus is: its address as users write it, the two sockets that stands for, and the address that belongs to a run.

``ipc:///dir/bus`` is the sockets ``/dir/bus.req`` and ``/dir/bus.news``; ``tcp://127.0.0.1:5550`` is the ports 5550 and 5551.
A TCP address is a name, an IPv4 number, or an IPv6 number in brackets; ``*`` and ``0.0.0.0`` are for listening everywhere.
Whatever other hosts can reach needs keys: see `shared.bus.keys`.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from shared.errors import BadInput

IPC_PATH_MAX = 103
"""Bytes in a socket's path that every system takes (Linux would take 107)."""
_LONGEST_SUFFIX = len(".news")
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
"""A host's name, more or less."""
_FORMS = "tcp://HOST:PORT with a name, an IPv4 number or an [IPv6] number, and a port from 1 to 65534"


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
    host: str = ""
    """For TCP, the name or number without brackets."""

    @property
    def private(self) -> bool:
        """Only this machine can reach it: keys are not needed. A name may lead anywhere, but for ``localhost``."""
        number = _number(self.host)
        return self.path is not None or (number is not None and number.is_loopback)

    @property
    def everywhere(self) -> bool:
        """It stands for all networks of this machine: one can listen there, and not connect to it."""
        number = _number(self.host)
        return number is not None and number.is_unspecified


def parse_address(text: str) -> Address:
    """The sockets that `text` stands for. Raises `BadInput` when it is no address of a bus."""
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
    if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65534:
        raise BadInput(f"bus address {text!r}: a TCP address is {_FORMS}")
    host = {"localhost": "127.0.0.1", "*": "0.0.0.0"}.get(host, host)
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    number = _number(bare)
    if bracketed != isinstance(number, ipaddress.IPv6Address) or (number is None and not _is_name(bare)):
        raise BadInput(f"bus address {text!r}: a TCP address is {_FORMS}")
    return Address(text, f"tcp://{host}:{int(port)}", f"tcp://{host}:{int(port) + 1}", None, bare)


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    """Whether this can be a host's name; digits and dots alone are a number with a mistake in it."""
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and not re.fullmatch(r"[0-9.]+", host)


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
