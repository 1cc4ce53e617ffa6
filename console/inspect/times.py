"""Journal times and spans of time as text."""

from __future__ import annotations

from datetime import UTC, datetime

_SECOND = 1_000_000_000


def moment(time_ns: int) -> str:
    """A journal time for people, such as ``2026-01-31 12:00:01.250 UTC``."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(" ", "milliseconds").replace("+00:00", " UTC")


def exact(time_ns: int) -> str:
    """A journal time for programs, exact: ``2026-01-31T12:00:01.250000000Z``."""
    seconds, rest = divmod(time_ns, _SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def parsed(text: str) -> int:
    """The journal time that `exact` gave as text. Raises `ValueError` for anything else."""
    whole, dot, rest = text.removesuffix("Z").partition(".")
    if not (dot and text.endswith("Z") and len(rest) == 9 and rest.isdecimal()):
        raise ValueError(f"{text!r} is no time as an export writes it")
    since = datetime.fromisoformat(whole + "+00:00") - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * _SECOND + int(rest)


def duration(seconds: float) -> str:
    """A span of time for people: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 05 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
