"""The keyboard as a replay listens to it: key by key, without waiting, and put back as it was, whatever happens.

Only a terminal in whose foreground this process stands is listened to: touching it from the background would stop the process.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import termios
import tty
from contextlib import AbstractContextManager, suppress
from types import FrameType
from typing import Any

_AT_ONCE = 1024


class Keyboard(AbstractContextManager["Keyboard"]):
    """Use it as a context; `typed` gives what was typed since the last time."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is standard input; if that is no terminal, nothing is ever typed."""
        self._descriptor = descriptor
        self._before: list[Any] | None = None
        self._listening = False
        self._is_terminal = os.isatty(descriptor)

    def __enter__(self) -> Keyboard:
        """Takes the keyboard. Whoever stopped the process by Ctrl-Z finds it taken again when it goes on."""
        if self._is_terminal:
            self._before = termios.tcgetattr(self._descriptor)
            atexit.register(self._put_back)
            self._handled = signal.signal(signal.SIGCONT, self._continued)
            self._listen()
        return self

    def __exit__(self, *unused: object) -> None:
        """Puts the terminal back."""
        if self._is_terminal:
            self._put_back()
            atexit.unregister(self._put_back)
            signal.signal(signal.SIGCONT, self._handled)
            self._is_terminal = False

    @property
    def there(self) -> bool:
        """Keys can be typed."""
        return self._is_terminal

    def typed(self) -> bytes:
        """What was typed; empty when nothing was."""
        if not self._is_terminal or not self._in_foreground():
            return b""
        if not self._listening:
            self._listen()
        if not select.select([self._descriptor], [], [], 0)[0]:
            return b""
        try:
            data = os.read(self._descriptor, _AT_ONCE)
        except OSError:
            data = b""
        if not data:
            # The terminal is gone.
            self._is_terminal = False
        return data

    def _listen(self) -> None:
        """Keys come one by one and are not shown; Ctrl-C and Ctrl-Z go on to mean what they do."""
        if self._in_foreground():
            tty.setcbreak(self._descriptor, termios.TCSANOW)
            self._listening = True

    def _put_back(self) -> None:
        if self._before is not None and self._in_foreground():
            with suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
        self._listening = False

    def _continued(self, number: int, frame: FrameType | None) -> None:
        self._listening = False

    def _in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return False
