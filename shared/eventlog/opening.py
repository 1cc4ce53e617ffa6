"""Opens a log file for looking at, read-only, and says in one line why it cannot be one."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from shared.errors import BadInput
from shared.eventlog.schema import FORMAT, TABLES, wrong_format


def open_log(path: Path) -> sqlite3.Connection:
    """A read-only connection; also where the directory itself may not be written, once the writer has closed the log.

    Raises `BadInput` when there is no log at `path` that this version can read.
    """
    _look(path)
    place = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        db = _connected(place)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            db.close()
            if path.with_name(path.name + "-wal").exists():
                raise
            db = _connected(place + "&immutable=1")
        _check_format(db, path)
    except sqlite3.Error as error:
        db.close()
        raise BadInput(_why_not(path, error)) from error
    except BadInput:
        db.close()
        raise
    return db


def _look(path: Path) -> None:
    """Whatever can be said without SQLite."""
    try:
        if path.is_dir():
            raise BadInput(f"{path} is a directory, not a log file; give the directory of a run")
        if not path.is_file():
            raise BadInput(f"there is no log at {path}: give the directory of a run")
    except OSError as error:
        raise BadInput(f"cannot read the log {path}: {error.strerror}") from error
    waiting = path.with_name(path.name + "-wal")
    if is_empty(path) and not (waiting.exists() and waiting.stat().st_size):
        raise BadInput(f"{path} is not a readable log: it is empty")


def is_empty(path: Path) -> bool:
    """Whether the file is one, of no bytes. Raises `BadInput` for a file that is something else than an SQLite database."""
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except OSError as error:
        raise BadInput(f"cannot read the log {path}: {error.strerror}") from error
    if beginning and beginning != b"SQLite format 3\0":
        raise BadInput(f"{path} is not a log: it does not begin as an SQLite file does; give the directory of a run")
    return not beginning


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    made = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    if "meta" not in made or "facts" not in made:
        raise BadInput(f"{path} is not a readable log: it is an SQLite database of something else")
    found = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if found != (FORMAT,):
        raise BadInput(f"{path} {wrong_format(found and found[0])}")
    # SQLite would read by whatever definition it finds, such as numbers as texts.
    if any(f"{definition};" not in TABLES for definition in made.values()):
        raise BadInput(f"the log {path} is damaged: the definition of a table was changed; restore it from a copy")


def _why_not(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_CANTOPEN") or code.startswith("SQLITE_READONLY"):
        return f"cannot open the log {path}: {one_line(error)}; check that you may read it and its directory"
    return f"{path} is not a readable log: {one_line(error)}; restore it from a copy"


def one_line(error: BaseException) -> str:
    """What SQLite says, without the stored bytes that it may quote: in one line, and cut."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(error).partition(" with text ")[0])
    return " ".join(text.split())[:200]


def _connected(place: str) -> sqlite3.Connection:
    """A connection that also opens a file that lost its end: SQLite would refuse all of it, what is left can be read."""
    db = sqlite3.connect(place, uri=True, isolation_level=None, timeout=5.0)
    db.execute("PRAGMA writable_schema = ON")
    return db
