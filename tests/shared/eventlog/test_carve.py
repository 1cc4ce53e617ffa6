"""Rows are found in the pages of a file that SQLite cannot walk through any more."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from shared.eventlog.carve import Carver
from shared.eventlog.reader import LogReader
from shared.eventlog.sqlite import SqliteJournal
from shared.eventlog.verify import Problem

from .conftest import entry

PAGE = 4096


def test_every_row_of_a_sound_file_is_found(log: Callable[[int], Path]) -> None:
    """What the pages hold is what SQLite gives, row for row."""
    path = log(700)
    with closing(LogReader(path)) as reader, closing(Carver(path)) as carver:
        assert list(carver.find(1, 700).values()) != []
        assert carver.find(1, 700) == {row.seq: row for row in reader.rows()}
        assert sorted(carver.find(100, 102)) == [100, 101, 102]


def test_facts_on_overflow_pages_are_found(tmp_path: Path) -> None:
    """A fact larger than a page is put together from the chain of its pages."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    journal.append([entry(n, size=size) for n, size in enumerate((10, 4000, 4061, 4100, 20_000, 300_000), start=1)])
    journal.close()
    with closing(LogReader(tmp_path / "log.sqlite")) as reader, closing(Carver(tmp_path / "log.sqlite")) as carver:
        assert carver.find(1, 9) == {row.seq: row for row in reader.rows()}


def test_rows_behind_a_lost_page_are_read_all_the_same(log: Callable[[int], Path]) -> None:
    """A page that only leads to others is wiped out: SQLite finds nothing below it, the reader gives every row."""
    path = log(3000)
    data = bytearray(path.read_bytes())
    interior = [start for start in range(0, len(data), PAGE) if data[start] == 0x05]
    assert interior
    root = max(interior, key=lambda start: struct.unpack(">H", data[start + 3 : start + 5])[0])
    data[root : root + PAGE] = bytes(PAGE)
    path.write_bytes(data)
    told: list[Problem] = []
    with closing(LogReader(path)) as reader:
        assert [row.seq for row in reader.rows(on_damage=told.append)] == list(range(1, 3001))
        assert list(reader.verify())
    assert told == []


def test_pages_of_noise_give_nothing(tmp_path: Path) -> None:
    """Whatever bytes a page has, what comes out is a row or nothing."""
    for seed in range(50):
        page = bytearray((seed * 7 + place * place) % 256 for place in range(PAGE))
        page[0] = 0x0D
        (tmp_path / "noise").write_bytes(bytes(page) * 3)
        with closing(Carver(tmp_path / "noise")) as carver:
            assert isinstance(carver.find(-(2**63), 2**63), dict)
