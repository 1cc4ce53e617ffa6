"""`sagepace rerun` as people call it: what it prints, and its exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from shared.codec import encode
from shared.eventlog.entry import entry_of
from shared.eventlog.sqlite import SqliteJournal
from tests.console.rerun.recordings import COMMIT, answer, facts_of, seeded, write

ROOT = Path(__file__).resolve().parents[3]


def rerun(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command on a recording."""
    command = [sys.executable, "-m", "console", "rerun", str(place), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def refused(place: Path, *options: str) -> str:
    """The one line of a command that was refused."""
    done = rerun(place, *options)
    assert (done.returncode, done.stdout) == (2, ""), done
    (line,) = done.stderr.splitlines()
    assert line.startswith("sagepace: ")
    return line


def test_identical_is_status_0_and_says_how_many() -> None:
    """The folder of a run is enough; no model, no broker."""
    done = rerun(COMMIT.parent, "--service", "gate")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("identical: ")
    assert f"{len(facts_of(COMMIT))} in the recording" in done.stdout


def test_a_difference_is_status_1_and_comes_with_its_causes() -> None:
    """As text and as JSON."""
    done = rerun(COMMIT.parent, "--service", "gate", "--set", "gate.alpha=0.01")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("different: ")
    assert lines[1].startswith("first difference: g1.p0 WealthUpdated, fact ")
    assert any(line.startswith("  <- fact 1 ") and line.endswith("RunStarted") for line in lines)
    document = msgspec.json.decode(rerun(COMMIT, "--service", "gate", "--set", "gate.alpha=0.01", "--json").stdout)
    assert (document["identical"], document["settings"]) == (False, ["gate.alpha=0.01"])


def test_a_service_that_does_not_exist_is_asked_back() -> None:
    """With the nearest name."""
    assert "did you mean 'solver'?" in refused(COMMIT.parent, "--service", "sovler")
    assert "there are: " in refused(COMMIT.parent, "--service", "x")


@pytest.mark.parametrize("name", ["nowhere", "empty", "foreign.txt", "other.sqlite"])
def test_what_is_no_recording_is_refused(name: str, tmp_path: Path) -> None:
    """A missing folder, one without a log, a text file, and another kind of database."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign.txt").write_text("no log", encoding="utf-8")
    (tmp_path / "other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4080))
    assert str(tmp_path / name) in refused(tmp_path / name, "--service", "gate")


def test_a_recording_that_lost_its_end_is_refused(tmp_path: Path) -> None:
    """What cannot be read cannot be called identical."""
    log = tmp_path / "log.sqlite"
    log.write_bytes(COMMIT.read_bytes()[: COMMIT.stat().st_size // 2])
    assert "log verify" in refused(log, "--service", "solver")


def test_a_recording_that_is_being_written_is_taken_as_it_stands(tmp_path: Path) -> None:
    """While a broker holds the log, a role can be re-run on what is there."""
    journal = SqliteJournal(tmp_path / "log.sqlite")
    journal.append([entry_of(encode(fact)) for fact in [*seeded(), answer(0)]])
    done = rerun(tmp_path, "--service", "verifier")
    journal.close()
    assert (done.returncode, done.stderr) == (0, "")
    assert "beyond the recording: 1 fact" in done.stdout


def test_a_role_without_work_has_nothing_to_do(tmp_path: Path) -> None:
    """A recording that ends after the seeds has none for the Planner."""
    done = rerun(write(tmp_path / "log.sqlite", seeded()), "--service", "planner")
    assert (done.returncode, done.stdout) == (0, "nothing to do: the recording holds no fact for planner to work on\n")
