"""The keyboard of a replay, on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.replay.recordings import ROOT, record, story

WITHIN_S = 20.0


def take_terminal() -> None:
    """Makes standard input the controlling terminal, as a shell's window is."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Window:
    """A terminal with a replay in its foreground."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
        self.before = self.modes()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "console", "replay", str(directory), *options],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=ROOT,
            env=os.environ | {"TERM": "xterm"},
            start_new_session=True,
            preexec_fn=take_terminal,  # noqa: PLW1509 - a terminal can only be taken by the process that is to have it
        )

    def modes(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self.slave)

    def type(self, keys: bytes) -> None:
        """Keys that somebody hits."""
        os.write(self.master, keys)

    def shows(self, pattern: str) -> None:
        """Waits until this is drawn, after what was waited for before."""
        deadline = time.monotonic() + WITHIN_S
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < deadline, f"{pattern} is not in {self.text[-3000:]}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.master, 65536).decode(errors="replace"))
        self.text = self.text[found.end() :]

    def ended(self) -> int:
        """Waits for the end and gives the exit status; what is drawn meanwhile is thrown away."""
        deadline = time.monotonic() + WITHIN_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.05)[0]:
                os.read(self.master, 65536)
        return self.process.wait(timeout=1)

    def close(self) -> None:
        """Ends what is left."""
        if self.process.poll() is None:
            self.process.terminate()
            self.ended()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    """A replay of 22 facts that waits before the first."""
    shown = Window(record(tmp_path / "run", story(20)), "--step")
    yield shown
    shown.close()


def test_keys_move_the_replay(window: Window):
    """Step, several steps, go to, speed, loop, pause and the end, each shown on the page; the terminal is put back."""
    window.shows("REPLAY of demo, facts 1 to 22, at ipc://")
    window.shows("REPLAY of demo.*nothing here is happening now.*fact 0 of 22.*paused.*no consumer is attached.*space pause")
    for keys, shown in [
        (b"n", "stepped to fact 1"),
        (b"N5", "how many facts: 5_"),
        (b"\r", "stepped to fact 6"),
        (b"g3\r", "moved back to fact 3"),
        (b"+", "speed 2"),
        (b"\x1b[C", "speed 4"),
        (b"\x1b[D-", "speed 1"),
        (b"l", "begins anew at the end"),
        (b"l", "stays at the end"),
        (b"g99\r", "seek 99: this replay has facts 1 to 22"),
        (b" ", "goes on from fact 3"),
        (b" ", "paused at fact [34]"),
    ]:
        window.type(keys)
        window.shows(shown)
    assert window.modes() != window.before
    window.type(b"q")
    assert window.ended() == 0
    assert window.modes() == window.before


@pytest.mark.parametrize(
    ("how", "expected"), [(b"\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["Ctrl-C", "SIGTERM", "SIGHUP"]
)
def test_the_terminal_is_put_back_however_it_ends(window: Window, how: bytes | signal.Signals, expected: int):
    """Lines are edited and echoed again, as before."""
    window.shows("space pause")
    assert window.modes() != window.before
    if isinstance(how, bytes):
        window.type(how)
    else:
        window.process.send_signal(how)
    assert window.ended() == expected
    assert window.modes() == window.before


def test_a_fault_puts_the_terminal_back_too(window: Window, tmp_path: Path):
    """Here the recording is overwritten while it is played: one line, exit status 2, and a usable terminal."""
    window.shows("space pause")
    (tmp_path / "run" / "log.sqlite").write_bytes(b"gone" * 4096)
    window.type(b"ng0\r")
    assert window.ended() == 2
    assert window.modes() == window.before


def test_it_goes_on_listening_after_ctrl_z(window: Window):
    """Stopped and continued, as by a shell that set the terminal for itself meanwhile."""
    window.shows("space pause")
    os.kill(window.process.pid, signal.SIGSTOP)
    termios.tcsetattr(window.slave, termios.TCSANOW, window.before)
    os.kill(window.process.pid, signal.SIGCONT)
    time.sleep(0.2)
    window.type(b"n")
    window.shows("stepped to fact 1")
    assert window.modes() != window.before


def test_input_that_is_no_terminal_is_not_listened_to(tmp_path: Path):
    """Whatever comes over a pipe moves nothing, and its end ends nothing."""
    directory = record(tmp_path, story(2))
    done = subprocess.run(
        [sys.executable, "-m", "console", "replay", str(directory), "--instant", "--exit-at-end"],
        input="q" * 100, capture_output=True, text=True, cwd=ROOT, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
