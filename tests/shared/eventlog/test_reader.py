"""What a reader finds by the log's indexes, and what it says of files that are no logs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import Row, entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.reader import LogReader, Tally
from shared.eventlog.scan import NEAR
from shared.eventlog.selection import Selection, is_below
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import Fact, ReplicaLeft, Role, RunEnded, StepOpened, WorkFailed, named

from .conftest import edit, entry


def opened(number: int, lineage: str) -> StepOpened:
    """A step in a unit of work."""
    draft = StepOpened(step=number, policy="p", num_challenges=1, num_assignments=1, lineage=lineage)
    return named(draft, "test", number)


def failed(number: int, role: Role, lineage: str) -> WorkFailed:
    """Work that a role gave up."""
    return named(WorkFailed(role=role, work="w", work_type="StepOpened", reason="r", lineage=lineage), "test", number)


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    """More facts than a reader walks through row by row, of three types, four roles and many units."""
    facts: list[Fact] = []
    for number in range(NEAR // 2):
        facts.append(opened(number, f"s{number % 40}.c{number % 7}"))
        facts.append(failed(number, (Role.SOLVER, Role.CRITIC)[number % 2], f"g{number % 300}"))
    facts.append(named(ReplicaLeft(role=Role.SOLVER, replica="solver", handled=0, reason="gone"), "test"))
    facts += [named(RunEnded(ok=True, reason="done"), "test"), opened(NEAR, "s4")]
    write_log(tmp_path / "log.sqlite", ((n, entry_of(encode(fact))) for n, fact in enumerate(facts)))
    return tmp_path / "log.sqlite"


def test_the_giver_is_a_column(long_log: Path) -> None:
    """Facts that several roles give name theirs, `ReplicaLeft` is the bus's though it names another."""
    with closing(LogReader(long_log)) as reader:
        assert reader.tallies() == [
            Tally("StepOpened", "learner", NEAR // 2 + 1, 1, NEAR + 3),
            Tally("WorkFailed", "solver", NEAR // 4, 2, NEAR - 2),
            Tally("WorkFailed", "critic", NEAR // 4, 4, NEAR),
            Tally("ReplicaLeft", "bus", 1, NEAR + 1, NEAR + 1),
            Tally("RunEnded", "console", 1, NEAR + 2, NEAR + 2),
        ]
        assert reader.counts()["WorkFailed"] == NEAR // 2


@pytest.mark.parametrize(
    "selection",
    [
        Selection(types=["RunEnded"]),
        Selection(types=["StepOpened", "ReplicaLeft"]),
        Selection(roles=["critic", "bus"]),
        Selection(types=["WorkFailed"], roles=["critic"]),
        Selection(lineages=["s4"]),
        Selection(lineages=["s4", "s4.c1", "g30"]),
        Selection(types=["WorkFailed"], lineages=["s3", "g3"]),
        Selection(lineages=[""]),
        Selection(types=[]),
        Selection(lineages=[]),
    ],
)
@pytest.mark.parametrize(("after", "until"), [(0, None), (700, None), (100, 250), (0, NEAR)])
def test_an_index_gives_what_a_walk_through_all_rows_gives(
    long_log: Path, selection: Selection, after: int, until: int | None
) -> None:
    """Whichever way is taken, the same rows in the same order."""
    with closing(LogReader(long_log)) as reader:
        expected = [row for row in reader.rows(after, until=until) if selection.takes(row)]
        found = reader.rows(after, until=until, types=selection.types, roles=selection.roles, lineages=selection.lineages)
        assert list(found) == expected


def test_few_facts_of_a_long_log_are_found_without_a_walk(long_log: Path) -> None:
    """SQLite answers from the two indexes and touches no other page of the table."""
    with closing(sqlite3.connect(long_log)) as db:
        for selection in (Selection(types=["RunEnded"]), Selection(roles=["bus"]), Selection(types=["A"], roles=["b"])):
            (query,) = selection.numbers()
            (plan,) = db.execute(f"EXPLAIN QUERY PLAN {query.text} AND seq > 5 AND seq <= 900", query.values).fetchall()
            assert "COVERING INDEX facts_by_type" in plan[3]
        (query,) = Selection(lineages=["s4"]).numbers()
        (plan,) = db.execute(f"EXPLAIN QUERY PLAN {query.text}", query.values).fetchall()
        assert "facts_by_lineage (lineage>? AND lineage<?)" in plan[3]


names = st.text("ab.0/-é", max_size=6)


@given(names, names)
def test_a_unit_has_itself_and_what_lies_below_it(unit: str, lineage: str) -> None:
    """SQL and Python agree on what belongs to a unit."""
    query = Selection(lineages=[unit]).condition()
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE facts (type, role, lineage)")
        db.execute("INSERT INTO facts VALUES ('', '', ?)", (lineage,))
        (count,) = db.execute(f"SELECT count(*) FROM facts WHERE {query.text}", query.values).fetchone()
    row = Row(1, "", "", "", "", lineage, 0, b"", b"")
    assert bool(count) == is_below(lineage, unit) == Selection(lineages=[unit]).takes(row)


def test_ids_are_found_by_their_beginning_and_facts_by_their_bytes(long_log: Path) -> None:
    """At most so many, in the order of their ids; and those of some types that hold a text."""
    with closing(LogReader(long_log)) as reader:
        row = next(reader.rows(41))
        assert reader.with_ids_like(row.id, 2) == [row] == reader.with_ids_like(row.id[:-1], 2)
        assert len(reader.with_ids_like("", 5)) == 5
        assert reader.with_ids_like("zz", 5) == []
        assert [row.type for row in reader.containing("gone", ["ReplicaLeft", "RunEnded"])] == ["ReplicaLeft"]
        assert reader.containing("gone", ["RunEnded"]) == []


@pytest.mark.parametrize(
    ("missing", "gaps"),
    [("seq = 0", []), ("seq IN (1, 2)", [(1, 2)]), ("seq IN (3, 5, 6, 9)", [(3, 3), (5, 6), (9, 9)]), ("1", [(1, 9)])],
)
def test_gaps_are_found(missing: str, gaps: list[tuple[int, int]], log: Callable[[int], Path]) -> None:
    """At the beginning, in the middle, at the end, and all of it."""
    path = log(9)
    edit(path, f"DELETE FROM facts WHERE {missing}")
    with closing(LogReader(path)) as reader:
        assert reader.gaps() == gaps


def test_a_writer_is_seen_while_it_holds_the_log(tmp_path: Path) -> None:
    """From its start to its end, and looking does not stand in the way of the next one."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    journal.append([entry(1)])
    with closing(LogReader(tmp_path / "log.sqlite")) as reader:
        assert reader.being_written()
        journal.close()
        assert not reader.being_written()
        SqliteJournal(tmp_path / "log.sqlite").close()


def test_what_is_no_log_is_said_in_one_line(tmp_path: Path, log: Callable[[int], Path]) -> None:
    """Nothing there, a directory, an empty file, text, another database, and other formats."""
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello\n" * 1000)
    with closing(sqlite3.connect(tmp_path / "other")) as db, db:
        db.execute("CREATE TABLE t (x)")
    old, new = tmp_path / "old", tmp_path / "new"
    for path, number in ((old, 1), (new, 99)):
        path.write_bytes(log(3).read_bytes())
        edit(path, f"UPDATE meta SET value = '{number}' WHERE key = 'format'")
        (tmp_path / "log.sqlite").unlink()
    said = {
        "missing": "there is no log",
        "": "is a directory",
        "empty": "it is empty",
        "text": "is not a log",
        "other": "an SQLite database of something else",
        "old": r"has log format 1, which sage-pace 0\.1\.0 reads; this version reads format 2",
        "new": "has log format 99, this version reads format 2",
    }
    for name, what in said.items():
        with pytest.raises(BadInput, match=what) as caught:
            LogReader(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_head_that_leads_astray_does_not_keep_rows_from_being_read(log: Callable[[int], Path]) -> None:
    """Too far, too near, or none at all: what is there is read, and `verify` finds the head."""
    path = log(20)
    for statement in ("UPDATE head SET seq = 999999999999999", "DELETE FROM head"):
        edit(path, statement)
        with closing(LogReader(path)) as reader:
            assert len(list(reader.rows(on_damage=lambda _: None))) == 20
            assert list(reader.verify())
