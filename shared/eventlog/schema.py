"""The tables of a log file, in one place for the writer and the readers.

`facts` is the log; `head` repeats the last row's number and checksum, so that rows missing at the end are noticed; `cursors`
are the subscribers' own marks; `meta` names the file format.
"""

from __future__ import annotations

FORMAT = "1"

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE cursors (subscriber TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    cause TEXT NOT NULL,
    lineage TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    payload BLOB NOT NULL
);
"""

ROW = "seq, id, type, cause, lineage, time_ns, payload, checksum"
"""The columns of `shared.eventlog.entry.Row`, in its order. The table keeps the payload last: rows of types nobody asked for
are then passed over without reading it."""

INSERT = f"INSERT INTO facts ({ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"

MOVE_CURSOR = (
    "INSERT INTO cursors (subscriber, seq) VALUES (?, ?) ON CONFLICT (subscriber) DO UPDATE SET seq = max(seq, excluded.seq)"
)


def among(types: int) -> str:
    """The condition that a row's type is one of so many parameters."""
    return f"type IN ({', '.join('?' * types)})"
