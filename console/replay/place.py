"""Where a replay listens: never where a run does, so that nobody takes the one for the other."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.recording import LOG_NAME
from shared.bus.address import Address, bus_address_for, parse_address
from shared.errors import BadInput


@contextmanager
def address_for(wanted: str | None, log: Path) -> Iterator[Address]:
    """The address to replay `log` at: the one that is wanted, else a new one in a private folder that is removed afterwards.

    Raises `BadInput` for a bad address, and for one that belongs to a run.
    """
    if wanted is not None:
        address = parse_address(wanted)
        _check_is_no_run_s(address, log)
        yield address
        return
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    try:
        folder = tempfile.mkdtemp(prefix="sagepace-replay-", dir=base)
    except OSError as error:
        raise BadInput(f"cannot make a folder in {base} for the bus's sockets: {error.strerror}; give --bus ADDRESS") from error
    try:
        yield parse_address(f"ipc://{folder}/bus")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_is_no_run_s(address: Address, log: Path) -> None:
    if address.path is None:
        return
    path = address.path.resolve()
    own = parse_address(bus_address_for(log.parent)).path
    if own is not None and path == own.resolve():
        raise BadInput(f"bus address {address.text}: belongs to the recorded run itself; a replay needs one of its own")
    if (path.parent / LOG_NAME).exists():
        raise BadInput(f"bus address {address.text}: belongs to the run in {path.parent}; a replay needs one of its own")
