"""What of a recording concerns one role: what it takes, what it gave, and what it can be expected to give again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from shared.codec import BadFact, decode
from shared.errors import BadInput
from shared.eventlog.entry import Row
from shared.eventlog.reader import PARTIAL, LogReader
from shared.flow import FLOW, TIMERS, UPKEEP
from shared.messages import (
    WIRE_VERSION,
    Fact,
    Role,
    RunStarted,
    SampleCompleted,
    SampleFailed,
    SampleRequested,
    WorkFailed,
)

ANSWERS: frozenset[type[Fact]] = frozenset({SampleCompleted, SampleFailed})
STRETCH = 50_000
"""So much of the log is looked up at once, so that memory does not grow with its length."""

F = TypeVar("F", bound=Fact)


def decoded(row: Row) -> Fact:
    """The fact in a row. Raises `BadInput` when it is none."""
    try:
        return decode(row.payload)
    except BadFact as error:
        raise BadInput(
            f"fact {row.seq} ({row.type}) cannot be decoded: {error}; `sagepace log verify` lists everything"
        ) from error


class Excerpt:
    """The part of a recording that one role has to do with, as the log stands when this is made."""

    def __init__(self, reader: LogReader, role: Role) -> None:
        """Raises `BadInput` when the log cannot be re-run: no run's, of a newer schema, a part without context, or damaged."""
        origin = reader.origin()
        if origin is not None and origin.kind == PARTIAL:
            raise BadInput(f"{reader.path} holds {origin.what} and can only be looked at; give the whole log, or a slice of it")
        reader.require_sound()
        self.role = role
        self._reader = reader
        self.finished = _mark(reader.cursors(), role)
        """The role's own mark: its work up to this fact was done when the recording ended. None when it left no mark."""
        self.head = reader.head().seq
        self.start = reader.handled_from()
        """Facts up to this one are context: the role sees them and does not work on them."""
        self.run = self._first()
        self.given_up = frozenset(self._failures())
        """Ids of facts that the role gave up on. What broke outside it does not break again, so they are passed over."""
        row = FLOW[role]
        self.takes = row.takes | ANSWERS if row.speaks else row.takes
        self.gives = row.gives | {WorkFailed} | ({SampleRequested} if row.speaks else set())
        self._not_repeated = {kind.__name__ for kind in TIMERS | UPKEEP}

    def rows(self) -> Iterator[Row]:
        """All rows that the role takes or may have given, in order. Raises `BadInput` where the log is damaged."""
        types = [kind.__name__ for kind in self.takes | self.gives]
        for after in range(0, self.head, STRETCH):
            yield from self._reader.rows(after, until=min(after + STRETCH, self.head), types=types)

    def find(self, fact_id: str) -> Row | None:
        """The fact of that id, wherever it stands."""
        return self._reader.with_id(fact_id)

    def own(self, row: Row) -> bool:
        """Whether the role gave this fact."""
        return row.role == self.role

    def expected(self, row: Row) -> bool:
        """Whether the role must give this fact of its own again: no clock gave rise to it, and its cause is no mere context."""
        if row.type in self._not_repeated:
            return False
        if self.start == 0:
            return True
        cause = self.find(row.cause)
        return cause is not None and cause.seq > self.start

    def causes(self, fact: Fact) -> Iterator[tuple[int, Fact]]:
        """(seq, fact) of the fact's cause, the cause's cause, and so on to the run's first fact."""
        seq = self.head + 1
        while (row := self.find(fact.cause)) is not None and row.seq < seq:
            seq, fact = row.seq, decoded(row)
            yield seq, fact

    def facts(self, kind: type[F], after: int = 0, until: int | None = None) -> Iterator[F]:
        """The facts of one type above `after`, up to `until` (None: the end), in order."""
        for row in self._reader.rows(after, until=self.head if until is None else until, types=[kind.__name__]):
            fact = decoded(row)
            if isinstance(fact, kind):
                yield fact

    def _first(self) -> RunStarted:
        for fact in self.facts(RunStarted):
            if fact.wire_version > WIRE_VERSION:
                raise BadInput(
                    f"the recording is of wire version {fact.wire_version}, this version knows {WIRE_VERSION}; use a newer one"
                )
            return fact
        raise BadInput("the log holds no run: there is no RunStarted in it; give the directory of a run")

    def _failures(self) -> Iterator[str]:
        yield from (fact.work for fact in self.facts(WorkFailed) if fact.role is self.role)
        if self.role is Role.INFERENCE:
            yield from (fact.request for fact in self.facts(SampleFailed))


def _mark(cursors: Mapping[str, int], role: Role) -> int | None:
    """The lowest of the cursors that the role's processes left, such as ``solver`` and ``solver-2``."""
    names = (name for name in cursors if "/" not in name)  # the others are notes of their deaths (shared/deaths.py)
    return min((cursors[name] for name in names if name == role or name.startswith(f"{role}-")), default=None)
