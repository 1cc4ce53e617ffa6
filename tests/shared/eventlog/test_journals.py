"""What both journals promise, and what only the one on disk can be asked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import Refused, entry_of
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.port import PAGE_BYTES, Journal
from shared.eventlog.sqlite import SCAN_ROWS, SqliteJournal
from shared.messages import RunEnded

from .conftest import edit, entry, problems_in


@pytest.fixture(params=["memory", "sqlite", "sqlite with a short tail"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """Each journal in turn; a short tail makes nearly every read go to the file."""
    made: Journal
    if request.param == "memory":
        made = MemoryJournal()
    else:
        made = SqliteJournal(tmp_path / "log.sqlite", tail_facts=3 if "short" in request.param else 20_000)
    yield made
    made.close()


def test_numbers_are_gapless_and_known_ids_are_skipped(journal: Journal) -> None:
    """A repeated fact takes no number, in the same transaction or a later one."""
    journal.append([entry(1), entry(2), entry(1)])
    journal.append([entry(2), entry(3)])
    rows, upto = journal.read(0, None, 10)
    assert [(seq, payload) for seq, _, payload in rows] == [(n, entry(n).payload) for n in (1, 2, 3)]
    assert [time_ns for _, time_ns, _ in rows] == sorted(time_ns for _, time_ns, _ in rows)
    assert upto == 3
    assert journal.head == 3
    assert journal.latest == {"StepOpened": 3}


def test_reads_filter_limit_and_end_by_bytes(journal: Journal) -> None:
    """`upto` is where the reading stopped: at the limit, at the page's bytes, or at the end."""
    journal.append([*(entry(n) for n in range(5)), *(entry(n, size=PAGE_BYTES // 2) for n in range(3))])
    assert [seq for seq, _, _ in journal.read(1, None, 2).rows] == [2, 3]
    assert journal.read(1, None, 2).upto == 3
    assert journal.read(0, {"StepOpened"}, 100).upto == 8
    large = journal.read(0, {"RunEnded"}, 100)
    assert ([seq for seq, _, _ in large.rows], large.upto) == ([6, 7], 7)
    assert journal.read(8, None, 10) == ([], 8)
    assert journal.read(0, set(), 10) == ([], 8)


def test_cursors_move_forward_only(journal: Journal) -> None:
    """A late, lower move changes nothing, and cursors need no facts."""
    journal.append([], {"solver": 4})
    journal.append([entry(1)], {"solver": 2, "planner": 1})
    assert (journal.cursor("solver"), journal.cursor("planner"), journal.cursor("critic")) == (4, 1, 0)


def test_a_reopened_log_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Numbers, ids, cursors and the chain continue; nothing is written twice."""
    path = tmp_path / "log.sqlite"
    for start in (1, 4):
        journal = SqliteJournal(path)
        journal.append([entry(n) for n in range(1, start + 3)], {"solver": start})
        journal.close()
    journal = SqliteJournal(path)
    assert (journal.head, journal.cursor("solver"), journal.latest) == (6, 4, {"StepOpened": 6})
    journal.close()
    assert problems_in(path) == []


def test_a_long_log_is_read_in_bounded_stretches(tmp_path: Path) -> None:
    """A rare type far away comes after several looks, each of which says how far it got."""
    journal = SqliteJournal(tmp_path / "log.sqlite", tail_facts=10)
    journal.append([*(entry(n) for n in range(SCAN_ROWS + 50)), entry(1, size=10), *(entry(-n) for n in range(1, 30))])
    first = journal.read(0, {"RunEnded"}, 10)
    assert first == ([], SCAN_ROWS)
    second = journal.read(first.upto, {"RunEnded"}, 10)
    assert [seq for seq, _, _ in second.rows] == [SCAN_ROWS + 51]
    assert second.upto == journal.head
    journal.close()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second journal on the same file is refused until the first is closed."""
    path = tmp_path / "log.sqlite"
    first = SqliteJournal(path)
    with pytest.raises(BadInput, match="is being written by another broker"):
        SqliteJournal(path)
    first.close()
    SqliteJournal(path).close()


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.95])
def test_a_truncated_log_is_refused_in_one_line(keep: float, log: Callable[[int], Path]) -> None:
    """A file that lost its end is not written on; the line says what is wrong and what to call."""
    path = log(2000)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(BadInput, match=r"log\.sqlite.*(malformed|damaged|not a log)") as caught:
        SqliteJournal(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE facts SET payload = x'00' WHERE seq = 5",
        "UPDATE facts SET payload = 'text' WHERE seq = 5",
        "DELETE FROM facts WHERE seq = 5",
        "DELETE FROM facts WHERE seq = 9",
    ],
)
def test_a_damaged_log_is_not_built_upon(statement: str, log: Callable[[int], Path]) -> None:
    """A changed or missing fact is found when the log is opened for writing."""
    path = log(9)
    edit(path, statement)
    with pytest.raises(BadInput, match=r"is damaged: fact [59]"):
        SqliteJournal(path)


def test_another_format_is_refused(log: Callable[[int], Path]) -> None:
    """A log of a later version is left alone."""
    path = log(1)
    edit(path, "UPDATE meta SET value = '99'")
    with pytest.raises(BadInput, match="has log format 99"):
        SqliteJournal(path)


def test_a_torn_write_ahead_log_loses_whole_transactions_only(tmp_path: Path) -> None:
    """A copy taken in mid-run, its write-ahead log cut anywhere, opens as a shorter whole log."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    for number in range(1, 21):
        journal.append([entry(2 * number), entry(2 * number + 1)])
    data = (tmp_path / "log.sqlite-wal").read_bytes()
    lengths = []
    for cut in range(len(data) // 3, len(data) + 1, len(data) // 17):
        copy = tmp_path / f"copy{cut}"
        copy.mkdir()
        shutil.copy(tmp_path / "log.sqlite", copy / "log.sqlite")
        (copy / "log.sqlite-wal").write_bytes(data[:cut])
        shorter = SqliteJournal(copy / "log.sqlite")
        lengths.append(shorter.head)
        shorter.close()
        assert problems_in(copy / "log.sqlite") == []
    journal.close()
    assert lengths == sorted(lengths)
    assert all(length % 2 == 0 for length in lengths)
    assert lengths[0] < lengths[-1]


def test_an_id_of_any_length_is_not_taken() -> None:
    """Ids lie in an index: a long one is refused with its length."""
    with pytest.raises(Refused, match="an id of 100000 characters; the limit is 200"):
        entry_of(encode(RunEnded(id="x" * 100_000, ok=True, reason="")))
