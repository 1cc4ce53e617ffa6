"""Folds the write-ahead log of a log file into the file, beside the writer, in a thread and on a connection of its own.

SQLite would do it within a commit, which then takes as long as writing and syncing thousands of pages; here a commit only ever
waits for what was added while the thread was at it. A checkpoint that fails, on a full disk for one, loses nothing: what is
committed is durable in the write-ahead log, and once that cannot grow any more the commit says so.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

EVERY_BYTES = 8 << 20
"""Payload written between two checkpoints."""
EVERY_COMMITS = 2000
"""Commits between two checkpoints; small ones fill pages with little payload."""
LATEST_CHECKPOINT_PAGES = 65_536
"""From so many pages in the write-ahead log on, SQLite does it within a commit after all: ours has failed for long."""


class Checkpointer:
    """Belongs to one writer, which calls `finish` before each transaction and `written` after it."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._under_way: Future[None] | None = None
        self._bytes = 0
        self._commits = 0

    def written(self, size: int) -> None:
        """So many bytes of payload were committed; starts a checkpoint when there are enough."""
        self._bytes += size
        self._commits += 1
        if self._under_way is None and (self._bytes >= EVERY_BYTES or self._commits >= EVERY_COMMITS):
            self._bytes = self._commits = 0
            self._under_way = self._thread.submit(_fold, self._db)

    def finish(self, writer: sqlite3.Connection) -> None:
        """When a checkpoint is done, folds in what was committed since it began: the write-ahead log then starts anew.

        Otherwise there would always be something left in it, and it would grow without end.
        """
        if self._under_way is not None and self._under_way.done():
            self._under_way = None
            _fold(writer)

    def close(self) -> None:
        """Waits for a checkpoint under way."""
        self._thread.shutdown()
        self._db.close()


def _fold(db: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
