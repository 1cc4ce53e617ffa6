"""The log on disk: one SQLite file in WAL mode, synchronous FULL, written by one process and readable by others meanwhile.

A transaction is durable when `commit` returns; the broker puts whatever requests wait into one (group commit), and reads what
is there on a connection of its own meanwhile. Folding the write-ahead log into the file is done beside, so that no commit has
to wait for it (`shared.eventlog.checkpoint`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from shared.errors import BadInput
from shared.eventlog.checkpoint import LATEST_CHECKPOINT_PAGES, Checkpointer
from shared.eventlog.entry import Entry, Refused, Row, row_after, row_of
from shared.eventlog.fresh import create_tables, sync_directory
from shared.eventlog.lock import FileLock
from shared.eventlog.opening import is_empty
from shared.eventlog.port import NO_CURSORS, JournalFault, Stretch, gather
from shared.eventlog.schema import FORMAT, INSERT, MOVE_CURSOR, ORIGIN, ROW, among, wrong_format
from shared.eventlog.tail import Tail
from shared.eventlog.verify import Head, problems

SCAN_ROWS = 2048
"""Rows of the file that one `read` looks at, so that a late subscriber never holds up the others for long."""


class SqliteJournal:
    """Implements `shared.eventlog.port.Journal` on a file, which is made when it is missing."""

    def __init__(self, path: Path, *, tail_facts: int = 20_000) -> None:
        """Raises `BadInput` when the file is locked, damaged, not a log, or cannot be written."""
        self._path = path
        self._tail = Tail(tail_facts)
        self._tail_facts = tail_facts
        if path.exists():
            is_empty(path)  # or a log; a file of another kind is refused before a lock is made beside it
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot make the directory {path.parent}: {error.strerror}; choose another") from error
        self._lock = FileLock(
            path.with_name(path.name + ".lock"),
            f"the log {path} is being written by another broker: stop that one, or choose another directory",
        )
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self._db = _connect(path)
            undo.callback(self._db.close)
            self._reading = sqlite3.connect(path, isolation_level=None)
            undo.callback(self._reading.close)
            self._checkpointer = Checkpointer(path)
            undo.callback(self._checkpointer.close)
            self._staged: list[Row] = []
            self._moves: Mapping[str, int] = NO_CURSORS
            try:
                self._load()
            except (sqlite3.Error, ValueError) as error:
                raise BadInput(f"the log {path} is damaged: {error}; `sagepace log verify` lists everything") from error
            undo.pop_all()

    @property
    def head(self) -> int:
        """The last sequence number."""
        return self._head

    @property
    def latest(self) -> Mapping[str, int]:
        """By fact type, the last sequence number of that type."""
        return self._latest

    def append(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """One transaction for all of it; see the port."""
        self.stage(entries, cursors)
        self.commit()
        self.settle()

    def stage(self, entries: Sequence[Entry], cursors: Mapping[str, int] = NO_CURSORS) -> None:
        """Writes into an open transaction; see the port."""
        try:
            self._checkpointer.finish(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            self._staged = self._insert(entries)
            self._db.executemany(MOVE_CURSOR, cursors.items())
            self._moves = cursors
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def commit(self) -> None:
        """Makes the open transaction durable; see the port."""
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def settle(self) -> None:
        """Moves the end of the log to behind what was committed."""
        rows, self._staged = self._staged, []
        for row in rows:
            self._tail.push(row.seq, row.time_ns, row.type, row.payload)
            self._latest[row.type] = row.seq
        if rows:
            self._head, self._checksum = rows[-1].seq, rows[-1].checksum
        for subscriber, seq in self._moves.items():
            self._cursors[subscriber] = max(seq, self.cursor(subscriber))
        self._moves = NO_CURSORS
        self._checkpointer.written(sum(len(row.payload) for row in rows))

    def read(self, after: int, types: Collection[str] | None, limit: int) -> Stretch:
        """From memory when the newest facts are wanted, else from the file; see the port."""
        if after >= self._head:
            return Stretch([], after)
        if self._tail.holds(after + 1):
            return self._tail.read(after, types, limit)
        end = min(after + SCAN_ROWS, self._head)
        wanted = "" if types is None else f"AND {among('type', len(types))} "
        # NOT INDEXED: by the index on types SQLite would look at the whole log, not at this stretch.
        query = (
            f"SELECT seq, time_ns, type, payload FROM facts NOT INDEXED WHERE seq > ? AND seq <= ? {wanted}ORDER BY seq LIMIT ?"
        )
        try:
            return gather(self._reading.execute(query, (after, end, *(types or ()), limit)), types, limit, end)
        except sqlite3.Error as error:
            raise Refused(f"the log cannot be read above fact {after}: {error}; `sagepace log verify` says where") from error

    def cursor(self, subscriber: str) -> int:
        """The subscriber's cursor; 0 when it has none."""
        return self._cursors.get(subscriber, 0)

    def close(self) -> None:
        """Folds the write-ahead log into the file and leaves one plain file, unless somebody is reading it just now."""
        self._checkpointer.close()
        self._reading.close()
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA busy_timeout = 200")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()
        self._lock.release()

    def _fault(self, error: sqlite3.Error) -> JournalFault:
        """Gives up the open transaction; what to tell about it."""
        with suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")
        return JournalFault(f"the log {self._path} cannot be written: {error}; see to the disk, then start again")

    def _insert(self, entries: Sequence[Entry]) -> list[Row]:
        rows: list[Row] = []
        seq, checksum, time_ns = self._head, self._checksum, time.time_ns()
        for entry in entries:
            row = row_after(checksum, seq + 1, time_ns, entry)
            if self._db.execute(INSERT, row).rowcount == 1:
                rows.append(row)
                seq, checksum = row.seq, row.checksum
        if rows:
            self._db.execute("UPDATE head SET seq = ?, checksum = ?", (seq, checksum))
        return rows

    def _load(self) -> None:
        """Where the log stands. A damaged end is refused here rather than built upon."""
        self._head, self._checksum = self._db.execute("SELECT seq, checksum FROM head").fetchone()
        self._latest: dict[str, int] = dict(self._db.execute("SELECT type, max(seq) FROM facts GROUP BY type"))
        self._cursors: dict[str, int] = dict(self._db.execute("SELECT subscriber, seq FROM cursors"))
        start = max(0, self._head - self._tail_facts)
        for problem in problems(self._newest(start), Head(self._head, self._checksum), start):
            raise ValueError(problem.what)

    def _newest(self, start: int) -> Iterator[Row]:
        """The rows above `start`, each remembered in the tail as it passes."""
        for found in self._db.execute(f"SELECT {ROW} FROM facts WHERE seq > ? ORDER BY seq", (start,)):
            row = row_of(found)
            self._tail.push(row.seq, row.time_ns, row.type, row.payload)
            yield row


def _connect(path: Path) -> sqlite3.Connection:
    """A connection in WAL mode with the tables made and their format checked."""
    fresh = not path.exists() or path.stat().st_size == 0
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise BadInput(f"cannot open the log {path}: {error}; choose a directory that you may write to") from error
    try:
        db.execute("PRAGMA busy_timeout = 5000")
        if not fresh and (wrong := _unwritable(db)):
            raise BadInput(f"{path} {wrong}; choose another directory")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 67108864")
        db.execute(f"PRAGMA wal_autocheckpoint = {LATEST_CHECKPOINT_PAGES}")
        if fresh:
            _create(db, path)
    except sqlite3.Error as error:
        db.close()
        raise BadInput(f"{path} is not a log that can be written: {error}; choose another directory") from error
    except BadInput:
        db.close()
        raise
    return db


def _unwritable(db: sqlite3.Connection) -> str:
    """Why a log is not to be written on: another format, or a part of another log; empty when it may be."""
    meta: dict[str, str] = dict(db.execute("SELECT key, value FROM meta"))
    if meta.get("format") != FORMAT:
        return wrong_format(meta.get("format"))
    return "is a part of another log: it can be looked at and re-run, not gone on with" if ORIGIN in meta else ""


def _create(db: sqlite3.Connection, path: Path) -> None:
    """The tables, in one transaction, and the new file's name on disk."""
    db.execute("BEGIN IMMEDIATE")
    create_tables(db)
    db.execute("COMMIT")
    sync_directory(path.parent)
