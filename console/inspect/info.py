"""`sagepace log info`: counts, rates, span, state, seeds and decisions of one log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from console.inspect.summary import RecordingInfo
from console.inspect.times import duration, moment
from console.recording import open_recording
from shared.eventlog.reader import SLICE
from shared.messages import WIRE_VERSION

_GAPS_SHOWN = 5


def print_info(directory: Path, *, as_json: bool) -> None:
    """Prints the log at one glance. Raises `BadInput` when there is no readable log."""
    with open_recording(directory) as recording:
        info = recording.info()
    print(msgspec.json.encode(info).decode() if as_json else "\n".join(info_lines(info)))


def info_lines(info: RecordingInfo) -> Iterator[str]:
    """The recording at one glance, as lines."""
    yield f"{info.name}: {_state(info)}"
    if info.origin:
        yield f"  origin   {info.origin.what}; of the {info.origin.facts} facts of {info.origin.name}"
    if info.handled_from:
        yield f"  context  facts 1 to {info.handled_from}: a re-run sees them and does not work on them"
    yield f"  log      {info.path}, {info.size_bytes / 1e6:.1f} MB, format {info.format}"
    yield f"  facts    {info.facts}, numbers {info.first_seq} to {info.last_seq}, {_gaps(info)}"
    rate = f", {info.facts / info.duration_s:.1f} facts/s" if info.duration_s > 0 else ""
    yield f"  span     {moment(info.first_time_ns)} to {moment(info.last_time_ns)}, {duration(info.duration_s)}{rate}"
    yield f"  repeat   {_repeat(info)}"
    yield from (f"           not controlled: {what}" for what in info.not_controlled)
    yield f"  wire     version {info.wire_version}{_newer(info)}"
    if info.versions:
        yield f"  versions {', '.join(f'{name} {number}' for name, number in info.versions.items())}"
    for name, count in info.unknown.items():
        yield f"  unknown  {count} of {name}: facts that this version does not know"
    yield from (f"  decision step {each.step}: {each.decision}, {each.reason}" for each in info.decisions)
    yield from _table(info)


def _state(info: RecordingInfo) -> str:
    if info.being_written:
        return "still being written"
    if info.origin:
        return "a slice of a log" if info.origin.kind == SLICE else "a part of a log, to look at and not to re-run"
    if not info.closed:
        ended = f" after {info.sessions_ended} earlier end(s)" if info.sessions_ended else ""
        return f"cut off or interrupted{ended}: it does not say that it ended" if info.facts else "no facts yet"
    again = f", its {info.sessions_ended}. end" if info.sessions_ended > 1 else ""
    return f"{'ended well' if info.ok else 'stopped'} ({info.reason}){again}"


def _gaps(info: RecordingInfo) -> str:
    if not info.gaps:
        return "no gap"
    shown = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in info.gaps[:_GAPS_SHOWN])
    more = f" and {len(info.gaps) - _GAPS_SHOWN} more gaps" if len(info.gaps) > _GAPS_SHOWN else ""
    return f"missing: {shown}{more}"


def _repeat(info: RecordingInfo) -> str:
    if info.seed is None:
        return "unknown: the log does not begin as a run does"
    seeds = ", ".join(f"{key} = {value}" for key, value in info.seeds.items()) or f"seed {info.seed}"
    return f"level {info.level}, {seeds}"


def _newer(info: RecordingInfo) -> str:
    return f", newer than {WIRE_VERSION}, which this version reads: its facts cannot be shown here" if info.newer_wire else ""


def _table(info: RecordingInfo) -> Iterator[str]:
    """Facts by type and giver in the order of their first appearance, then sums by giver."""
    if not info.shares:
        return
    width = max(len(share.fact) for share in info.shares)
    yield f"  {'fact':<{width}} {'given by':<10} {'number':>8} {'per s':>9}"
    for share in info.shares:
        yield f"  {share.fact:<{width}} {share.role:<10} {share.count:>8} {share.per_s:>9.2f}"
    for role, count in sorted(info.by_role.items(), key=lambda item: -item[1]):
        rate = count / info.duration_s if info.duration_s > 0 else 0.0
        yield f"  {'all':<{width}} {role:<10} {count:>8} {rate:>9.2f}"
