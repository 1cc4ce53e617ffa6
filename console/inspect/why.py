"""`sagepace log why-waiting`: what each service waits for, since when, and the root of it; from the log and the marks in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from console.inspect.cat import tell_passed_over
from console.inspect.standstill import Standstill, Wait, standstill
from console.inspect.summary import RecordingInfo, summary
from console.inspect.times import duration, moment
from console.inspect.work import ANSWERS, Marks, Rules, Window
from console.recording import Recording, open_recording
from services.learner.ledger import Expectations
from shared.config import read_section
from shared.errors import BadInput
from shared.flow import UPKEEP
from shared.messages import CandidateNominated, Role, RunStarted, StepOpened, TrainingEnded
from shared.rewards.rules import SageRules

_BEGINNINGS = (RunStarted, StepOpened, CandidateNominated, TrainingEnded)


def print_why_waiting(directory: Path, *, as_json: bool) -> None:
    """Prints what everybody waits for, or that the run has ended. Raises `BadInput`."""
    with open_recording(directory) as recording:
        recording.require_readable()
        info = summary(recording.reader)
        stands = None if info.closed else look(recording)
    now_ns = time.time_ns() if info.being_written else info.last_time_ns
    if as_json:
        print(msgspec.json.encode(report(info, stands, now_ns)).decode())
    else:
        print("\n".join(report_lines(info, stands, now_ns)))
    tell_passed_over(recording)


def look(recording: Recording) -> Standstill:
    """What everybody waits for at the end of the log. Raises `BadInput` for a log without a run."""
    started = next((fact for _, _, fact in recording.facts([RunStarted])), None)
    if not isinstance(started, RunStarted):
        raise BadInput(f"{recording.path} holds no run: there is no RunStarted in it")
    rules = _rules(started)
    turns = [(seq, fact) for seq, _, fact in recording.facts(UPKEEP)]
    marks = Marks(recording.reader.cursors(), turns)
    window = Window(rules)
    for row in recording.sound(recording.reader.rows(_begin(recording, marks), on_damage=recording.damaged)):
        window.take(row, None if row.type in ANSWERS else recording.decoded(row))
    return standstill(window, marks, Expectations(rules.sage, train_on_difficulty=rules.train_on_difficulty))


def _rules(started: RunStarted) -> Rules:
    config = started.config
    return Rules(
        read_section(SageRules, config.get("sage", {}), "sage"),
        bool(config.get("solver", {}).get("train_on_difficulty", True)),
        len(config.get("gate", {}).get("test_temperatures", [1.0])),
    )


def _begin(recording: Recording, marks: Marks) -> int:
    """Where to begin reading: before the current step, test or evaluation, and before what any service says it has done.

    A slice's context is not worked on. A service that left no mark, or whose mark lies in an earlier step, is judged by the
    current step alone: the Learner would not have opened it while something of an earlier one was still missing.
    """
    names = {kind.__name__ for kind in _BEGINNINGS}
    last = {tally.type: tally.last for tally in recording.reader.tallies() if tally.type in names}
    current = last.get(StepOpened.__name__, last.get(RunStarted.__name__, 1))
    lowest = marks.lowest()
    return max(recording.reader.handled_from(), min(current - 1, current - 1 if lowest is None else max(lowest, 0)), 0)


def report(info: RecordingInfo, stands: Standstill | None, now_ns: int) -> dict[str, Any]:
    """All of it as plain data."""
    state = {"name": info.name, "being_written": info.being_written, "last_seq": info.last_seq, "now_ns": now_ns}
    if stands is None:
        return state | {"ended": True, "ok": info.ok, "reason": info.reason, "services": [], "root": None}
    return state | {"ended": False, **msgspec.to_builtins(stands)}


def report_lines(info: RecordingInfo, stands: Standstill | None, now_ns: int) -> Iterator[str]:
    """All of it for people."""
    if stands is None:
        yield f"{info.name}: nobody waits, the run has {'ended well' if info.ok else 'stopped'}: {info.reason}"
        return
    quiet = duration((now_ns - info.last_time_ns) / 1e9)
    state = f"being written, no new fact for {quiet}" if info.being_written else "nobody writes its log now"
    yield f"{info.name}: {state}; last fact {info.last_seq} at {moment(info.last_time_ns)}"
    yield f"under way: {stands.phase}"
    for wait in stands.services:
        yield f"  {wait.role:<10} {_words(wait, now_ns) if wait.what else 'nothing to do'}"
    yield f"root: {stands.root.role}: {_words(stands.root, now_ns)}" if stands.root else "root: nothing is open"


def _words(wait: Wait, now_ns: int) -> str:
    words = wait.what
    if wait.on:
        words += f"; waits for {', '.join(_name(role) for role in wait.on)}"
    if wait.first:
        words += f"; first #{wait.first.seq} {wait.first.fact} {wait.first.lineage}".rstrip()
    if wait.since_ns is not None:
        words += f"; since {moment(wait.since_ns)[11:23]}, {duration(max(0, now_ns - wait.since_ns) / 1e9)}"
    return words


def _name(role: Role) -> str:
    return role.value
