"""A recording as a replay reads it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from console.recording import LOG_NAME
from console.replay.tape import PAGE_STRETCHES, STRETCH, Tape
from shared.codec import decode, encode
from shared.errors import BadInput
from shared.eventlog.entry import entries_of
from shared.eventlog.reader import LogDamaged
from shared.eventlog.sqlite import SqliteJournal
from tests.console.replay.recordings import BEGAN_NS, SECOND, record, spoil, started, story

Open = Callable[..., Tape]


@pytest.fixture
def said() -> list[str]:
    """What the tape complained about."""
    return []


@pytest.fixture
def opened(tmp_path: Path, said: list[str]) -> Iterator[Open]:
    """Opens the recording in `tmp_path`."""
    tapes: list[Tape] = []

    def open_tape(*only: str) -> Tape:
        tapes.append(Tape(tmp_path / LOG_NAME, frozenset(only) or None, said.append))
        return tapes[-1]

    yield open_tape
    for tape in tapes:
        tape.close()


def numbers(tape: Tape, until: int, types: list[str] | None = None) -> list[int]:
    """The numbers that a reader gets, page by page."""
    found, after = [], 0
    while after < until:
        stretch = tape.read(after, until, types, 100)
        assert stretch.upto > after
        found += [seq for seq, _, _ in stretch.rows]
        after = stretch.upto
    return found


def test_rows_are_the_recorded_ones(tmp_path: Path, opened: Open):
    """Number, journal time and bytes, up to the head and not beyond."""
    facts = story(3)
    record(tmp_path, facts)
    tape = opened()
    stretch = tape.read(1, 3, None, 100)
    assert stretch.rows == [(seq, BEGAN_NS + (seq - 1) * SECOND, encode(facts[seq - 1])) for seq in (2, 3)]
    assert (stretch.upto, tape.last, tape.name) == (3, 5, "demo")
    assert tape.read(3, 3, None, 100) == ([], 3)
    assert (tape.time_of(2), tape.time_of(0), tape.time_of(99)) == (BEGAN_NS + SECOND, None, None)


def test_readers_choose_types_and_the_replay_chooses_before_them(tmp_path: Path, opened: Open):
    """What `only` leaves out is passed over by readers and by the player; sequence numbers stay."""
    record(tmp_path, story(3))
    assert numbers(opened(), 5, ["StepOpened"]) == [2, 3, 4]
    tape = opened("StepOpened", "RunStarted")
    assert numbers(tape, 5) == [1, 2, 3, 4]
    assert numbers(tape, 5, ["RunEnded", "RunStarted"]) == [1]
    assert numbers(tape, 5, ["RunEnded"]) == []
    assert [cue.seq for cue in tape.cues(0, 5)] == [1, 2, 3, 4]


def test_a_page_is_bounded_and_says_how_far_it_looked(tmp_path: Path, opened: Open):
    """A reader of rare facts gets an answer after some stretches, and comes to the end by asking again."""
    record(tmp_path, story(STRETCH * (PAGE_STRETCHES + 1)))
    tape = opened()
    assert tape.read(1, tape.last, ["RunEnded"], 100) == ([], STRETCH * PAGE_STRETCHES)
    assert numbers(tape, tape.last, ["RunEnded"]) == [tape.last]
    assert numbers(tape, tape.last) == list(range(1, tape.last + 1))
    assert [cue.seq for cue in tape.cues(STRETCH - 1, STRETCH + 2)] == [STRETCH, STRETCH + 1, STRETCH + 2]


@pytest.mark.parametrize("payload", [None, b"\xc1"], ids=["still a fact", "no fact any more"])
@pytest.mark.parametrize("seq", [1, 2, STRETCH, STRETCH + 1, STRETCH + 7])
def test_a_changed_fact_is_said_and_passed_over(tmp_path: Path, opened: Open, said: list[str], seq: int, payload: bytes | None):
    """Whether or not it can still be decoded; all others are there, and each is complained about once."""
    facts = story(STRETCH + 10)
    record(tmp_path, facts)
    spoil(tmp_path / LOG_NAME, seq, payload)
    tape = opened()
    others = [n for n in range(1, tape.last + 1) if n != seq]
    assert numbers(tape, tape.last) == others
    assert [cue.seq for cue in tape.cues(0, tape.last)] == others
    assert numbers(tape, tape.last) == others
    assert [line for line in said if f"fact {seq} " in line] == said[:1]
    assert len(said) == 1
    with pytest.raises(LogDamaged, match=f"fact {seq} was changed"):
        tape.with_id(facts[seq - 1].id)


def test_missing_facts_are_passed_over(tmp_path: Path, opened: Open, said: list[str]):
    """A gap in the numbers is said once and does not stop anybody."""
    record(tmp_path, story(8))
    with closing(sqlite3.connect(tmp_path / LOG_NAME)) as db, db:
        db.execute("DELETE FROM facts WHERE seq BETWEEN 4 AND 6")
    tape = opened()
    assert numbers(tape, 10) == [1, 2, 3, 7, 8, 9, 10]
    assert said == ["passed over (1 so far): facts 4 to 6 are missing"]


def test_a_file_that_lost_its_end_plays_what_is_left(tmp_path: Path, opened: Open, said: list[str]):
    """Everything before the cut is read; what cannot be read is passed over to the recorded end."""
    record(tmp_path, story(2000))
    log = tmp_path / LOG_NAME
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    tape = opened()
    found = numbers(tape, tape.last)
    assert found == list(range(1, len(found) + 1))
    assert 500 < len(found) < 1500
    assert len(said) == 1


def test_what_is_added_later_is_no_part_of_the_replay(tmp_path: Path, opened: Open):
    """A log that is still being written is played as long as it was; facts beyond are unknown."""
    facts = story(3)
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(fact) for fact in facts[:3]]))
    tape = opened()
    assert tape.reader.being_written()
    journal.append(entries_of([encode(fact) for fact in facts[3:]]))
    assert numbers(tape, tape.last) == [1, 2, 3]
    assert tape.with_id(facts[4].id) is None
    found = tape.with_id(facts[1].id)
    assert found is not None
    assert decode(found.payload) == facts[1]
    journal.close()
    assert not tape.reader.being_written()


def test_a_growing_log_keeps_its_last_stretch(tmp_path: Path, opened: Open, said: list[str]):
    """The last stretch is checked as it was, however much is appended to it meanwhile."""
    facts = story(STRETCH)
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(fact) for fact in facts[:50]]))
    tape = opened()
    journal.append(entries_of([encode(fact) for fact in facts[50:]]))
    assert numbers(tape, tape.last) == list(range(1, 51))
    assert said == []
    journal.close()


def test_nothing_is_written_to_the_recording(tmp_path: Path, opened: Open):
    """After reading all of it, the file has the bytes that it had, and there is no other file beside it."""
    record(tmp_path, story(500))
    before = hashlib.sha256((tmp_path / LOG_NAME).read_bytes()).digest()
    files = sorted(path.name for path in tmp_path.iterdir())
    tape = opened()
    numbers(tape, tape.last)
    list(tape.cues(0, tape.last))
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    tape.close()
    assert hashlib.sha256((tmp_path / LOG_NAME).read_bytes()).digest() == before


def test_what_cannot_be_replayed_gets_one_line(tmp_path: Path, opened: Open):
    """No log, one without a fact, something else, and one that a newer version recorded."""
    log = tmp_path / LOG_NAME
    for make, reason in [
        (lambda: None, "no log at"),
        (lambda: log.write_bytes(b"hello" * 1000), "log.sqlite"),
        (lambda: (log.unlink(), record(tmp_path, [])), "has no fact yet"),
        (lambda: (log.unlink(), record(tmp_path, [started(wire_version=99)])), "wire version 99, this version reads up to"),
    ]:
        make()  # type: ignore[no-untyped-call]
        with pytest.raises(BadInput, match=reason) as caught:
            opened()
        assert "\n" not in str(caught.value)


def test_the_name_is_the_run_s_or_else_its_directory_s(tmp_path: Path, opened: Open):
    """A recording that does not say how the run was called is called after its place."""
    record(tmp_path, [msgspec.structs.replace(started(), config={})])
    assert opened().name == tmp_path.name
