"""The write-ahead log that a killed writer leaves behind: facts wait there, and damage to it hides them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.eventlog.sqlite import SqliteJournal
from shared.eventlog.waiting import waiting_problems

from .conftest import entry, problems_in


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a writer leaves that was killed after 30 transactions, some folded into the file and some waiting."""
    home, copy = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("killed")
    journal = SqliteJournal(home / "log.sqlite")
    for number in range(30):
        journal.append([entry(number)])
        if number == 9:
            journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("log.sqlite", "log.sqlite-wal"):
        shutil.copy(home / name, copy / name)
    journal.close()
    return copy


def copied(killed: Path, target: Path, wal: bytes) -> Path:
    """The same with another write-ahead log."""
    target.mkdir(exist_ok=True)
    shutil.copy(killed / "log.sqlite", target / "log.sqlite")
    (target / "log.sqlite-wal").write_bytes(wal)
    (target / "log.sqlite-shm").unlink(missing_ok=True)
    return target / "log.sqlite"


def test_a_killed_writer_leaves_a_sound_log(killed: Path, tmp_path: Path) -> None:
    """Nothing is wrong with frames that were written whole."""
    wal = (killed / "log.sqlite-wal").read_bytes()
    assert problems_in(copied(killed, tmp_path, wal)) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_flipped_byte_in_it_is_found(at: int, flip: int, killed: Path, tmp_path: Path) -> None:
    """SQLite would silently read a shorter log; `verify` says that something is lost."""
    wal = bytearray((killed / "log.sqlite-wal").read_bytes())
    at %= len(wal)
    wal[at] ^= flip
    found = [problem.what for problem in waiting_problems(copied(killed, tmp_path, bytes(wal)))]
    unused = 4 <= at < 8 or (at >= 32 and 0 <= (at - 32) % (24 + 4096) - 8 < 8)
    # A frame whose generation was changed looks like one left over from before: found unless it is the last one.
    assert found or unused, at


def test_a_cut_in_a_frame_is_found_and_one_between_transactions_cannot_be(killed: Path, tmp_path: Path) -> None:
    """Whole transactions that are gone leave no trace here; the head of the log was in them too."""
    wal = (killed / "log.sqlite-wal").read_bytes()
    assert any("was cut" in what for _, what in problems_in(copied(killed, tmp_path, wal[:-100])))
    assert problems_in(copied(killed, tmp_path, wal[:32])) == []


def test_no_write_ahead_log_and_an_empty_one_are_fine(tmp_path: Path) -> None:
    """A log that was closed has none."""
    assert list(waiting_problems(tmp_path / "log.sqlite")) == []
    (tmp_path / "log.sqlite-wal").touch()
    assert list(waiting_problems(tmp_path / "log.sqlite")) == []
