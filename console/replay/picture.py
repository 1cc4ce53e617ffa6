"""A replay at one moment, drawn: a live panel for a terminal, one line for everything else. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from console.inspect.times import moment
from console.replay.consumers import Standing
from console.replay.keys import HELP
from console.replay.tape import Cue

_MOST_CONSUMERS = 8
_LETTERS = ("█▀█ █▀▀ █▀█ █   ▄▀█ █ █", "█▀▄ ██▄ █▀▀ █▄▄ █▀█  █ ")


class Picture(NamedTuple):
    """What there is to see."""

    name: str
    address: str
    position: int
    last: int
    clock_ns: int
    state: str
    """Playing, paused, or at the end."""
    pace: str
    waiting: str
    """What a replay in lockstep waits for; empty when it does not."""
    consumers: Sequence[Standing]
    recent: Sequence[Cue]
    given: str
    """What services gave, in words; empty when nothing."""
    prompt: str = ""
    """A question on the keyboard."""
    keys: bool = False
    """There is a keyboard."""


def line(picture: Picture) -> str:
    """The moment as one line."""
    behind = ", ".join(f"{one.name} {_behind(picture, one)}" for one in picture.consumers) or "no consumer"
    parts = [
        f"REPLAY {picture.name}: fact {picture.position} of {picture.last}",
        moment(picture.clock_ns),
        f"{picture.state}, {picture.pace}",
        picture.waiting or behind,
        picture.given,
    ]
    return "  ".join(part for part in parts if part)


def panel(picture: Picture) -> RenderableType:
    """The moment as a panel that nobody takes for a run."""
    head = Table.grid(expand=True, padding=(0, 1))
    head.add_column()
    head.add_column(ratio=1)
    head.add_column(justify="right")
    head.add_row(
        Text(f"fact {picture.position} of {picture.last}", style="bold"),
        ProgressBar(total=max(1, picture.last), completed=picture.position),
        Text(moment(picture.clock_ns)),
    )
    state = Text(picture.state, style="bold yellow" if picture.state == "paused" else "bold")
    state.append(f"  {picture.pace}", style="default")
    if picture.waiting:
        state.append(f"  {picture.waiting}", style="yellow")
    parts: list[RenderableType] = [_banner(picture.name), Text(), head, state, Text(), _consumers(picture), Text()]
    parts += [_recent(picture.recent), Text(), Text(picture.address, style="dim")]
    if picture.given:
        parts.append(Text(picture.given))
    if picture.prompt:
        parts.append(Text(picture.prompt, style="bold reverse"))
    elif picture.keys:
        parts.append(Text(HELP, style="dim"))
    return Panel(Group(*parts), title="sagepace replay", title_align="left", border_style="magenta")


def _banner(name: str) -> RenderableType:
    letters = Text("\n".join(_LETTERS), style="bold magenta", no_wrap=True)
    words = Text(f"REPLAY of {name}\n", style="bold").append("recorded before: nothing here is happening now", style="default")
    banner = Table.grid(padding=(0, 3))
    banner.add_row(letters, words)
    return banner


def _consumers(picture: Picture) -> RenderableType:
    if not picture.consumers:
        return Text("no consumer is attached", style="dim")
    table = Table("consumer", "has read", "behind", box=None, pad_edge=False, header_style="dim")
    for one in picture.consumers[:_MOST_CONSUMERS]:
        table.add_row(one.name, str(one.read), _behind(picture, one))
    if len(picture.consumers) > _MOST_CONSUMERS:
        table.add_row(f"and {len(picture.consumers) - _MOST_CONSUMERS} more", "", "")
    return table


def _behind(picture: Picture, one: Standing) -> str:
    behind = max(0, picture.position - one.read)
    return f"{behind} behind" if behind else "up to date"


def _recent(cues: Sequence[Cue]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    for cue in cues:
        table.add_row(str(cue.seq), moment(cue.time_ns)[11:23], cue.lineage or "-", cue.type)
    return table
