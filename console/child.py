"""One service process: started with a log file of its own, watched, and stopped together with whatever it started itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.parent import end_with_parent

MAX_RESTARTS = 10
"""A process that dies more often than this within `WINDOW_S` is not started again."""
WINDOW_S = 120.0
FIRST_DELAY_S = 0.2
MAX_DELAY_S = 5.0


class RestartPolicy:
    """When a process that died is started again: soon, then later and later, and after too many deaths not at all."""

    def __init__(
        self, max_restarts: int = MAX_RESTARTS, window_s: float = WINDOW_S, first_delay_s: float = FIRST_DELAY_S
    ) -> None:
        self.max_restarts = max_restarts
        self.window_s = window_s
        self._first_delay_s = first_delay_s
        self._deaths: deque[float] = deque()

    def delay_after_death(self, at: float) -> float | None:
        """Seconds to wait before the next start, given a death `at` this time; None to give up."""
        self._deaths.append(at)
        while self._deaths[0] < at - self.window_s:
            self._deaths.popleft()
        if len(self._deaths) > self.max_restarts:
            return None
        return min(MAX_DELAY_S, self._first_delay_s * 2.0 ** (len(self._deaths) - 1))


class Child:
    """A process with a name, in a session of its own so that the terminal's Ctrl-C reaches only the console."""

    def __init__(self, name: str, command: Sequence[str], log_file: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.restarts = 0
        self.policy = RestartPolicy()
        self.start_at = 0.0
        """Not to be started before this time."""
        self._command = list(command)
        self._log_file = log_file
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Started, and not yet found dead by `death`."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts the process; its output is appended to the log file."""
        with self._log_file.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - one system call; no thread of the console holds a lock it needs
            )

    def death(self) -> int | None:
        """The exit status if the process died since `start` (negative: by that signal), else None.

        What it left behind in its process group is killed before its id is given back to the system.
        """
        if self._process is None or os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            return None
        _kill_group(self._process.pid)
        status = self._process.wait()
        self._process = None
        return status

    def terminate(self) -> None:
        """Asks the process to end; one that stands still is woken up for it."""
        if self._process:
            # Not by `Popen`, which would first look whether it is dead and, if so, keep its death to itself.
            os.kill(self._process.pid, signal.SIGTERM)
            os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Ends the process and its group at once and waits for it."""
        if self._process:
            _kill_group(self._process.pid)
            self._process.wait()
            self._process = None

    def last_words(self, lines: int = 5) -> str:
        """The end of the log file: where the reason for a death usually stands."""
        try:
            with self._log_file.open("rb") as file:
                file.seek(max(0, self._log_file.stat().st_size - 16_384))
                text = file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def python_module(module: str, *arguments: str) -> list[str]:
    """The command that runs a module with this interpreter."""
    return [sys.executable, "-m", module, *arguments]
