"""`sagepace log diff`: do two logs say the same? Facts are compared by id; where and when they stand does not count.

Nor does what differs between two runs that say the same: facts about processes, where a run writes and on what machine, and
how sessions ended that were gone on with. In memory are a hash of each id and of each fact, 28 bytes a fact.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from console.inspect.cat import Found, described, fact_line, tell_passed_over
from console.inspect.order import LAST, Place, place
from console.launch import FREE_TO_CHANGE
from console.recording import Recording, open_recording
from console.rerun.fields import FieldDifference, field_differences
from shared.codec import BadFact, decode
from shared.eventlog.entry import Row
from shared.flow import UPKEEP
from shared.messages import RunEnded, RunStarted

_UPKEEP = {kind.__name__ for kind in UPKEEP}
_KEYS = np.dtype([("key", "u8"), ("digest", "u8"), ("seq", "u4")])
_FIELDS_SHOWN = 20


class Pair(NamedTuple):
    """A fact of either log, or the two of one id."""

    ours: Row | None
    theirs: Row | None

    @property
    def row(self) -> Row:
        """The one in A if it is there."""
        row = self.ours or self.theirs
        assert row is not None
        return row

    @property
    def column(self) -> int:
        """Its column of the summary: only in A, only in B, changed."""
        return 1 if self.ours is None else 0 if self.theirs is None else 2


class Outcome(NamedTuple):
    """What a comparison came to."""

    same: int
    left_out: int
    summary: dict[str, list[int]]
    """By type: only in A, only in B, changed."""
    first: Pair | None
    damaged: bool = False
    """Facts had to be left out that are not there or not as they were recorded: what is left cannot be called identical."""


def print_diff(ours: Path, theirs: Path, *, as_json: bool) -> int:
    """Prints the first difference and a summary, and gives the exit status: 0 when both say the same. Raises `BadInput`."""
    with ExitStack() as stack:
        logs = [stack.enter_context(open_recording(place)) for place in (ours, theirs)]
        outcome = compare(*logs)
        print(msgspec.json.encode(_data(outcome)).decode() if as_json else "\n".join(_lines(outcome)))
    for log in logs:
        tell_passed_over(log)
    return 1 if outcome.summary or outcome.damaged else 0


def compare(ours: Recording, theirs: Recording) -> Outcome:
    """Compares two logs as they stand now."""
    a, left_out_a = _keys(ours)
    b, left_out_b = _keys(theirs)
    spot = np.minimum(np.searchsorted(b["key"], a["key"]), max(len(b) - 1, 0))
    shared = b["key"][spot] == a["key"] if len(b) else np.zeros(len(a), bool)
    differ = shared & (b["digest"][spot] != a["digest"]) if len(b) else shared
    only_b = ~np.isin(b["key"], a["key"], assume_unique=True)
    changed = sorted(zip(a["seq"][differ].tolist(), b["seq"][spot][differ].tolist(), strict=True)) if len(b) else []
    summary: dict[str, list[int]] = {}
    first: tuple[tuple[Place, int], Pair] | None = None
    for pair in _pairs(ours, theirs, np.sort(a["seq"][~shared]).tolist(), np.sort(b["seq"][only_b]).tolist(), changed):
        summary.setdefault(pair.row.type, [0, 0, 0])[pair.column] += 1
        rank = (LAST if pair.row.type == RunEnded.__name__ else place(pair.row.lineage)), pair.row.seq
        if first is None or rank < first[0]:
            first = rank, pair
    real = sum(counts[2] for counts in summary.values())
    same = int(shared.sum()) - real
    damaged = any(log.passed_over for log in (ours, theirs))
    return Outcome(same, left_out_a + left_out_b, dict(sorted(summary.items())), first[1] if first else None, damaged)


def _keys(recording: Recording) -> tuple[NDArray[Any], int]:
    """Hashes of ids and facts, sorted by the first, and how many facts do not count."""
    recording.require_readable()
    ends = [row.seq for row in _rows(recording, [RunEnded.__name__])]
    found, left_out = bytearray(), 0
    for row in recording.sound_log():
        if row.type in _UPKEEP or (row.type == RunEnded.__name__ and row.seq != ends[-1]):
            left_out += 1
            continue
        name = row.type if row.type == RunEnded.__name__ else row.id
        found += blake2b(name.encode(), digest_size=8).digest()
        found += blake2b(_that_counts(row), digest_size=8).digest()
        found += row.seq.to_bytes(4, sys.byteorder)
    keys: NDArray[Any] = np.frombuffer(found, _KEYS)
    return keys[np.argsort(keys["key"])], left_out


def _that_counts(row: Row) -> bytes:
    """What of a fact is compared: all of it, but for the first and the last fact of a run."""
    if row.type not in {RunStarted.__name__, RunEnded.__name__}:
        return row.payload
    try:
        fact: dict[str, Any] = msgspec.msgpack.decode(row.payload)
    except (msgspec.DecodeError, RecursionError):
        return row.payload
    for name in ("store", "versions") if row.type == RunStarted.__name__ else ("id", "cause"):
        fact.pop(name, None)
    for section, key in FREE_TO_CHANGE:
        fact.get("config", {}).get(section, {}).pop(key, None)
    return msgspec.msgpack.encode(fact, order="sorted")


def _rows(recording: Recording, types: Sequence[str] | None = None) -> Iterator[Row]:
    return recording.reader.rows(types=types, on_damage=recording.damaged)


def _pairs(
    ours: Recording, theirs: Recording, only_a: list[int], only_b: list[int], changed: list[tuple[int, int]]
) -> Iterator[Pair]:
    """All that differs, read again. Facts that differ only in how they were written down do not."""
    yield from (Pair(row, None) for row in ours.reader.numbered(only_a, ours.damaged))
    yield from (Pair(None, row) for row in theirs.reader.numbered(only_b, theirs.damaged))
    for start in range(0, len(changed), 500):
        part = dict(changed[start : start + 500])
        there = {row.seq: row for row in theirs.reader.numbered(sorted(part.values()), theirs.damaged)}
        for row in ours.reader.numbered(list(part), ours.damaged):
            other = there.get(part.get(row.seq, 0))
            if other is not None and not _reads_the_same(row, other):
                yield Pair(row, other)


def _reads_the_same(row: Row, other: Row) -> bool:
    """Whether two payloads are one fact, such as one of an older version that left out a field with its default."""
    if row.type in {RunStarted.__name__, RunEnded.__name__}:
        return False
    try:
        return decode(row.payload) == decode(other.payload)
    except BadFact:
        return False


def _data(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data."""
    names = ("only_in_a", "only_in_b", "changed")
    data: dict[str, Any] = {
        "identical": not (outcome.summary or outcome.damaged),
        "damaged": outcome.damaged,
        "same": outcome.same,
        "left_out": outcome.left_out,
        "summary": {name: dict(zip(names, counts, strict=True)) for name, counts in outcome.summary.items()},
        "first": None,
    }
    if outcome.first:
        a, b = (_found(row) for row in outcome.first)
        fields = _fields(a, b)
        data["first"] = {"a": a and described(a), "b": b and described(b), "fields": fields}
    return data


def _lines(outcome: Outcome) -> Iterator[str]:
    """The outcome for people."""
    left_out = f" (left out: {outcome.left_out} in both about processes and interrupted sessions)" if outcome.left_out else ""
    if outcome.first is None:
        said = "damaged, and the same as far as they can be trusted" if outcome.damaged else "identical"
        yield f"{said}: {outcome.same} facts{left_out}"
        return
    a, b = (_found(row) for row in outcome.first)
    row = outcome.first.row
    if row.type == RunStarted.__name__ and outcome.first.column != 2:
        yield "these are two different runs: their first facts have different ids, since their seeds differ"
    kind = ("only in A", "only in B", "changed")[outcome.first.column]
    yield f"first difference: {row.lineage or 'the run'}, {row.type}, {kind}"
    yield from (f"  {name} {fact_line(found)}" for name, found in (("A", a), ("B", b)) if found)
    fields = _fields(a, b)
    yield from (f"  {field.path}: {field.recorded!r} in A, {field.now!r} in B" for field in fields[:_FIELDS_SHOWN])
    width = max(len(name) for name in outcome.summary)
    yield f"{'fact':<{width}} {'only in A':>10} {'only in B':>10} {'changed':>10}"
    for name, counts in outcome.summary.items():
        yield f"{name:<{width}} " + " ".join(f"{count:>10}" for count in counts)
    totals = Counter({place: sum(counts[place] for counts in outcome.summary.values()) for place in range(3)})
    yield f"{'all':<{width}} " + " ".join(f"{totals[place]:>10}" for place in range(3))
    yield f"same: {outcome.same} facts{left_out}"


def _fields(a: Found | None, b: Found | None) -> list[FieldDifference]:
    """Where two facts of one id differ, but for what does not count."""
    if a is None or b is None:
        return []
    free = ("store", "versions.", *(f"config.{section}.{key}" for section, key in FREE_TO_CHANGE))
    counts = not isinstance(a.fact, RunStarted)
    return [field for field in field_differences(a.fact, b.fact) if counts or not field.path.startswith(free)]


def _found(row: Row | None) -> Found | None:
    if row is None:
        return None
    try:
        return Found(row.seq, row.time_ns, decode(row.payload))
    except BadFact:
        return None
