"""`sagepace control`: moves a replay from elsewhere, and says how it stands."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from console.replay.orders import STOP
from shared.bus.port import BusClosed
from shared.bus.wire import Nature, Status
from shared.bus.zeromq import ZmqBus
from shared.config import nearest
from shared.errors import BadInput
from shared.eventlog.entry import Refused

STATUS = "status"
PATIENCE_S = 2.0
"""How long a replay may take to answer."""
_ALONE = ("pause", "resume", STOP, STATUS)
_NUMBERED = {"step": 1.0, "seek": None, "speed": None}
"""Orders that take a number, and the number that is meant without one."""
_SWITCH = {"on": 1.0, "off": 0.0}


def print_control(address: str, command: str, value: str | None, *, keys: Path | None, as_json: bool) -> None:
    """Sends the order and prints how the replay stands after it; `keys` as for any client of a bus on another host.

    Raises `BadInput` for an order that is none, when nobody answers at `address`, and when what answers is no replay.
    """
    number = _number(command, value)
    try:
        status = asyncio.run(_sent(address, command, number, keys))
    except BusClosed as error:
        raise BadInput(f"no replay answers at {address} ({error}); give the address that it printed when it started") from error
    except Refused as error:
        raise BadInput(str(error)) from error
    if as_json:
        print(msgspec.json.encode(status).decode())
    elif command == STOP:
        print(f"REPLAY {status.about}: ends")
    else:
        print(f"REPLAY {status.about}")


async def _sent(address: str, command: str, value: float, keys: Path | None) -> Status:
    """Sends the order; how the replay stands after it, or before it when it ends by it."""
    bus = ZmqBus(address, patience_s=PATIENCE_S, keys=keys)
    try:
        if command == STOP:
            status = await bus.status()
            await bus.control(command, value)
            return status
        if command != STATUS:
            await bus.control(command, value)
        status = await bus.status()
        if status.nature is not Nature.REPLAY:
            raise BadInput(f"the bus at {address} is live: it is a run, not a replay")
        return status
    finally:
        await bus.close()


def _number(command: str, value: str | None) -> float:
    if command == "loop":
        if value is not None and value not in _SWITCH:
            raise BadInput(f"loop {value}: say on or off")
        return _SWITCH[value or "on"]
    if command in _NUMBERED:
        return _parsed(command, value)
    if command not in _ALONE:
        raise BadInput(f"{command}: no such order; {nearest(command, [*_ALONE, *_NUMBERED, 'loop'])}")
    if value is not None:
        raise BadInput(f"{command} {value}: {command} takes no number")
    return 0.0


def _parsed(command: str, value: str | None) -> float:
    default = _NUMBERED[command]
    if value is None:
        if default is None:
            raise BadInput(f"{command}: say {'which fact' if command == 'seek' else 'how fast'}, such as {command} 2")
        return default
    try:
        return float(value)
    except ValueError as error:
        raise BadInput(f"{command} {value}: give a number") from error
