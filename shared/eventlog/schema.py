"""The tables of a log file, in one place for the writers and the readers.

`facts` is the log; `head` repeats the last row's number and checksum, so that rows missing at the end are noticed; `cursors`
are the subscribers' own marks; `meta` names the file format and, in a log that is a part of another, says so.

Two indexes serve inspection. Both grow nearly at their ends, by type and by unit of work, so that they cost the writer little;
an index on causes would be filled in random order and is not needed, because a fact's effects lie in the same unit of work.
"""

from __future__ import annotations

FORMAT = "2"
FORMATS = {"1": "sage-pace 0.1.0"}
"""Earlier formats and the version that reads them."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE cursors (subscriber TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE facts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    role TEXT NOT NULL,
    cause TEXT NOT NULL,
    lineage TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    payload BLOB NOT NULL
);
CREATE INDEX facts_by_type ON facts (type, role);
CREATE INDEX facts_by_lineage ON facts (lineage);
"""

STORED = ("seq", "id", "type", "role", "cause", "lineage", "time_ns", "checksum", "payload")
"""The columns of `facts` as they lie in the file. The payload is last: rows of types nobody asked for are then passed over
without reading it."""

ROW = "seq, id, type, role, cause, lineage, time_ns, payload, checksum"
"""The columns of `shared.eventlog.entry.Row`, in its order."""

INSERT = f"INSERT INTO facts ({ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"

MOVE_CURSOR = (
    "INSERT INTO cursors (subscriber, seq) VALUES (?, ?) ON CONFLICT (subscriber) DO UPDATE SET seq = max(seq, excluded.seq)"
)

HANDLED_FROM = "handled_from"
ORIGIN = "origin"
"""Keys of `meta` in a log that is a part of another: where handling starts, and what it was made from."""


def among(column: str, values: int) -> str:
    """The condition that a row's column is one of so many parameters."""
    return f"{column} IN ({', '.join('?' * values)})"


def wrong_format(found: object) -> str:
    """What is said about a log of another format than `FORMAT`: what it is, and what reads it."""
    if found in FORMATS:
        return f"has log format {found}, which {FORMATS[str(found)]} reads; this version reads format {FORMAT}"
    if found is None:
        return "states no log format: it was not written to its end, or is no log of sage-pace"
    return f"has log format {found}, this version reads format {FORMAT}: use the version that wrote it, or a newer one"
