"""Facts one a line: selected, followed, and read around damage."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from console.recording import LOG_NAME, Recording
from shared.codec import encode
from shared.eventlog.entry import Entry, entries_of, entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import Fact, RunEnded, named
from tests.console.inspect.recordings import BEGAN_NS, REAL, ROOT, SECOND, complaint, opened, record, sagepace, started


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """A run of four steps, six facts a second apart."""
    run = started()
    facts: list[Fact] = [run]
    for step in range(1, 5):
        facts.append(opened(facts[-1], step))
    return record(tmp_path / "six", [*facts, named(RunEnded(ok=True, reason="done"), run)])


def seqs(*words: object) -> list[int]:
    """The numbers of the facts that `cat` prints."""
    return [json.loads(line)["seq"] for line in sagepace("log", "cat", *words, "--json").stdout.splitlines()]


def test_a_fact_as_json_has_all_that_the_log_knows(six: Path) -> None:
    """One object a line; the payload is what the fact itself says."""
    line = json.loads(sagepace("log", "cat", six, "--json", "--only", "StepOpened", "--limit", "1").stdout)
    run = started()
    assert line == {
        "seq": 2,
        "time": "2027-01-15T08:00:01.000000000Z",
        "fact": "StepOpened",
        "role": "learner",
        "id": opened(run, 1).id,
        "cause": run.id,
        "lineage": "s1",
        "payload": {"step": 1, "policy": "p0", "num_challenges": 1, "num_assignments": 1},
    }


def test_facts_are_selected(six: Path) -> None:
    """By fact, role, step, unit, number, offset, time and count, and by several at once."""
    assert seqs(six) == [1, 2, 3, 4, 5, 6]
    assert seqs(six, "--only", "RunStarted,RunEnded") == [1, 6]
    assert seqs(six, "--only", "RunStarted", "--only", "RunEnded", "--limit", "1") == [1]
    assert seqs(six, "--role", "learner") == [2, 3, 4, 5]
    assert seqs(six, "--step", "2:3") == [3, 4]
    assert seqs(six, "--lineage", "s4") == [5]
    assert seqs(six, "--from", "2", "--until", "4") == [2, 3, 4]
    assert seqs(six, "--from", "1500ms", "--until", "3s") == [3, 4]
    assert seqs(six, "--from", "2027-01-15T08:00:04") == [5, 6]
    assert seqs(six, "--from", "2", "--role", "console") == [6]
    assert seqs(six, "--lineage", "s9") == []


def test_a_step_is_itself_its_parts_and_its_test() -> None:
    """On a real run: all lineages of s2 and g2, and no other."""
    lines = sagepace("log", "cat", REAL, "--json", "--step", "2").stdout.splitlines()
    units = {json.loads(line)["lineage"].partition(".")[0] for line in lines}
    assert units == {"s2", "g2"}


def test_lines_for_people_are_short(six: Path) -> None:
    """Number, time, unit, fact and fields; long values are cut."""
    line = sagepace("log", "cat", six, "--limit", "2").stdout.splitlines()[1]
    assert line == '     2 08:00:01.000 s1         StepOpened step=1 policy="p0" num_challenges=1 num_assignments=1'
    assert max(len(line) for line in sagepace("log", "cat", REAL).stdout.splitlines()) < 700


def test_following_goes_on_with_what_is_added(tmp_path: Path) -> None:
    """What is there, what comes, and the end at the number that was asked for."""
    run = started()
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(run)]))
    command = [sys.executable, "-m", "console", "log", "cat", str(tmp_path), "--follow", "--until", "3", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        lines = [process.stdout.readline()]
        for step in (1, 2, 3):
            journal.append(entries_of([encode(opened(run, step))]))
        lines += process.stdout.read().splitlines()
    journal.close()
    assert process.returncode == 0
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]


def test_following_from_a_number_to_come_waits_for_it(tmp_path: Path) -> None:
    """Without --follow a number beyond the end is a mistake; with it, it is waited for."""
    run = started()
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(run)]))
    assert "the log ends before that" in complaint("log", "cat", tmp_path, "--from", "3")
    command = [
        sys.executable,
        "-m",
        "console",
        "log",
        "cat",
        str(tmp_path),
        "--follow",
        "--from",
        "3",
        "--limit",
        "1",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        journal.append(entries_of([encode(opened(run, step)) for step in (1, 2)]))
        assert process.stdout
        assert json.loads(process.stdout.read())["seq"] == 3
    journal.close()


def test_unknown_facts_are_passed_over_counted_and_told(tmp_path: Path) -> None:
    """The others are printed; standard error says how many were not, and of what type."""
    run = started()
    fields = {"type": "DreamRecorded", "cause": run.id, "lineage": ""}
    dreams = [
        (n, Entry(f"d{n}", "DreamRecorded", "dreamer", run.id, "", msgspec.msgpack.encode(fields | {"id": f"d{n}"})))
        for n in range(2, 7)
    ]
    write_log(tmp_path / LOG_NAME, [(1, entry_of(encode(run))), *dreams, (9, entry_of(encode(opened(run, 1))))])
    done = sagepace("log", "cat", tmp_path, "--json")
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [1, 7]
    assert "fact 2 is a DreamRecorded, unknown here" in done.stderr
    assert "passed over in all: 5 of DreamRecorded, a fact unknown here" in done.stderr
    assert sagepace("log", "info", tmp_path).stdout.count("DreamRecorded") == 2


@pytest.mark.parametrize("words", [(), ("--only", "StepOpened"), ("--from", "3", "--until", "3")])
def test_a_changed_fact_is_not_shown(six: Path, words: tuple[str, ...]) -> None:
    """Its checksum does not fit: it is passed over and told, also where the fact before it is not asked for."""
    with closing(sqlite3.connect(six / LOG_NAME)) as db, db:
        (payload,) = db.execute("SELECT payload FROM facts WHERE seq = 3").fetchone()
        db.execute("UPDATE facts SET payload = ? WHERE seq = 3", (payload.replace(b"p0", b"p9"),))
    done = sagepace("log", "cat", six, "--json", *words)
    assert 3 not in [json.loads(line)["seq"] for line in done.stdout.splitlines()]
    assert "fact 3 (StepOpened) was changed" in done.stderr


def test_a_changed_checksum_does_not_hide_the_next_fact(six: Path) -> None:
    """One changed checksum leaves one fact in doubt; what it says twice agrees, so it is shown, and the next one is too."""
    with closing(sqlite3.connect(six / LOG_NAME)) as db, db:
        db.execute("UPDATE facts SET checksum = x'0000000000000000' WHERE seq = 3")
    with Recording(six / LOG_NAME) as recording:
        assert [seq for seq, _, _ in recording.facts()] == [1, 2, 4, 5, 6]
        assert [problem.seq for problem in recording.unreadable] == [3]


def test_missing_facts_are_told(six: Path) -> None:
    """A gap in the middle and one at the end."""
    with closing(sqlite3.connect(six / LOG_NAME)) as db, db:
        db.execute("DELETE FROM facts WHERE seq IN (2, 3, 6)")
    done = sagepace("log", "cat", six, "--json")
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [1, 4, 5]
    assert "facts 2 to 3 are missing" in done.stderr
    assert "fact 6 is missing" in done.stderr


def test_times_may_go_back(tmp_path: Path) -> None:
    """From a time is from the first fact that is not earlier, in the order of the log."""
    run = started()
    times = [0, 50, 20, 60]
    facts = [run, *(opened(run, step) for step in (1, 2, 3))]
    entries = ((BEGAN_NS + t * SECOND, entry_of(encode(fact))) for t, fact in zip(times, facts, strict=True))
    write_log(tmp_path / LOG_NAME, entries)
    assert seqs(tmp_path, "--from", "30s") == [2, 3, 4]
