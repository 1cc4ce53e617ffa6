"""`sagepace log cat`: the facts themselves, one a line; with --follow also those to come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from console.inspect.selected import Options, Selected, selected, stretch
from console.inspect.times import exact, moment
from console.recording import Recording, open_recording
from shared.flow import author
from shared.messages import Fact

FOLLOW_S = 0.3
"""How often --follow looks for new facts."""
COMMON = ("type", "id", "cause", "lineage")
"""What all facts have; the payload is what is left."""
_SHORT = 60
"""Longer values are cut in the lines for people; --json gives them whole."""


class Found(NamedTuple):
    """A fact as the log has it."""

    seq: int
    time_ns: int
    fact: Fact


def print_facts(directory: Path, options: Options, *, follow: bool, as_json: bool, limit: int | None) -> None:
    """Prints the wanted facts, at most `limit`, and with `follow` those added later too. Raises `BadInput`."""
    with open_recording(directory) as recording:
        recording.require_readable()
        wanted = selected(recording.reader, options)
        facts = _following(recording, wanted, options) if follow else _there(recording, wanted, options)
        some = False
        for found in islice(facts, limit):
            some = True
            print(fact_json(found) if as_json else fact_line(found), flush=follow)
    if not some and not options.is_all:
        print(f"sagepace: the log has no fact that {options.words()} selects", file=sys.stderr)
    tell_passed_over(recording)


def tell_passed_over(recording: Recording) -> None:
    """Says on standard error what could not be read: the first of it in words, and all of it as counts."""
    for problem in recording.unreadable[:3]:
        print(f"sagepace: passed over: {problem.what}", file=sys.stderr)
    if recording.passed_over.total() > 3:
        counts = ", ".join(f"{count} of {kind}" for kind, count in recording.passed_over.most_common())
        print(f"sagepace: passed over in all: {counts}; `sagepace log verify` lists everything", file=sys.stderr)


def _there(recording: Recording, wanted: Selected, options: Options) -> Iterator[Found]:
    """The wanted facts that the log has now."""
    span = stretch(recording.reader, options)
    return _facts(recording, wanted, span.first - 1 if span else 0, span.last if span else None)


def _following(recording: Recording, wanted: Selected, options: Options) -> Iterator[Found]:
    """The same, and then those to come, until the end that was asked for."""
    first, last = _number(options.first), _number(options.until)
    timed = Options(first=None if first else options.first, until=None if last else options.until)
    after = first - 1 if first else 0
    while True:
        span = stretch(recording.reader, timed)
        head = recording.reader.head().seq
        end = min(head if span is None else span.last, last or head)
        yield from _facts(recording, wanted, max(after, span.first - 1 if span else 0), end)
        after = max(after, end)
        if after == last or (last is None and end < head):
            return
        time.sleep(FOLLOW_S)


def _number(text: str | None) -> int | None:
    """The sequence number that an option states; None when it states something else, or nothing."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 19 and int(text) else None


def _facts(recording: Recording, wanted: Selected, after: int, until: int | None) -> Iterator[Found]:
    facts = recording.facts(wanted.types, None, after, until, roles=wanted.roles, lineages=wanted.lineages)
    return (Found(*each) for each in facts)


def fact_json(found: Found) -> str:
    """One fact as a line of JSON."""
    return msgspec.json.encode(described(found)).decode()


def described(found: Found) -> dict[str, Any]:
    """One fact as plain data: what the log knows of it, and under ``payload`` what it says."""
    fields: dict[str, Any] = msgspec.to_builtins(found.fact)
    return {
        "seq": found.seq,
        "time": exact(found.time_ns),
        "fact": type(found.fact).__name__,
        "role": author(found.fact),
        "id": found.fact.id,
        "cause": found.fact.cause,
        "lineage": found.fact.lineage,
        "payload": {name: value for name, value in fields.items() if name not in COMMON},
    }


def fact_line(found: Found) -> str:
    """One fact as a line for people, such as ``42 12:00:01.250 s3.c7 TaskChecked usable=true``."""
    fact = found.fact
    words = [f"{found.seq:>6}", moment(found.time_ns)[11:23], f"{fact.lineage or '-':<10}", type(fact).__name__]
    return " ".join([*words, *field_texts(fact)])


def field_texts(fact: Fact, *, without: tuple[str, ...] = ()) -> list[str]:
    """What a fact says, field by field, long values cut."""
    fields: dict[str, Any] = msgspec.to_builtins(fact)
    return [f"{name}={short(value)}" for name, value in fields.items() if name not in COMMON and name not in without]


def short(value: Any) -> str:
    """A value as JSON, cut when it is long."""
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"[{len(value)} items]"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
