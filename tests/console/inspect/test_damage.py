"""The log of a real run, damaged at many places: nothing that was changed goes unnoticed, and what is intact is read."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from console.recording import Recording
from shared.codec import decode
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.eventlog.verify import Problem

REAL = Path(__file__).parents[2] / "replay" / "histories" / "commit" / "log.sqlite"


def stored(path: Path) -> Any:
    """What the file says by SQLite's own account, whatever our reader makes of it; the error where it can say nothing."""
    try:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT * FROM facts NOT INDEXED ORDER BY seq").fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return str(error)


def found_in(path: Path) -> list[Problem]:
    """What `verify` says; a file that is refused as a log counts as one problem. Anything else is raised."""
    try:
        with closing(LogReader(path)) as reader:
            return list(reader.verify())
    except BadInput as error:
        assert "\n" not in str(error)
        return [Problem(0, str(error))]


@pytest.mark.slow
def test_each_of_500_flipped_bytes_that_changed_a_fact_is_reported(tmp_path: Path) -> None:
    """One bit at a random place of the file, 500 times: `verify` reports it wherever the facts are not the same any more."""
    data, original = REAL.read_bytes(), stored(REAL)
    places = random.Random(20261201)
    changed = 0
    for _ in range(500):
        damaged = bytearray(data)
        at, bit = places.randrange(len(data)), 1 << places.randrange(8)
        damaged[at] ^= bit
        path = tmp_path / "log.sqlite"
        path.write_bytes(damaged)
        problems = found_in(path)
        if stored(path) != original:
            changed += 1
            assert problems, f"byte {at}, bit {bit}"
            assert all("\n" not in problem.what for problem in problems)
    assert changed > 200


@pytest.mark.slow
def test_a_file_cut_at_each_byte_of_its_last_4_kb_is_read_up_to_the_cut(tmp_path: Path) -> None:
    """Every fact whose bytes are all there is given, and `verify` says for every cut that something is missing."""
    data = REAL.read_bytes()
    with closing(LogReader(REAL)) as reader:
        rows = list(reader.rows())
    original = {row.seq: (row.seq, row.time_ns, decode(row.payload)) for row in rows}
    ends = {row.seq: data.find(row.payload) + len(row.payload) for row in rows}
    assert all(data.count(row.payload) == 1 for row in rows)
    path = tmp_path / "log.sqlite"
    shutil.copy(REAL, path)
    for cut in range(len(data) - 1, len(data) - 4097, -1):
        with path.open("r+b") as file:
            file.truncate(cut)
        with Recording(path) as recording:
            given = {found[0]: found for found in recording.facts()}
            told = recording.unreadable
        assert given == {seq: original[seq] for seq in given}
        assert given.keys() >= {seq for seq, end in ends.items() if end <= cut}, cut
        assert told or given.keys() == original.keys(), cut
        if cut % 8 == 0:  # `verify` reads the same rows and takes longer
            assert found_in(path), cut


@pytest.mark.parametrize("keep", [1000, 5000, 50_000, 100_000])
def test_a_file_that_lost_most_of_itself_is_read_up_to_the_cut(keep: int, tmp_path: Path) -> None:
    """Down to a few pages, and where the tables themselves are gone that is said."""
    data = REAL.read_bytes()
    path = tmp_path / "log.sqlite"
    path.write_bytes(data[:keep])
    assert found_in(path)
    with closing(LogReader(REAL)) as reader:
        before = [row for row in reader.rows() if data.find(row.payload) + len(row.payload) <= keep]
    try:
        with Recording(path) as recording:
            given = {seq: fact for seq, _, fact in recording.facts()}
            assert recording.unreadable
    except BadInput:
        assert not before or keep < 50_000
        return
    assert [given.get(row.seq) for row in before] == [decode(row.payload) for row in before]
