"""A stretch of a log as people name it: by sequence numbers, by seconds since its beginning, or by the clock.

``120`` is fact 120, ``90s`` (also ``ms``, ``m``, ``h``, ``d``) is counted from the first fact's journal time, and
``2026-01-31T12:00:00`` is a time, in UTC unless it names another zone. Journal times may go back, the order of the log never
does: "from a time" means from the first fact that is not earlier, "until a time" means up to the first one that is later.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from shared.errors import BadInput
from shared.eventlog.reader import LogReader

_NUMBER = re.compile(r"[0-9]{1,18}")
_OFFSET = re.compile(r"([0-9]{1,18}(?:\.[0-9]+)?)(ms|s|m|h|d)")
_FAR_NS = 2**62
"""Times beyond this, in the year 2116, are as good as this one; a log's columns end at twice as much."""
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Span(NamedTuple):
    """Sequence numbers, both included."""

    first: int
    last: int


def span_of(reader: LogReader, first: str | None, until: str | None) -> Span:
    """What `--from` and `--until` select; None is the log's own end on that side.

    An end beyond the log is the log's end. Raises `BadInput` for text that is no place in a log, and for a span with nothing
    in it.
    """
    last = reader.head().seq
    begin = 1 if first is None else _first(reader, first, last)
    end = last if until is None else min(last, _last(reader, until, last))
    if begin > end:
        raise BadInput(
            f"nothing lies from {first or 'the beginning'} until {until or 'the end'}: the log has facts 1 to {last}"
        )
    return Span(begin, end)


def _first(reader: LogReader, text: str, last: int) -> int:
    place = _place(reader, text, "--from")
    if isinstance(place, Numbered):
        found: int | None = place.seq if place.seq <= last else None
    else:
        found = reader.first_since(place.time_ns)
    if found is None:
        raise BadInput(f"--from {text}: the log ends before that, with fact {last}")
    return found


def _last(reader: LogReader, text: str, last: int) -> int:
    place = _place(reader, text, "--until")
    if isinstance(place, Numbered):
        return place.seq
    later = reader.first_since(place.time_ns + 1)
    return last if later is None else later - 1


class Numbered(NamedTuple):
    """A place by its sequence number."""

    seq: int


class Timed(NamedTuple):
    """A place by its journal time."""

    time_ns: int


def _place(reader: LogReader, text: str, option: str) -> Numbered | Timed:
    if _NUMBER.fullmatch(text):
        if int(text) == 0:
            raise BadInput(f"{option} 0: facts are numbered from 1")
        return Numbered(int(text))
    if match := _OFFSET.fullmatch(text):
        return Timed(min(_FAR_NS, reader.span()[2] + round(float(match[1]) * _SECONDS[match[2]] * 1e9)))
    try:
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError as error:
        raise BadInput(
            f"{option} {text}: give a sequence number (120), an offset from the first fact (90s, 5m, 2h) or a time "
            "(2026-01-31T12:00:00)"
        ) from error
    return Timed(min(_FAR_NS, _nanoseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))))


def _nanoseconds(moment: datetime) -> int:
    """Since the UNIX epoch, exact to the microsecond, which a float would not be."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
