"""A run's log as the console sees it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from console.recording import open_recording
from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import entries_of
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import CandidateJudged, Decision, Fact, RunEnded, RunStarted, StepOpened, named


def recorded(directory: Path, facts: Sequence[Fact]) -> Path:
    """A recording of these facts."""
    journal = SqliteJournal(directory / "log.sqlite")
    for fact in facts:
        journal.append(entries_of([encode(fact)]))
    journal.close()
    return directory


def started(name: str = "tiny") -> RunStarted:
    """A run's first fact."""
    return named(RunStarted(seed=7, config={"run": {"name": name}}, base_policy="b", store="s", versions={"torch": "2"}), "r")


def step(number: int, lineage: str) -> StepOpened:
    """A step in a lineage."""
    opened = StepOpened(step=number, policy="p", num_challenges=1, num_assignments=1, lineage=lineage)
    return named(opened, "r", number)


def judged() -> CandidateJudged:
    """The gate committed."""
    counts = {"wins": 9, "losses": 1, "ties": 0, "dropped": 0}
    numbers = {"p_value": 0.01, "log_wealth": 3.1, "log_harm": -2.0}
    verdict = CandidateJudged(
        step=5, candidate="c", incumbent="b", decision=Decision.COMMIT, reason="evidence", **counts, **numbers
    )
    return named(verdict, "r")


def test_info_tells_the_recording_at_one_glance(tmp_path: Path) -> None:
    """Counts, span, seed, name, decisions and how it ended; the whole can be written as JSON."""
    facts = [started(), step(1, "s1"), step(2, "s2"), judged(), named(RunEnded(ok=True, reason="finished"), "r")]
    with open_recording(recorded(tmp_path, facts)) as recording:
        info = recording.info()
    assert info.by_type == {"RunStarted": 1, "StepOpened": 2, "CandidateJudged": 1, "RunEnded": 1}
    assert (info.facts, info.first_seq, info.last_seq, info.seed, info.name) == (5, 1, 5, 7, "tiny")
    assert (info.closed, info.ok, info.reason, info.versions) == (True, True, "finished", {"torch": "2"})
    assert [(each.seq, each.step, each.decision) for each in info.decisions] == [(4, 5, Decision.COMMIT)]
    assert 0 <= info.duration_s < 60
    assert info.size_bytes > 4096
    assert b'"decision":"commit"' in msgspec.json.encode(info)


def test_an_unfinished_or_empty_recording_says_so(tmp_path: Path) -> None:
    """Without `RunEnded` it is not closed; without any fact everything is zero."""
    with open_recording(recorded(tmp_path, [])) as recording:
        info = recording.info()
    assert (info.facts, info.closed, info.ok, info.seed, info.name, info.duration_s) == (0, False, None, None, tmp_path.name, 0)


def test_facts_are_selected(tmp_path: Path) -> None:
    """By type (class or name), lineage and range, with sequence number and time."""
    facts = [started(), step(1, "s3"), step(2, "s3.c7"), step(3, "s30"), judged()]
    with open_recording(recorded(tmp_path, facts)) as recording:
        assert [fact for _, _, fact in recording.facts()] == facts
        assert [seq for seq, _, _ in recording.facts(lineage="s3")] == [2, 3]
        assert [seq for seq, _, _ in recording.facts([StepOpened], after=2)] == [3, 4]
        assert [seq for seq, _, _ in recording.facts(["CandidateJudged"], until=4)] == []
        times = [time_ns for _, time_ns, _ in recording.facts()]
        assert times == sorted(times)
        assert recording.verify() == []


def test_facts_unknown_here_are_passed_over_and_reported(tmp_path: Path) -> None:
    """A damaged fact does not hide the others; each problem is told once by `facts` and found by `verify`."""
    recorded(tmp_path, [started(), step(1, "s1"), step(2, "s2")])
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as db, db:
        db.execute("UPDATE facts SET payload = x'c1' WHERE seq = 2")
    with open_recording(tmp_path / "log.sqlite") as recording:
        assert [seq for seq, _, _ in recording.facts()] == [1, 3]
        assert [problem.seq for problem in recording.unreadable] == [2]
        assert {problem.seq for problem in recording.verify()} == {2}


def test_what_is_no_recording_gets_one_line(tmp_path: Path) -> None:
    """A missing directory, one without a log, and a file that is something else."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "log.sqlite").write_bytes(b"hello" * 1000)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "log.sqlite").touch()
    for place, what in [
        ("nowhere", "no recording in"),
        (".", "no recording in"),
        ("other", "not a"),
        ("empty", "not a readable"),
    ]:
        with pytest.raises(BadInput, match=what) as caught:
            open_recording(tmp_path / place)
        assert "\n" not in str(caught.value)
