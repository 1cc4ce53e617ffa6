"""A whole log file in one go: what an import and a slice are made by. Also the empty tables that every log begins with."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from shared.errors import BadInput
from shared.eventlog.entry import GENESIS, Entry, Row, row_after
from shared.eventlog.port import NO_CURSORS
from shared.eventlog.schema import FORMAT, MOVE_CURSOR, ROW, TABLES
from shared.eventlog.verify import Head

_INSERT = f"INSERT INTO facts ({ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_NO_META: Mapping[str, str] = {}


def create_tables(db: sqlite3.Connection) -> None:
    """The tables of an empty log."""
    for statement in filter(str.strip, TABLES.split(";")):
        db.execute(statement)
    db.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
    db.execute("INSERT INTO head VALUES (1, 0, ?)", (GENESIS,))


def write_log(
    path: Path,
    entries: Iterable[tuple[int, Entry]],
    *,
    meta: Mapping[str, str] = _NO_META,
    cursors: Mapping[str, int] = NO_CURSORS,
) -> Head:
    """Makes a log of (journal time in ns, entry), numbered 1, 2, 3, ... and chained anew; gives its end.

    The file appears under its name only when all of it is on disk; whatever goes wrong, also in `entries`, leaves nothing.
    Raises `BadInput` when the file exists, cannot be written, or an id comes twice.
    """
    if path.exists():
        raise BadInput(f"{path} exists; choose another directory, or remove it first")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        head = _write(part, entries, meta, cursors)
        part.rename(path)
        sync_directory(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise BadInput(f"cannot write {path}: {getattr(error, 'strerror', None) or error}; see to the disk") from error
    finally:
        part.unlink(missing_ok=True)
    return head


def _write(part: Path, entries: Iterable[tuple[int, Entry]], meta: Mapping[str, str], cursors: Mapping[str, int]) -> Head:
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -65536")
        db.execute("BEGIN")
        create_tables(db)
        last = Head(0, GENESIS)

        def rows() -> Iterator[Row]:
            nonlocal last
            for time_ns, entry in entries:
                row = row_after(last.checksum, last.seq + 1, time_ns, entry)
                last = Head(row.seq, row.checksum)
                yield row

        db.executemany(_INSERT, rows())
        db.execute("UPDATE head SET seq = ?, checksum = ?", last)
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        db.executemany(MOVE_CURSOR, cursors.items())
        db.execute("COMMIT")
    with part.open("rb") as written:
        os.fsync(written.fileno())
    return last


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def directory_for(log: Path) -> Iterator[None]:
    """The directory of a log that is about to be written, made when it is missing; gone again when that comes to nothing.

    Raises `BadInput` when it cannot be made.
    """
    made = [folder for folder in (log, *log.parents) if not folder.exists()]
    try:
        log.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the directory {log}: {error.strerror}") from error
    with ExitStack() as undo:
        for folder in reversed(made):
            undo.callback(_remove_if_empty, folder)
        yield
        undo.pop_all()


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
