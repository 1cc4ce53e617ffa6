"""The words that move a replay, whoever gives them: a key, or a message (`shared.bus.wire.Control`)."""

from __future__ import annotations

from collections.abc import Callable

from console.replay.pace import MAX_SPEED, MIN_SPEED, is_speed
from console.replay.player import Player
from shared.config import nearest
from shared.eventlog.entry import Refused

STOP = "stop"
"""Ends the replay; obeyed by the desk, since it is nothing that the player does."""

Order = Callable[[Player, float], str]
"""Moves the player and says in words what was done. Raises `Refused`."""


def obey(player: Player, command: str, value: float) -> str:
    """Carries out an order and says what was done. Raises `Refused` for what makes no sense."""
    order = ORDERS.get(command)
    if order is None:
        raise Refused(f"{command}: no such order; {nearest(command, [*ORDERS, STOP])}")
    return order(player, value)


def _pause(player: Player, _: float) -> str:
    player.pause()
    return f"paused at fact {player.position}"


def _resume(player: Player, _: float) -> str:
    player.resume()
    return f"goes on from fact {player.position}"


def _toggle(player: Player, value: float) -> str:
    return _pause(player, value) if player.playing else _resume(player, value)


def _step(player: Player, value: float) -> str:
    player.step(_whole(value, "step"))
    return f"stepped to fact {player.position}"


def _seek(player: Player, value: float) -> str:
    epoch = player.epoch
    player.seek(_whole(value, "seek"))
    return f"moved {'back ' if player.epoch > epoch else ''}to fact {player.position}"


def _speed(player: Player, value: float) -> str:
    if not is_speed(value):
        raise Refused(f"speed {value:g}: give a factor from {MIN_SPEED:g} to {MAX_SPEED:g}; to stand still, pause")
    player.set_speed(value)
    return f"speed {value:g}"


def _faster(player: Player, _: float) -> str:
    return _speed(player, min(MAX_SPEED, player.speed * 2))


def _slower(player: Player, _: float) -> str:
    return _speed(player, max(MIN_SPEED, player.speed / 2))


def _loop(player: Player, value: float) -> str:
    player.loop = value != 0
    return "begins anew at the end" if player.loop else "stays at the end"


def _whole(value: float, command: str) -> int:
    if not float(value).is_integer():
        raise Refused(f"{command} {value:g}: give a whole number")
    return int(value)


ORDERS: dict[str, Order] = {
    "pause": _pause,
    "resume": _resume,
    "toggle": _toggle,
    "step": _step,
    "seek": _seek,
    "speed": _speed,
    "faster": _faster,
    "slower": _slower,
    "loop": _loop,
}
