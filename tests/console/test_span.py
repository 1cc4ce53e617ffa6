"""How people name a stretch of a log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.span import span_of
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from tests.console.replay.recordings import record, story


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[LogReader]:
    """A log of six facts; the clock went back by an hour after the fourth. It began on 2027-01-15 at 08:00:00 UTC."""
    record(tmp_path, story(4), [0.0, 60.0, 120.0, 180.0, -3420.0, -3360.0])
    reader = LogReader(tmp_path / "log.sqlite")
    yield reader
    reader.close()


@pytest.mark.parametrize(
    ("first", "until", "span"),
    [
        (None, None, (1, 6)),
        ("2", "4", (2, 4)),
        ("6", "99", (6, 6)),
        ("60s", None, (2, 6)),
        ("1m", "2m", (2, 3)),
        ("1500ms", "0.05h", (2, 6)),
        ("2027-01-15T08:02", None, (3, 6)),
        ("2027-01-15 08:02:00.000 UTC", "2027-01-15T10:02:30+02:00", (3, 3)),
    ],
)
def test_numbers_offsets_and_times_select(reader: LogReader, first: str | None, until: str | None, span: tuple[int, int]):
    """Both ends are included; "from a time" is the first fact not earlier, "until" goes up to the first that is later."""
    assert span_of(reader, first, until) == span


@pytest.mark.parametrize(
    ("first", "until", "reason"),
    [
        ("0", None, "numbered from 1"),
        ("7", None, "--from 7: the log ends before that, with fact 6"),
        ("1d", None, "--from 1d: the log ends before that"),
        ("999999999999999d", None, "ends before that"),
        ("9999-12-31", None, "ends before that"),
        ("5", "3", "nothing lies from 5 until 3: the log has facts 1 to 6"),
        (None, "2027-01-15", "nothing lies from the beginning until 2027-01-15"),
        ("soon", None, "--from soon: give a sequence number"),
        (None, "-1", "--until -1: give a sequence number"),
        (None, "٣", "--until ٣: give a sequence number"),
        (None, "2027-13-01", "--until 2027-13-01: give a sequence number"),
    ],
)
def test_what_is_no_place_in_a_log_gets_one_line(reader: LogReader, first: str | None, until: str | None, reason: str):
    """With the option, what was given, and what can be given instead."""
    with pytest.raises(BadInput, match=reason) as caught:
        span_of(reader, first, until)
    assert "\n" not in str(caught.value)
