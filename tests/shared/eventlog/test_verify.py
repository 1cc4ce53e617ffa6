"""Damage is found, named and read around."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import BadInput
from shared.eventlog.entry import GENESIS, Row, chained
from shared.eventlog.reader import CHUNK, LogReader
from shared.eventlog.sqlite import SqliteJournal
from shared.eventlog.verify import Head, Problem, problems

from .conftest import edit, entry, problems_in


def whole(count: int) -> tuple[list[Row], Head]:
    """The rows of a sound log."""
    rows: list[Row] = []
    checksum = GENESIS
    for seq in range(1, count + 1):
        item = entry(seq)
        checksum = chained(checksum, seq, 1000 + seq, item.type, item.payload)
        rows.append(Row(seq, *item[:-1], 1000 + seq, item.payload, checksum))
    return rows, Head(count, checksum)


@given(st.integers(1, 8), st.data())
def test_any_one_byte_changed_accuses_that_fact(count: int, data: st.DataObject) -> None:
    """Whichever byte of whichever payload: the fact is named, and no other."""
    rows, head = whole(count)
    assert list(problems(rows, head)) == []
    at = data.draw(st.integers(0, count - 1))
    payload = bytearray(rows[at].payload)
    position = data.draw(st.integers(0, len(payload) - 1))
    payload[position] ^= data.draw(st.integers(1, 255))
    rows[at] = rows[at]._replace(payload=bytes(payload))
    assert {problem.seq for problem in problems(rows, head)} == {at + 1}


@given(st.integers(2, 8), st.data())
def test_missing_facts_are_named(count: int, data: st.DataObject) -> None:
    """Rows taken out, at the start, in the middle or at the end, and nothing else is complained of."""
    rows, head = whole(count)
    first = data.draw(st.integers(1, count))
    last = data.draw(st.integers(first, count))
    what = f"fact {first} is missing" if first == last else f"facts {first} to {last} are missing"
    missing = Problem(first, what, 0 if first == last else last)
    assert list(problems(rows[: first - 1] + rows[last:], head)) == [missing]


def test_rows_that_were_exchanged_or_renumbered_are_found() -> None:
    """Closing a gap by renumbering does not hide it."""
    rows, head = whole(4)
    renumbered = [rows[0], rows[2]._replace(seq=2), rows[3]._replace(seq=3)]
    assert {problem.seq for problem in problems(renumbered, head)} == {2, 3, 4}
    assert list(problems([], Head(0, GENESIS))) == []


def test_a_flipped_byte_in_the_file_is_found(log: Callable[[int], Path]) -> None:
    """One byte changed on disk, which SQLite itself does not see, is named by its sequence number; the rest is still read."""
    path = log(300)
    data = path.read_bytes()
    assert data.count(b"policy-0123") == 1
    path.write_bytes(data.replace(b"policy-0123", b"policy-0124"))
    assert problems_in(path) == [
        (123, "fact 123 (StepOpened) was changed: its checksum does not fit it and the fact before"),
    ]


@pytest.mark.parametrize("seq", [1, 150, 300])
def test_a_deleted_row_is_found(seq: int, log: Callable[[int], Path]) -> None:
    """The first, one in the middle, the last."""
    path = log(300)
    edit(path, "DELETE FROM facts WHERE seq = ?", seq)
    assert problems_in(path) == [(seq, f"fact {seq} is missing")]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE facts SET lineage = 's9' WHERE seq = 3", "fact 3 (StepOpened): a column"),
        ("UPDATE facts SET checksum = 'text' WHERE seq = 3", "fact 3 cannot be read"),
        ("UPDATE facts SET time_ns = 5 WHERE seq = 3", "fact 3 (StepOpened) was changed"),
        ("INSERT INTO cursors VALUES ('solver', 99)", "the cursor of solver stands at 99"),
        ("INSERT INTO facts VALUES (7, 'x', 'x', 'x', '', '', 0, x'00', x'00')", "1 facts stand after fact 5"),
        ("UPDATE head SET checksum = x'0000000000000000'", "the head's checksum"),
        ("DELETE FROM head", "its head is missing"),
    ],
)
def test_other_tampering_is_found(statement: str, what: str, log: Callable[[int], Path]) -> None:
    """Columns, times, cursors, additions and the head itself."""
    path = log(5)
    edit(path, statement)
    assert any(what in problem for _, problem in problems_in(path)), problems_in(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_no_flipped_byte_goes_wrong_silently(at: int, flip: int, tmp_path: Path) -> None:
    """Any byte of the file: either `verify` (or opening) complains, or every fact still reads as it was written."""
    source = tmp_path / "log.sqlite"
    if not source.exists():
        journal = SqliteJournal(source)
        journal.append([entry(number) for number in range(1, 1201)])
        journal.close()
    data = bytearray(source.read_bytes())
    data[at % len(data)] ^= flip
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(data)
    try:
        if problems_in(copy):
            return
        with closing(LogReader(copy)) as reader:
            assert [row.payload for row in reader.rows()] == [entry(number).payload for number in range(1, 1201)]
    except BadInput as error:
        assert "\n" not in str(error)


def test_a_changed_definition_of_a_table_is_refused(log: Callable[[int], Path]) -> None:
    """One letter of `INTEGER` is another: SQLite would give numbers as it finds them, and the log is not read like that."""
    path = log(10)
    path.write_bytes(path.read_bytes().replace(b"seq INTEGER PRIMARY KEY", b"seq INTEGES PRIMARY KEY"))
    with pytest.raises(BadInput, match="damaged: the definition of a table was changed; restore it from a copy"):
        LogReader(path)


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_a_truncated_file_is_reported_and_read_as_far_as_possible(keep: float, log: Callable[[int], Path]) -> None:
    """What is left is read, what is not is reported; nothing but `BadInput` ever comes out."""
    path = log(3 * CHUNK)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    assert problems_in(path)
    with closing(LogReader(path)) as reader:
        lost: list[Problem] = []
        kept = [row.seq for row in reader.rows(on_damage=lost.append)]
        assert kept == sorted(set(kept))
        assert lost
        with pytest.raises(BadInput, match="sagepace log verify"):
            list(reader.rows())


def test_a_log_is_read_while_it_is_written(tmp_path: Path) -> None:
    """A reader sees the facts acknowledged so far, whole, and does not disturb the writer."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    with closing(LogReader(tmp_path / "log.sqlite")) as reader:
        for number in range(1, 30):
            journal.append([entry(number)])
            assert [row.seq for row in reader.rows()] == list(range(1, number + 1))
            assert list(reader.verify()) == []
    journal.close()


def test_a_closed_log_is_one_file_that_can_be_read_where_nothing_may_be_written(log: Callable[[int], Path]) -> None:
    """Opening leaves it alone: no other file is needed or left behind."""
    path = log(5)
    before = path.read_bytes()
    assert problems_in(path) == []
    assert path.read_bytes() == before
    assert sorted(item.name for item in path.parent.iterdir()) == ["log.sqlite", "log.sqlite.lock"]


def test_rows_are_selected_by_type_lineage_and_range(tmp_path: Path) -> None:
    """A lineage gives its own facts and those below it, and not those that merely begin alike."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    journal.append([entry(n) for n in (1, 3, 30, 31, 300)] + [entry(1, size=10)])
    journal.close()
    with closing(LogReader(tmp_path / "log.sqlite")) as reader:
        assert [row.seq for row in reader.rows(lineage="s3")] == [2]
        assert [row.seq for row in reader.rows(types=["RunEnded"])] == [6]
        assert [row.seq for row in reader.rows(1, until=4)] == [2, 3, 4]
        assert reader.counts() == {"StepOpened": 5, "RunEnded": 1}
        assert reader.span()[:2] == (1, 6)
