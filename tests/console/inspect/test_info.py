"""A log at one glance."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from console.inspect.info import info_lines
from console.inspect.summary import summary
from console.recording import LOG_NAME, Recording, RecordingInfo
from shared.codec import encode
from shared.eventlog.entry import Entry, entries_of
from shared.eventlog.fresh import write_log
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import ReplicaJoined, Role, RunEnded, SampleFailed, StepExpired, named
from tests.console.inspect.recordings import HISTORIES, REAL, opened, record, sagepace, started


def info_of(directory: Path) -> RecordingInfo:
    """What `log info` knows."""
    with Recording(directory / LOG_NAME) as recording:
        return recording.info()


def test_a_real_run_is_summed_up() -> None:
    """Counts by type and giver agree with each other, rates with the span; how it ended, its seed, level and decisions."""
    info = info_of(REAL)
    assert info.facts == sum(info.by_type.values()) == sum(info.by_role.values()) == sum(s.count for s in info.shares)
    assert (info.first_seq, info.last_seq, info.gaps) == (1, info.facts, ())
    assert (info.closed, info.ok, info.being_written, info.sessions_ended) == (True, True, False, 1)
    assert (info.seed, info.level, info.seeds["run.seed"]) == (info.seeds["run.seed"], "L1", info.seed)
    assert {(share.fact, share.role) for share in info.shares} >= {
        ("SampleCompleted", "inference"), ("SampleRequested", "solver"), ("RunStarted", "console"), ("StepOpened", "learner"),
    }  # fmt: skip
    first = info.shares[0]
    assert first.per_s == pytest.approx(first.count / info.duration_s, abs=1e-3)
    assert "commit" in {decision.decision for decision in info.decisions}
    assert info.unknown == {}
    assert info.origin is None


def test_info_prints_lines_and_json() -> None:
    """The first line says how the run ended; JSON has the same."""
    lines = sagepace("log", "info", REAL).stdout.splitlines()
    assert lines[0].startswith("tiny: ended well (")
    assert any(line.split()[:2] == ["TaskSeeded", "console"] for line in lines)
    told = json.loads(sagepace("log", "info", REAL, "--json").stdout)
    assert (told["closed"], told["ok"]) == (True, True)
    assert told["shares"][0] == {"fact": "RunStarted", "role": "console", "count": 1, "per_s": told["shares"][0]["per_s"]}


def test_a_log_that_is_being_written_says_so(tmp_path: Path) -> None:
    """As long as a broker holds it, whatever was said before."""
    journal = SqliteJournal(tmp_path / LOG_NAME)
    run = started()
    journal.append(entries_of([encode(fact) for fact in (run, named(RunEnded(ok=True, reason="done"), run))]))
    assert next(info_lines(info_of(tmp_path))) == "demo: still being written"
    journal.close()
    assert next(info_lines(info_of(tmp_path))) == "demo: ended well (done)"


def test_a_run_that_was_gone_on_with_has_not_ended(tmp_path: Path) -> None:
    """An end counts unless processes joined after it; a later end counts again."""
    run = started()
    ends = [named(RunEnded(ok=ok, reason=f"end {n}"), run, n) for n, ok in enumerate((False, True))]
    joined = named(ReplicaJoined(role=Role.SOLVER, replica="solver"), run)
    stopped = info_of(record(tmp_path / "a", [run, ends[0]]))
    assert (stopped.closed, stopped.ok, stopped.reason) == (True, False, "end 0")
    going_on = info_of(record(tmp_path / "b", [run, ends[0], joined]))
    assert (going_on.closed, going_on.ok, going_on.sessions_ended) == (False, None, 1)
    assert next(info_lines(going_on)).startswith("demo: cut off or interrupted after 1 earlier end")
    ended = info_of(record(tmp_path / "c", [run, ends[0], joined, ends[1]]))
    assert (ended.closed, ended.ok, ended.sessions_ended) == (True, True, 2)
    assert "its 2. end" in next(info_lines(ended))


def test_what_a_repeat_does_not_cover_is_named(tmp_path: Path) -> None:
    """Deadlines, faults, and inference where sums depend on company."""
    run = started(config={"run": {"name": "demo", "seed": 4}, "inference": {"device": "cuda", "threads": 2}})
    facts = [run, named(StepExpired(step=1, missing="c0"), run), named(SampleFailed(request="r", reason="down"), run)]
    found = " ".join(info_of(record(tmp_path, facts)).not_controlled)
    assert "device cuda and 2 threads" in found
    assert "1 steps ended at their deadline" in found
    assert "1 pieces of work or samples failed" in found


def test_a_newer_wire_schema_and_unknown_facts_are_summed_up_all_the_same(tmp_path: Path) -> None:
    """Info reads facts without their types, and says what it does not know."""
    run = started(wire_version=99)
    fields = {"type": "DreamRecorded", "id": "d", "cause": run.id, "lineage": "s1", "dream": [1, 2]}
    dream = Entry("d", "DreamRecorded", "dreamer", run.id, "s1", msgspec.msgpack.encode(fields))
    write_log(tmp_path / LOG_NAME, [(1, entries_of([encode(run)])[0]), (2, dream)])
    info = info_of(tmp_path)
    assert (info.wire_version, info.newer_wire, info.unknown, info.seed) == (99, True, {"DreamRecorded": 1}, 1)
    lines = "\n".join(info_lines(info))
    assert "version 99, newer than 1" in lines
    assert "1 of DreamRecorded" in lines


def test_missing_numbers_are_told(tmp_path: Path) -> None:
    """As ranges, a few of them."""
    info = info_of(record(tmp_path, [started(), opened(started(), 1)]))
    gaps = tuple((n, n + n % 2) for n in range(3, 40, 4))
    line = next(line for line in info_lines(msgspec.structs.replace(info, gaps=gaps)) if line.startswith("  facts"))
    assert "missing: 3 to 4, 7 to 8, 11 to 12, 15 to 16, 19 to 20 and 5 more gaps" in line


def test_a_slice_says_of_what_it_is_one() -> None:
    """What was cut, from how large a log, and how much of it is context."""
    info = info_of(HISTORIES / "slice")
    assert info.origin is not None
    assert (info.origin.kind, info.origin.name) == ("slice", info.name)
    assert 0 < info.handled_from < info.facts < info.origin.facts
    lines = list(info_lines(info))
    assert lines[0].endswith("a slice of a log")
    assert any("a re-run sees them and does not work on them" in line for line in lines)


def test_an_empty_log_has_no_facts(tmp_path: Path) -> None:
    """Made and never written to."""
    SqliteJournal(tmp_path / LOG_NAME).close()
    info = info_of(tmp_path)
    assert (info.facts, info.gaps, info.closed, info.duration_s) == (0, (), False, 0)
    assert next(info_lines(info)).endswith("no facts yet")
    with Recording(tmp_path / LOG_NAME) as recording:
        assert summary(recording.reader) == info
