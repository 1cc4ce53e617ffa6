"""A real `sagepace run` as a process, with its children within reach."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from console.recording import open_recording
from shared.codec import encode
from shared.errors import BadInput
from shared.flow import UPKEEP
from shared.messages import Fact, RunStarted

ROOT = Path(__file__).parents[2]
SERVICES = ("bus", "inference", "challenger", "critic", "planner", "solver", "verifier", "learner", "gate")
SMALL = (
    "domain.seeds=40", "learner.num_challenges=6", "learner.num_assignments=6", "learner.threads=1", "learner.nominate_every=2",
    "gate.max_pairs=24", "gate.min_pairs_per_kind=1", "gate.block=8", "gate.test_tasks=12", "gate.test_temperatures=[1.0]",
)  # fmt: skip


class RunProcess:
    """One run. Use it in a with statement: whatever happens, nothing is left behind."""

    def __init__(self, folder: Path, *options: str, steps: int = 4, seed: int = 3) -> None:
        self.folder = folder
        settings = [part for setting in SMALL for part in ("--set", setting)]
        command = [sys.executable, "-m", "console", "run", "runs/tiny.toml", "--dir", str(folder), "--quiet"]
        command += ["--steps", str(steps), "--seed", str(seed), *settings, *options]
        self._output = (folder.parent / f"{folder.name}.{time.monotonic_ns()}.txt").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=self._output, stderr=subprocess.STDOUT)

    def __enter__(self) -> RunProcess:
        return self

    def __exit__(self, *_: object) -> None:
        left = self.services()
        for pid in [self.process.pid, *left.values()]:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self._output.close()

    def services(self) -> dict[str, int]:
        """The process id of each process that is running in this run's folder, by its name."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                words = command_line(entry)
                service = next((s for s in SERVICES if f"services.{s}" in words), None)
                if service and any(str(self.folder) in word for word in words):
                    named = words.index("--replica") + 1 if "--replica" in words else 0
                    found[words[named] if named else service] = int(entry.name)
        return found

    def head(self) -> int:
        """How many facts the log holds."""
        try:
            with open_recording(self.folder) as recording:
                return recording.info().last_seq
        except BadInput:
            return 0

    def wait_for(self, reached: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
        """Waits while the run goes on; fails when it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not reached():
            assert self.process.poll() is None, f"the run ended while waiting for {what}:\n{self.output()}"
            assert time.monotonic() < deadline, f"no {what} after {timeout_s} s:\n{self.output()}"
            time.sleep(0.05)

    def end(self, timeout_s: float = 180.0) -> int:
        """Waits for the run's end; its exit code."""
        return self.process.wait(timeout_s)

    def output(self) -> str:
        """What the run printed."""
        return Path(self._output.name).read_text(encoding="utf-8")

    def count(self, kind: type[Fact]) -> int:
        """How many facts of a type the log holds."""
        with open_recording(self.folder) as recording:
            return recording.info().by_type.get(kind.__name__, 0)

    def said(self) -> dict[str, Fact]:
        """What the run said, as `said_in` has it."""
        return said_in(self.folder)


def said_in(folder: Path) -> dict[str, Fact]:
    """Every fact of the log by id, once it is found whole.

    Where the run lies is no part of what it said, and neither is which processes were at work.
    """
    with open_recording(folder) as recording:
        assert recording.verify() == []
        facts = [fact for _, _, fact in recording.facts() if type(fact) not in UPKEEP]
    plain = [msgspec.structs.replace(fact, store="", config={}) if isinstance(fact, RunStarted) else fact for fact in facts]
    return {fact.id: fact for fact in plain}


def differences(one: Mapping[str, Fact], other: Mapping[str, Fact]) -> list[str]:
    """What two runs said differently, a line each: facts that only one of them has, and facts whose content differs."""
    lines = []
    for sign, facts, others in (("only in the first", one, other), ("only in the second", other, one)):
        lines += [f"{sign}: {type(fact).__name__} {fact.lineage}" for name, fact in facts.items() if name not in others]
    for name in one.keys() & other.keys():
        if encode(one[name]) != encode(other[name]):
            lines.append(f"not the same: {one[name]} and {other[name]}")
    return lines


def command_line(entry: Path) -> list[str]:
    """The words of a process's command; none when it is gone."""
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def alive(pid: int) -> bool:
    """Whether the process runs (a dead one that nobody has asked about yet does not)."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
