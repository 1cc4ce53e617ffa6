"""How a run looks while it runs: a live page on a terminal, or one plain line a step where there is none.

Both draw a `RunView` and the health of the services and decide nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from console.view import RunView, Trend
from shared.messages import Decision

_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = {
    Decision.COMMIT: "green",
    Decision.REJECT_HARM: "red",
    Decision.REJECT_FUTILE: "yellow",
    Decision.INCONCLUSIVE: "dim",
}


class Health(NamedTuple):
    """One process as the supervisor sees it."""

    name: str
    alive: bool
    restarts: int


class Screen(Protocol):
    """Something that shows a run; use it as a context."""

    def show(self, view: RunView, health: Sequence[Health], facts: int) -> None:
        """Draws the present state. `facts` is the length of the log."""

    def say(self, text: str) -> None:
        """Tells something once, such as that a service was restarted."""

    def __enter__(self) -> Screen: ...

    def __exit__(self, *unused: object) -> None: ...


def screen_for(console: Console, *, quiet: bool) -> Screen:
    """The live page on a terminal, else plain lines; `quiet` asks for plain lines on any output."""
    return LiveScreen(console) if console.is_terminal and not quiet else LineScreen(console)


class LineScreen(AbstractContextManager["LineScreen"]):
    """One line for each step that closed and for each decision of the gate."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._closed: int | None = None
        self._decisions = 0
        self._phase = ""

    def __exit__(self, *unused: object) -> None:
        """Nothing to put away."""

    def say(self, text: str) -> None:
        """Prints the text as a line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, view: RunView, health: Sequence[Health], facts: int) -> None:
        """Prints what is new since the last call."""
        if view.closed != (self._closed or 0):
            self._closed = view.closed
            self.say(step_line(view))
        for judged in view.decisions[self._decisions :]:
            tally = f"{judged.wins} wins, {judged.losses} losses, {judged.ties} ties"
            self.say(f"gate: step {judged.step}: {judged.decision.value} after {tally}; {judged.reason}")
        self._decisions = len(view.decisions)
        if view.ending and self._phase != "ending":
            self._phase = "ending"
            self.say(f"training ended: {view.ending.reason}; evaluating base and committed policy on held-out tasks")


def step_line(view: RunView) -> str:
    """The state after a step as one line, such as ``step 3/50  reward solver 0.61  accuracy words 44%  pool 71``."""
    rewards = " ".join(f"{role} {means[-1]:.2f}" for role, means in _series(view.rewards, view.closed + 1))
    accuracy = " ".join(f"{kind} {means[-1]:.0%}" for kind, means in _series(view.accuracy, view.closed + 1))
    left = f"  left {clock(view.seconds_left)}" if view.seconds_left is not None else ""
    faults = f"  faults {view.faults}" if view.faults else ""
    return f"step {view.closed}/{view.steps}  reward {rewards}  accuracy {accuracy}  pool {view.pool}{faults}{left}"


class LiveScreen:
    """A page that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._pace = Pace()

    def __enter__(self) -> LiveScreen:
        """Takes the lower part of the terminal."""
        self._live.start()
        return self

    def __exit__(self, *unused: object) -> None:
        """Wipes the page; what was said stays."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Prints the text above the page."""
        self._live.console.print(text, markup=False, highlight=False)

    def show(self, view: RunView, health: Sequence[Health], facts: int) -> None:
        """Redraws the page."""
        now = time.monotonic()
        self._live.update(page(view, health, now - self._began, facts, self._pace.per_second(now, facts)), refresh=True)


class Pace:
    """Facts a second over the last few calls."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []

    def per_second(self, now: float, facts: int) -> float:
        """The pace, given that the log has `facts` facts at `now` seconds."""
        self._marks = [*self._marks, (now, facts)][-20:]
        (first, before), (last, after) = self._marks[0], self._marks[-1]
        return (after - before) / (last - first) if last > first else 0.0


def page(view: RunView, health: Sequence[Health], elapsed_s: float, facts: int, per_second: float) -> RenderableType:
    """The whole page for one moment."""
    left = f"  ·  about {clock(view.seconds_left)} left" if view.seconds_left is not None else ""
    head = Table.grid(expand=True, padding=(0, 1))
    head.add_column()
    head.add_column(ratio=1)
    head.add_column(justify="right")
    head.add_row(
        Text(f"step {view.closed}/{view.steps}", style="bold"),
        ProgressBar(total=max(1, view.steps), completed=view.closed),
        Text(f"{clock(elapsed_s)}{left}"),
    )
    body = Columns([_rewards(view), Group(_tasks(view), Text(), _services(health))], padding=(0, 4))
    foot = Text(f"{facts} facts, {per_second:.0f}/s", style="dim")
    if view.faults:
        foot.append(f"  ·  {view.faults} faults, last: {view.last_fault}"[:160], style="red")
    parts: list[RenderableType] = [head, Text(view.phase, style="italic"), Text(), body, Text(), _gate(view), Text(), foot]
    return Panel(Group(*parts), title=f"sagepace · {view.name}", title_align="left", border_style="dim")


def _rewards(view: RunView) -> Table:
    table = Table("", "last", "trend", box=None, pad_edge=False, header_style="dim")
    for role, means in _series(view.rewards):
        table.add_row(f"reward {role}", f"{means[-1]:.2f}", spark(means))
    for kind, means in _series(view.accuracy):
        table.add_row(f"accuracy {kind}", f"{means[-1]:.0%}", spark(means))
    if plans := view.plans.means():
        table.add_row("plan quality", f"{plans[-1]:.2f}", spark(plans))
    return table


def _tasks(view: RunView) -> Text:
    text = Text(f"tasks  {view.proposed} proposed, ")
    text.append(f"{view.accepted} accepted", style="green")
    return text.append(f", {view.refused} refused, {view.malformed} unreadable\npool   {view.pool}")


def _services(health: Sequence[Health]) -> Table:
    table = Table.grid(padding=(0, 2))
    cells = [_service(one) for one in health]
    for start in range(0, len(cells), 3):
        table.add_row(*cells[start : start + 3])
    return table


def _service(one: Health) -> Text:
    text = Text("● " if one.alive else "○ ", style="green" if one.alive else "red")
    return text.append(one.name + (f" (restarted {one.restarts}x)" if one.restarts else ""), style="default")


def _gate(view: RunView) -> Group:
    lines: list[RenderableType] = []
    wealth = view.wealth
    if wealth:
        row = Table.grid(padding=(0, 1))
        share = max(0.0, wealth.log_wealth / wealth.log_threshold) if wealth.log_threshold else 0.0
        tally = f"{wealth.wins}W {wealth.losses}L {wealth.ties}T"
        numbers = f"log-wealth {wealth.log_wealth:+.2f} of {wealth.log_threshold:.2f}  harm {wealth.log_harm:+.2f}  {tally}"
        row.add_row(f"gate, step {wealth.step}", ProgressBar(total=1.0, completed=min(1.0, share), width=24), numbers)
        lines.append(row)
    for judged in view.decisions[-3:]:
        line = Text(f"step {judged.step}  ").append(judged.decision.value, style=_COLOURS[judged.decision])
        lines.append(line.append(f"  {judged.wins}W {judged.losses}L {judged.ties}T  {judged.reason}", style="dim"))
    lines.append(Text(f"committed {view.committed}", style="dim"))
    return Group(*lines)


def _series(trends: Mapping[str, Trend], before: int | None = None) -> list[tuple[str, list[float]]]:
    """The trends that have a value, by name."""
    return [(name, means) for name in sorted(trends) if (means := trends[name].means(before))]


def spark(values: Sequence[float], width: int = 20) -> str:
    """The last `width` values as a line of bars between their own minimum and maximum."""
    values = values[-width:]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high - low < 1e-9:
        return _BARS[3] * len(values)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
