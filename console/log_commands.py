"""`sagepace log info|cat|verify`: what is in a recording, for people or, with --json, for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from console.recording import Recording, RecordingInfo, open_recording
from shared.codec import BY_NAME
from shared.config import nearest
from shared.errors import BadInput
from shared.messages import Fact

FOLLOW_S = 0.3
"""How often --follow looks for new facts."""
_SHORT = 60
"""Longer values are cut in the lines for people; --json gives them whole."""


class Wanted(NamedTuple):
    """Which facts to print; numbers are sequence numbers, both ends included."""

    types: Sequence[str] | None = None
    lineage: str | None = None
    first: int = 1
    until: int | None = None
    limit: int | None = None


def print_info(directory: Path, *, as_json: bool) -> None:
    """Prints counts, times and decisions. Raises `BadInput` when there is no readable log."""
    with open_recording(directory) as recording:
        info = recording.info()
    if as_json:
        print(msgspec.json.encode(info).decode())
    else:
        print("\n".join(info_lines(info)))


def info_lines(info: RecordingInfo) -> list[str]:
    """The recording at one glance, as lines."""
    state = "still going, or cut off" if not info.closed else "ended well" if info.ok else "stopped"
    lines = [
        f"{info.name}: {state}{f' ({info.reason})' if info.reason else ''}",
        f"  log      {info.path}, {info.size_bytes / 1e6:.1f} MB",
        f"  facts    {info.facts}, numbers {info.first_seq} to {info.last_seq}",
        f"  began    {moment(info.first_time_ns)}, lasted {info.duration_s:.0f} s",
        f"  seed     {info.seed}, wire version {info.wire_version}",
        f"  versions {', '.join(f'{name} {number}' for name, number in info.versions.items())}",
    ]
    lines += [f"  decision step {d.step}: {d.decision.value}, {d.reason}" for d in info.decisions]
    width = max((len(name) for name in info.by_type), default=0)
    return lines + [f"  {name:<{width}} {count:>8}" for name, count in info.by_type.items()]


def print_facts(directory: Path, wanted: Wanted, *, follow: bool, as_json: bool) -> None:
    """Prints the wanted facts, and with `follow` those added later too. Raises `BadInput` for an unknown fact type."""
    for name in wanted.types or ():
        if name not in BY_NAME:
            raise BadInput(f"--type {name}: no such fact; {nearest(name, BY_NAME)}")
    with open_recording(directory) as recording:
        for seq, time_ns, fact in islice(_facts(recording, wanted, follow=follow), wanted.limit):
            print(fact_json(seq, time_ns, fact) if as_json else fact_line(seq, time_ns, fact), flush=follow)
        unreadable = recording.unreadable
    for problem in unreadable:
        print(f"sagepace: passed over: {problem.what}", file=sys.stderr)


def _facts(recording: Recording, wanted: Wanted, *, follow: bool) -> Iterator[tuple[int, int, Fact]]:
    after = wanted.first - 1
    while True:
        for seq, time_ns, fact in recording.facts(wanted.types or None, wanted.lineage, after, wanted.until):
            after = seq
            yield seq, time_ns, fact
        if not follow or (wanted.until is not None and after >= wanted.until):
            return
        time.sleep(FOLLOW_S)


def fact_json(seq: int, time_ns: int, fact: Fact) -> str:
    """One fact as a line of JSON: ``seq``, ``time_ns`` and ``fact``, whose ``type`` is its class."""
    return msgspec.json.encode({"seq": seq, "time_ns": time_ns, "fact": fact}).decode()


def fact_line(seq: int, time_ns: int, fact: Fact) -> str:
    """One fact as a line for people, such as ``42 12:00:01.250 s3.c7 TaskChecked usable=True``."""
    fields: dict[str, Any] = msgspec.to_builtins(fact)
    texts = [f"{name}={_short(value)}" for name, value in fields.items() if name not in {"type", "id", "cause", "lineage"}]
    return " ".join([f"{seq:>6}", moment(time_ns)[11:23], f"{fact.lineage or '-':<10}", type(fact).__name__, *texts])


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"[{len(value)} items]"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def moment(time_ns: int) -> str:
    """A journal time as ``2026-01-31 12:00:01.250 UTC``."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(" ", "milliseconds").replace("+00:00", " UTC")


def print_verification(directory: Path, *, as_json: bool) -> int:
    """Prints what is wrong with a log and gives the exit status: 0 when it is whole, 1 when not."""
    with open_recording(directory) as recording:
        problems = recording.verify()
    if as_json:
        print(msgspec.json.encode({"whole": not problems, "problems": problems}).decode())
    elif problems:
        print("\n".join(problem.what for problem in problems))
    else:
        print("the log is whole")
    return 1 if problems else 0
