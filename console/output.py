"""Standard output that may go away: what to do when nobody reads it any more.

A command that only shows something ends there (`sagepace log cat | head`). One that does something, or whose exit status is its
answer, calls `outlive_reader` first and goes on unheard.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO, cast


class _Outliving:
    """Standard output that falls silent when its reader goes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes, or pretends to."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            abandon_output()
            return len(text)

    def flush(self) -> None:
        """Sends what was written, if anybody is there."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            abandon_output()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def outlive_reader() -> None:
    """From here on a reader that goes away does not end the command."""
    sys.stdout = cast(TextIO, _Outliving(sys.stdout))


def abandon_output() -> None:
    """Whatever is still written to standard output, by the interpreter's end too, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
