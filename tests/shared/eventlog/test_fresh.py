"""A log written in one go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shared.errors import BadInput
from shared.eventlog.entry import Entry
from shared.eventlog.fresh import write_log
from shared.eventlog.reader import SLICE, LogReader, Origin
from shared.eventlog.schema import HANDLED_FROM, ORIGIN
from shared.eventlog.sqlite import SqliteJournal

from .conftest import entry, problems_in


def test_a_copy_has_times_numbers_and_chain_of_the_original(tmp_path: Path) -> None:
    """Written from its rows, a log has the same rows again, checksums included, and can be gone on with."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    for number in range(40):
        journal.append([entry(2 * number), entry(2 * number + 1)])
    journal.append([], {"solver": 7})
    journal.close()
    with closing(LogReader(tmp_path / "log.sqlite")) as source:
        rows = list(source.rows())
        entries = ((row.time_ns, Entry(*row[1:6], row.payload)) for row in rows)
        head = write_log(tmp_path / "copy.sqlite", entries, cursors=source.cursors())
        assert head == source.head()
    with closing(LogReader(tmp_path / "copy.sqlite")) as copy:
        assert list(copy.rows()) == rows
        assert (copy.cursors(), copy.handled_from(), copy.origin()) == ({"solver": 7}, 0, None)
    assert problems_in(tmp_path / "copy.sqlite") == []
    journal = SqliteJournal(tmp_path / "copy.sqlite")
    journal.append([entry(1000)])
    journal.close()
    assert problems_in(tmp_path / "copy.sqlite") == []


def test_a_part_says_what_it_is_and_is_not_written_on(tmp_path: Path) -> None:
    """Where handling starts and what it is a part of are read back; a broker refuses the file and leaves it as it was."""
    origin = Origin(SLICE, "tiny", "--step 3", 500)
    meta = {HANDLED_FROM: "2", ORIGIN: '{"kind":"slice","name":"tiny","what":"--step 3","facts":500}'}
    write_log(tmp_path / "log.sqlite", [(1, entry(1)), (2, entry(2)), (3, entry(3))], meta=meta)
    with closing(LogReader(tmp_path / "log.sqlite")) as reader:
        assert (reader.handled_from(), reader.origin()) == (2, origin)
    before = (tmp_path / "log.sqlite").read_bytes()
    with pytest.raises(BadInput, match="is a part of another log"):
        SqliteJournal(tmp_path / "log.sqlite")
    assert (tmp_path / "log.sqlite").read_bytes() == before


def test_what_goes_wrong_leaves_nothing(tmp_path: Path) -> None:
    """A source that ends in an error, and an id that comes twice."""

    def broken() -> Iterator[tuple[int, Entry]]:
        yield 1, entry(1)
        raise BadInput("line 2 was changed")

    with pytest.raises(BadInput, match="line 2 was changed"):
        write_log(tmp_path / "log.sqlite", broken())
    with pytest.raises(BadInput, match=r"cannot write .*UNIQUE"):
        write_log(tmp_path / "log.sqlite", [(1, entry(1)), (2, entry(1))])
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """The file is refused and stays as it is."""
    (tmp_path / "log.sqlite").write_text("mine")
    with pytest.raises(BadInput, match="exists"):
        write_log(tmp_path / "log.sqlite", [])
    assert (tmp_path / "log.sqlite").read_text() == "mine"


def test_the_temporary_file_is_out_of_the_way(tmp_path: Path) -> None:
    """What an earlier, killed process left under the temporary name is replaced; nothing but the log stays."""
    write_log(tmp_path / "log.sqlite", [(n, entry(n)) for n in range(1, 500)])
    assert [file.name for file in tmp_path.iterdir()] == ["log.sqlite"]
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
