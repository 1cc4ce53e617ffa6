"""Whatever a command is pointed at: an answer, or one line and status 2. Never a traceback."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from console.recording import LOG_NAME, open_recording
from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import Entry, entries_of, entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.sqlite import SqliteJournal
from tests.console.inspect.recordings import REAL, complaint, opened, record, sagepace, started

NEEDS_FACTS = (
    ("log", "cat", "{log}"),
    ("log", "trace", "{log}", "s1"),
    ("log", "why-waiting", "{log}"),
    ("log", "verify", "{log}"),
    ("log", "diff", "{log}", "{log}"),
    ("log", "export", "{log}", "{out}.jsonl"),
    ("log", "slice", "{log}", "{out}", "--step", "1"),
)
ALL = (("log", "info", "{log}"), *NEEDS_FACTS)


def filled(words: tuple[str, ...], log: Path) -> list[str]:
    """The command on this log; what it makes goes beside it."""
    return [word.format(log=log, out=log.parent / "made") for word in words]


@pytest.mark.parametrize("words", ALL, ids=lambda words: words[1])
def test_what_is_no_log(words: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing there, no log in it, 0 bytes, text, another database, a directory in a file's place, the first kilobytes."""
    for name in ("nolog", "empty", "text", "other", "folder", "stump"):
        (tmp_path / name).mkdir()
    (tmp_path / "empty" / LOG_NAME).touch()
    (tmp_path / "text" / LOG_NAME).write_text("all is well\n" * 5000)
    with closing(sqlite3.connect(tmp_path / "other" / LOG_NAME)) as db, db:
        db.execute("CREATE TABLE t (x)")
    (tmp_path / "folder" / LOG_NAME).mkdir()
    (tmp_path / "stump" / LOG_NAME).write_bytes((REAL / LOG_NAME).read_bytes()[:3000])
    before = sorted(tmp_path.rglob("*"))
    for name in ("nowhere", "nolog", "empty", "text", "other", "folder", "stump"):
        assert complaint(*filled(words, tmp_path / name)), name
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("words", NEEDS_FACTS, ids=lambda words: words[1])
def test_a_newer_wire_schema(words: tuple[str, ...], tmp_path: Path) -> None:
    """Every command that needs the facts says which version is needed; info works."""
    run = started(wire_version=7)
    record(tmp_path / "log", [run, opened(run, 1)])
    assert "was recorded with wire version 7, this version reads up to 1" in complaint(*filled(words, tmp_path / "log"))
    assert "newer than 1" in sagepace("log", "info", tmp_path / "log").stdout
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize("words", ALL, ids=lambda words: words[1])
def test_another_format(words: tuple[str, ...], tmp_path: Path) -> None:
    """An old log, and one of a version to come."""
    record(tmp_path / "log", [started()])
    for number, said in ((1, "which sage-pace 0.1.0 reads"), (3, "use the version that wrote it, or a newer one")):
        with closing(sqlite3.connect(tmp_path / "log" / LOG_NAME)) as db, db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(number),))
        assert said in complaint(*filled(words, tmp_path / "log"))


def test_an_empty_log_is_no_mistake(tmp_path: Path) -> None:
    """A run that has not said anything yet."""
    log = record(tmp_path / "log", [])
    assert "no facts yet" in sagepace("log", "info", log).stdout
    assert sagepace("log", "cat", log).stdout == ""
    assert sagepace("log", "verify", log).stdout == "the log is whole: 0 facts\n"
    assert "holds no run" in complaint("log", "why-waiting", log)
    assert "nothing to export" in complaint("log", "export", log, tmp_path / "x.jsonl")


def test_a_log_that_is_being_written_is_looked_at(tmp_path: Path) -> None:
    """Every command answers beside the writer, and the writer goes on."""
    run = started()
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(fact) for fact in (run, opened(run, 1))]))
    assert "still being written" in sagepace("log", "info", tmp_path).stdout
    assert len(sagepace("log", "cat", tmp_path).stdout.splitlines()) == 2
    assert sagepace("log", "verify", tmp_path).stdout == "the log is whole: 2 facts\n"
    assert "s1" in sagepace("log", "trace", tmp_path, "s1").stdout
    assert "root: challenger" in sagepace("log", "why-waiting", tmp_path).stdout
    assert sagepace("log", "diff", tmp_path, tmp_path).stdout == "identical: 2 facts\n"
    sagepace("log", "export", tmp_path, tmp_path / "x.jsonl")
    sagepace("log", "slice", tmp_path, tmp_path / "slice", "--step", "1")
    journal.append(entries_of([encode(opened(run, 2))]))
    assert sagepace("log", "verify", tmp_path).stdout == "the log is whole: 3 facts\n"
    journal.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try it as somebody else")
@pytest.mark.parametrize(
    ("folder", "said"),
    [(0o755, "cannot read the log here/log.sqlite: Permission denied"), (0o700, "cannot look into here: Permission denied")],
)
def test_what_may_not_be_read_is_said(folder: int, said: str, tmp_path: Path) -> None:
    """Somebody else's private log, and one in somebody else's private folder."""
    place = tmp_path / "here"
    place.mkdir()
    shutil.copy(REAL / LOG_NAME, place / LOG_NAME)
    (place / LOG_NAME).chmod(0o600)
    place.chmod(folder)
    tmp_path.chmod(0o755)
    assert as_nobody(tmp_path, lambda: str(open_recording(Path("here")))).startswith(said)


def as_nobody(directory: Path, do: Callable[[], str]) -> str:
    """What comes of it in a process of another user that stands in `directory`, whose own parents are closed to it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(directory)
            os.setresuid(65534, 65534, 65534)
            try:
                said = do()
            except BadInput as error:
                said = str(error)
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as found:
        return found.read()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 100 KB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_nothing_half_written(small_disk: Path, tmp_path: Path) -> None:
    """Exports, imports and slices that do not fit: one line, and the disk is as empty as before."""
    for form in ("jsonl", "mcap"):
        (small_disk / "fill").write_bytes(bytes(60_000))
        assert "No space left" in complaint("log", "export", REAL, small_disk / f"x.{form}")
        sagepace("log", "export", REAL, tmp_path / f"x.{form}")
        assert "full" in complaint("log", "import", tmp_path / f"x.{form}", small_disk / "log")
    assert "full" in complaint("log", "slice", REAL, small_disk / "slice", "--step", "1")
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


def test_verify_names_what_is_wrong_and_stops_listing_somewhere(tmp_path: Path) -> None:
    """The first bad row first; further ones are counted."""
    run = started()
    log = record(tmp_path, [run, *(opened(run, step) for step in range(1, 100))]) / LOG_NAME
    with closing(sqlite3.connect(log)) as db, db:
        db.execute("UPDATE facts SET payload = x'c1' WHERE seq > 20")
    lines = sagepace("log", "verify", tmp_path, status=1).stdout.splitlines()
    assert lines[0].startswith("fact 21 (StepOpened) was changed")
    assert (len(lines), lines[-1]) == (51, "... and 110 more problems")


def test_a_fact_that_hangs_in_the_air_is_found(tmp_path: Path) -> None:
    """Causes that are nowhere, that come later, or that are not stated."""
    run = started()
    steps = [opened(run, 1), opened(run, 2), opened(run, 3), opened(run, 4)]
    facts = [
        run,
        msgspec.structs.replace(steps[0], cause="nowhere"),
        msgspec.structs.replace(steps[1], cause=steps[2].id),
        steps[2],
        msgspec.structs.replace(steps[3], cause=""),
    ]
    lines = sagepace("log", "verify", record(tmp_path, facts), status=1).stdout.splitlines()
    assert lines == [
        "fact 2 (StepOpened) hangs in the air: its cause nowhere is not in the log before it",
        f"fact 3 (StepOpened) hangs in the air: its cause {steps[2].id} is not in the log before it",
        "fact 5 (StepOpened) hangs in the air: it names no cause",
    ]


def test_a_false_giver_is_found(tmp_path: Path) -> None:
    """The column must name who gave the fact."""
    run = started()
    entry = entry_of(encode(opened(run, 1)))
    tmp_path.joinpath("log").mkdir()
    write_log(tmp_path / "log" / LOG_NAME, [(1, entry_of(encode(run))), (2, Entry(*entry[:2], "gate", *entry[3:]))])
    lines = sagepace("log", "verify", tmp_path / "log", status=1).stdout.splitlines()
    assert lines == ["fact 2 (StepOpened): a column (id, type, role, cause or lineage) differs from the fact itself"]


def missing_a_row(directory: Path, seq: int) -> Path:
    """The real run's log without one of its facts."""
    directory.mkdir()
    shutil.copy(REAL / LOG_NAME, directory)
    with closing(sqlite3.connect(directory / LOG_NAME)) as db, db:
        db.execute("DELETE FROM facts WHERE seq = ?", (seq,))
    return directory


@pytest.mark.parametrize(
    "words", [("log", "slice", "{log}", "{out}", "--step", "1"), ("rerun", "{log}", "--service", "gate")], ids=lambda w: w[-3]
)
def test_nothing_is_made_of_a_log_with_a_hole(words: tuple[str, ...], tmp_path: Path) -> None:
    """A fact is gone: neither a slice that would pass for whole, nor a re-run that would blame the code for it."""
    log = missing_a_row(tmp_path / "log", 40)
    said = complaint(*filled(words, log))
    assert "is damaged" in said
    assert "`sagepace log verify` lists everything" in said
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_log_with_a_hole_is_identical_to_nothing(tmp_path: Path) -> None:
    """Not to the whole log, whatever fact is missing, and not to itself."""
    log = missing_a_row(tmp_path / "log", 40)
    assert sagepace("log", "diff", REAL, log, status=1).stdout
    assert sagepace("log", "diff", log, log, status=1).stdout.startswith("damaged, and the same as far as they can be trusted")


def test_an_option_that_names_nothing(tmp_path: Path) -> None:
    """An empty name would select everything; what was meant is asked for instead."""
    assert "--only: names nothing" in complaint("log", "cat", REAL, "--only", "")
    assert "--role: names nothing" in complaint("log", "cat", REAL, "--role", ",,")
