"""Everything that can be wrong with a log file: rows, what they refer to, tables, and what waits to be written into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.eventlog.scan import Ask, LogDamaged
from shared.eventlog.verify import Head, Problem, problems
from shared.eventlog.waiting import waiting_problems
from shared.messages import RunStarted

if TYPE_CHECKING:
    from shared.eventlog.reader import LogReader

_STRETCH = 20_000
"""Facts whose causes are looked up by one query."""


def check(log: LogReader, ask: Ask) -> Iterator[Problem]:
    """Everything wrong with the log, in its order; nothing when it is whole."""
    try:
        head = log.head()
        beyond = next(iter(ask("SELECT count(*) FROM facts WHERE seq > ? AND seq > (SELECT seq FROM head)", head.seq)))[0]
    except LogDamaged as error:
        yield Problem(0, str(error))
        head, beyond = _presumed_head(log), 0
    if beyond:
        yield Problem(head.seq + 1, f"{beyond} facts stand after fact {head.seq}, the last one the log's head knows")
    found: list[Problem] = []
    told: list[Problem] = []
    for problem in problems(log.rows(until=head.seq, on_damage=found.append), head):
        yield from (drained := _drained(found))
        told = drained or told  # of the stretch of rows that was read last
        if not any(each.covers(problem) for each in told):
            yield problem
    yield from _drained(found)
    yield from _lost_causes(log, ask, head)
    yield from _file_problems(log, ask, head)


def _presumed_head(log: LogReader) -> Head:
    """Where the rows end, for a log whose head cannot be read."""
    last = Head(0, b"")
    for row in log.rows(on_damage=lambda _: None):
        last = Head(row.seq, row.checksum)
    return last


def _lost_causes(log: LogReader, ask: Ask, head: Head) -> Iterator[Problem]:
    """Facts whose cause is not in the log before them.

    What a run's first fact names as its cause is the world outside, which others may name too. Causes of a part may lie outside
    it, and a log that does not begin as a run does (those of tests do not) has no causes to be held to.
    """
    try:
        begins = next(iter(ask("SELECT type, cause FROM facts ORDER BY seq LIMIT 1")), ("", ""))
        if log.origin() is not None or begins[0] != RunStarted.__name__:
            return
        query = (
            "SELECT seq, type, cause FROM facts AS fact NOT INDEXED WHERE seq > ? AND seq <= ? AND cause != ? AND NOT EXISTS "
            "(SELECT 1 FROM facts AS earlier WHERE earlier.id = fact.cause AND earlier.seq < fact.seq) ORDER BY seq"
        )
        for start in range(0, head.seq, _STRETCH):
            for seq, type_name, cause in ask(query, start, min(start + _STRETCH, head.seq), begins[1]):
                what = f"its cause {cause} is not in the log before it" if cause else "it names no cause"
                yield Problem(seq, f"fact {seq} ({type_name}) hangs in the air: {what}")
    except LogDamaged as error:
        yield Problem(0, f"causes cannot be looked up: {error}")


def _file_problems(log: LogReader, ask: Ask, head: Head) -> Iterator[Problem]:
    """What SQLite itself finds, such as an index that differs from its table; cursors beyond the end; a damaged WAL file."""
    try:
        for (line,) in ask("PRAGMA integrity_check(10)"):
            if line != "ok":
                yield Problem(0, f"SQLite: {' '.join(str(line).split())}")
        for subscriber, seq in log.cursors().items():
            if seq > head.seq and "/" not in subscriber:
                yield Problem(seq, f"the cursor of {subscriber} stands at {seq}, beyond the last fact {head.seq}")
    except LogDamaged as error:
        yield Problem(0, str(error))
    if not log.being_written():
        yield from waiting_problems(log.path)


def _drained(found: list[Problem]) -> list[Problem]:
    """Takes what has gathered, so that problems come out in the order of the log."""
    taken = found.copy()
    found.clear()
    return taken
