"""Writing in three moves, as the broker does: staged, made durable in another thread, settled. And what is folded in beside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.eventlog.checkpoint import EVERY_BYTES
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.port import Journal
from shared.eventlog.reader import LogReader
from shared.eventlog.sqlite import SqliteJournal

from .conftest import entry, problems_in


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """Each journal in turn."""
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "log.sqlite")
    yield made
    made.close()


def test_what_is_staged_is_not_there_until_it_is_settled(journal: Journal) -> None:
    """Neither its facts nor its cursors, also while it is being made durable in another thread; then both at once."""
    journal.append([entry(1)])
    journal.stage([entry(2), entry(1), entry(3)], {"solver": 1})
    assert (journal.head, journal.cursor("solver")) == (1, 0)
    thread = threading.Thread(target=journal.commit)
    thread.start()
    assert [seq for seq, _, _ in journal.read(0, None, 10).rows] == [1]
    thread.join()
    assert (journal.head, journal.cursor("solver"), dict(journal.latest)) == (1, 0, {"StepOpened": 1})
    journal.settle()
    assert (journal.head, journal.cursor("solver"), dict(journal.latest)) == (3, 1, {"StepOpened": 3})
    assert [payload for _, _, payload in journal.read(0, None, 10).rows] == [entry(n).payload for n in (1, 2, 3)]


def test_the_file_can_be_read_while_a_transaction_is_open(tmp_path: Path) -> None:
    """A late subscriber reads what is older than the memory's tail, and only what counts."""
    journal = SqliteJournal(tmp_path / "log.sqlite", tail_facts=3)
    journal.append([entry(n) for n in range(10)])
    journal.stage([entry(n) for n in range(10, 20)])
    assert [seq for seq, _, _ in journal.read(0, None, 100).rows] == list(range(1, 11))
    journal.commit()
    assert [seq for seq, _, _ in journal.read(0, None, 100).rows] == list(range(1, 11))
    journal.settle()
    assert journal.head == 20
    journal.close()
    assert problems_in(tmp_path / "log.sqlite") == []


def test_what_was_committed_and_not_settled_is_in_the_log_after_a_kill(tmp_path: Path) -> None:
    """Durable is durable; what was only staged never was."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    journal.stage([entry(1)])
    journal.commit()
    journal.settle()
    journal.stage([entry(2)])
    journal.commit()
    for name in ("log.sqlite", "log.sqlite-wal"):
        (tmp_path / "copy").mkdir(exist_ok=True)
        (tmp_path / "copy" / name).write_bytes((tmp_path / name).read_bytes())
    journal.settle()
    journal.stage([entry(3)])
    for name in ("log.sqlite", "log.sqlite-wal"):
        (tmp_path / "later").mkdir(exist_ok=True)
        (tmp_path / "later" / name).write_bytes((tmp_path / name).read_bytes())
    for folder in ("copy", "later"):
        survivor = SqliteJournal(tmp_path / folder / "log.sqlite")
        assert survivor.head == 2
        survivor.close()
    journal.commit()
    journal.close()


def test_the_write_ahead_log_stays_bounded_while_facts_keep_coming(tmp_path: Path) -> None:
    """It is folded in beside the writer, again and again, and a reader at the same time finds everything."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    waiting = tmp_path / "log.sqlite-wal"
    largest = 0
    for number in range(0, 600, 3):
        journal.append([entry(number + n, size=EVERY_BYTES // 100) for n in range(3)])
        largest = max(largest, waiting.stat().st_size)
    assert (tmp_path / "log.sqlite").stat().st_size > 3 * EVERY_BYTES
    assert largest < 6 * EVERY_BYTES
    reader = LogReader(tmp_path / "log.sqlite")
    assert sum(1 for _ in reader.rows()) == 600
    reader.close()
    journal.close()
    assert not waiting.exists()
    assert problems_in(tmp_path / "log.sqlite") == []
