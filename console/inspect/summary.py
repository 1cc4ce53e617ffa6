"""What is in a recording, at one glance. Counts come from the log's index alone; only a handful of facts are read.

Facts are read without their types here, so that a log of a newer wire schema can be summed up too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shared.codec import BY_NAME
from shared.eventlog.reader import LogReader, Origin, Tally
from shared.eventlog.schema import FORMAT
from shared.messages import (
    WIRE_VERSION,
    CandidateJudged,
    ReplicaJoined,
    RunEnded,
    RunStarted,
    SampleFailed,
    StepExpired,
    WorkFailed,
)


class DecisionInfo(msgspec.Struct, frozen=True):
    """One verdict of the gate."""

    seq: int
    step: int
    candidate: str
    decision: str
    reason: str


class Share(msgspec.Struct, frozen=True):
    """How many facts of one type one role gave."""

    fact: str
    role: str
    count: int
    per_s: float


class RecordingInfo(msgspec.Struct, frozen=True):
    """What is in a recording, at one glance."""

    path: str
    size_bytes: int
    format: str
    facts: int
    by_type: dict[str, int]
    by_role: dict[str, int]
    shares: tuple[Share, ...]
    unknown: dict[str, int]
    """Facts whose types this version does not know, by type."""
    first_seq: int
    last_seq: int
    gaps: tuple[tuple[int, int], ...]
    """Numbers that are missing, as (first, last)."""
    first_time_ns: int
    last_time_ns: int
    duration_s: float
    being_written: bool
    """A broker holds the log just now."""
    closed: bool
    """The run said that it ended, and nobody went on with it; else it is still going, or was cut off."""
    ok: bool | None
    """How it ended; None when it did not."""
    reason: str
    sessions_ended: int
    """How often the run said that it ended: more than once when it was gone on with."""
    name: str
    seed: int | None
    seeds: dict[str, int]
    """All seeds that the run's settings state, by key."""
    level: str | None
    """How exact a repeat is promised to be."""
    not_controlled: tuple[str, ...]
    """What a repeat may differ in all the same."""
    wire_version: int | None
    newer_wire: bool
    """The wire schema is newer than this version's: its facts cannot be read here."""
    versions: dict[str, str]
    origin: Origin | None
    """What the log is a part of; None for a whole one."""
    handled_from: int
    """Facts up to this number are context for a re-run."""
    decisions: tuple[DecisionInfo, ...]


class _Ending(NamedTuple):
    """How the run ended, as its log tells it."""

    closed: bool
    ok: bool | None
    reason: str
    sessions: int


def summary(reader: LogReader) -> RecordingInfo:
    """The log at one glance. Raises `BadInput` when the file is too damaged to count."""
    tallies = reader.tallies()
    counts = reader.counts()
    first, last, began, ended = reader.span()
    duration_s = (ended - began) / 1e9
    started = next(_plain(reader, RunStarted), {})
    wire = started.get("wire_version", 1) if started else None
    being_written = reader.being_written()
    ending = _ending(reader, tallies, being_written=being_written)
    return RecordingInfo(
        path=str(reader.path),
        size_bytes=_size(reader.path),
        format=FORMAT,
        facts=sum(counts.values()),
        by_type=counts,
        by_role=_by_role(tallies),
        shares=tuple(Share(t.type, t.role, t.facts, _rate(t.facts, duration_s)) for t in tallies),
        unknown={name: count for name, count in counts.items() if name not in BY_NAME},
        first_seq=first,
        last_seq=last,
        gaps=tuple(reader.gaps()),
        first_time_ns=began,
        last_time_ns=ended,
        duration_s=duration_s,
        being_written=being_written,
        closed=ending.closed,
        ok=ending.ok,
        reason=ending.reason,
        sessions_ended=ending.sessions,
        name=_name(started, reader.path),
        seed=started.get("seed"),
        seeds=_seeds(started),
        level=started.get("level"),
        not_controlled=_not_controlled(started, counts),
        wire_version=wire,
        newer_wire=wire is not None and wire > WIRE_VERSION,
        versions=started.get("versions", {}),
        origin=reader.origin(),
        handled_from=reader.handled_from(),
        decisions=tuple(_decisions(reader)),
    )


def _plain(reader: LogReader, kind: type[Any]) -> Iterator[dict[str, Any]]:
    """The facts of a type as plain maps with their number under ``seq``; what cannot be read is left to `verify`."""
    for row in reader.rows(types=[kind.__name__], on_damage=lambda _: None):
        try:
            fact = msgspec.msgpack.decode(row.payload)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(fact, dict):
            yield fact | {"seq": row.seq}


def _ending(reader: LogReader, tallies: Collection[Tally], *, being_written: bool) -> _Ending:
    """The last `RunEnded` counts, unless processes joined after it: then somebody went on with the run."""
    ends = list(_plain(reader, RunEnded))
    joined = max((tally.last for tally in tallies if tally.type == ReplicaJoined.__name__), default=0)
    if not ends or being_written or ends[-1]["seq"] < joined:
        return _Ending(False, None, "", len(ends))
    return _Ending(True, bool(ends[-1].get("ok")), str(ends[-1].get("reason", "")), len(ends))


def _name(started: dict[str, Any], path: Path) -> str:
    """The run's name: from its run file, else its directory's."""
    return str(started.get("config", {}).get("run", {}).get("name") or path.resolve().parent.name)


def _seeds(started: dict[str, Any]) -> dict[str, int]:
    sections: dict[str, dict[str, Any]] = started.get("config", {})
    tables = ((name, table) for name, table in sections.items() if isinstance(table, dict))
    return {f"{name}.{key}": value for name, table in tables for key, value in table.items() if key.split("_")[-1] == "seed"}


def _not_controlled(started: dict[str, Any], counts: dict[str, int]) -> tuple[str, ...]:
    """What the level's promise leaves open, and what happened in this run that it does not cover."""
    if not started:
        return ()
    inference = started.get("config", {}).get("inference", {})
    found = ["journal times, and the order of facts that do not depend on each other"]
    if started.get("level", "L1") == "L1":
        found.append("another processor or other versions of the libraries may round otherwise")
    if inference.get("device", "cpu") != "cpu" or inference.get("threads", 1) != 1:
        device = f"device {inference.get('device', 'cpu')} and {inference.get('threads', 1)} threads"
        found.append(f"replies: inference ran with {device}, where sums depend on what shares a batch")
    if steps := counts.get(StepExpired.__name__):
        found.append(f"the clock: {steps} steps ended at their deadline (StepExpired)")
    if faults := counts.get(WorkFailed.__name__, 0) + counts.get(SampleFailed.__name__, 0):
        found.append(f"faults: {faults} pieces of work or samples failed")
    return tuple(found)


def _decisions(reader: LogReader) -> Iterator[DecisionInfo]:
    for fact in _plain(reader, CandidateJudged):
        told = (str(fact.get(field, "")) for field in ("candidate", "decision", "reason"))
        yield DecisionInfo(fact["seq"], fact.get("step", 0), *told)


def _by_role(tallies: Collection[Tally]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tally in tallies:
        counts[tally.role] = counts.get(tally.role, 0) + tally.facts
    return counts


def _rate(count: int, duration_s: float) -> float:
    return round(count / duration_s, 3) if duration_s > 0 else 0.0


def _size(path: Path) -> int:
    parts = (path, path.with_name(path.name + "-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
