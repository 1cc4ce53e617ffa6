"""Where a replay is shown: a live panel on a terminal, else a line every few seconds and one for each thing said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console
from rich.live import Live

from console.replay.picture import Picture, line, panel

REDRAW_S = 0.2
LINE_EVERY_S = 5.0


class ReplayScreen(AbstractContextManager["ReplayScreen"]):
    """Use it as a context. Lines for people go to standard output; with `quiet` only what went wrong is said."""

    def __init__(self, console: Console, now: Callable[[], float], *, quiet: bool) -> None:
        """`now` is a monotonic clock in seconds."""
        self._console = console
        self._now = now
        self._quiet = quiet
        self._live: Live | None = None
        if console.is_terminal and not quiet:
            self._live = Live(console=console, auto_refresh=False, transient=True)
        self._drawn_at = now() - LINE_EVERY_S
        self._last = ""

    def __enter__(self) -> ReplayScreen:
        """Takes the lower part of a terminal."""
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *unused: object) -> None:
        """Wipes the panel; what was said stays."""
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """Tells something once, such as an order that was carried out."""
        if not self._quiet:
            self._print(text)

    def complain(self, text: str) -> None:
        """Tells what is wrong: above the panel, else on standard error, also when quiet."""
        if self._live:
            self._print(f"sagepace: {text}")
        else:
            print(f"sagepace: {text}", file=sys.stderr, flush=True)

    def show(self, picture: Callable[[], Picture]) -> None:
        """Draws the present moment when it is time to."""
        if self._quiet or self._now() - self._drawn_at < (REDRAW_S if self._live else LINE_EVERY_S):
            return
        self._drawn_at = self._now()
        if self._live:
            self._live.update(panel(picture()), refresh=True)
        elif (text := line(picture())) != self._last:
            self._last = text
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        self._console.file.flush()
