"""A recording as a replay reads it: read-only, as long as it was when it was opened, and checked stretch by stretch.

Each stretch of the log is held against its checksums once, when it is first needed. What is damaged is said and passed over,
so that no observer is shown a fact that was changed since it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from shared.codec import BadFact, decode
from shared.errors import BadInput
from shared.eventlog.entry import Row
from shared.eventlog.port import Stretch, gather
from shared.eventlog.reader import LogDamaged, LogReader
from shared.eventlog.verify import Head, Problem, problems
from shared.messages import WIRE_VERSION, RunStarted

STRETCH = 256
"""Facts that are checked at once; also what is held in memory."""
PAGE_STRETCHES = 8
"""Stretches that one page of a reader looks at, at most, so that a late reader never holds up the others for long."""


class Cue(NamedTuple):
    """A fact to come: all that a player needs to know of it."""

    seq: int
    time_ns: int
    type: str
    lineage: str


class Tape:
    """One recording, with `only` the facts of these types (None: all). Close it."""

    def __init__(self, path: Path, only: frozenset[str] | None, say: Callable[[str], None]) -> None:
        """`say` gets a line for the first, second, fourth, ... damaged fact.

        Raises `BadInput` when there is no log at `path`, when it is empty, or when it was written by a newer version.
        """
        self.only = only
        self.damaged: set[int] = set()
        self.reader = LogReader(path)
        self._say = say
        try:
            self.last = self.reader.head().seq
            self._checked = bytearray(self.last // STRETCH + 1)
            if self.last == 0:
                raise BadInput(f"the log {path} has no fact yet: there is nothing to replay")
            self.name = self._described(path)
            self.context = self.reader.handled_from()
            """Facts up to this number are there to be seen, not to be worked on: 0, but in a slice."""
        except BadInput:
            self.reader.close()
            raise

    def read(self, after: int, until: int, types: Collection[str] | None, limit: int) -> Stretch:
        """Sound rows above `after` up to and including `until` of these types (None: all), at most `limit`.

        May look at only a part at once: `upto` says how far, even when nothing was found.
        """
        end = min(until, self.last, (after // STRETCH + PAGE_STRETCHES) * STRETCH)
        if after >= end:
            return Stretch([], max(after, end))
        for number in range(after // STRETCH, (end - 1) // STRETCH + 1):
            if not self._checked[number]:
                self._rows_of(number)
        rows = self.reader.rows(after, until=end, types=self._shown(types), on_damage=_known)
        sound = ((row.seq, row.time_ns, row.type, row.payload) for row in rows if row.seq not in self.damaged)
        return gather(sound, None, limit, end)

    def cues(self, after: int, until: int) -> Iterator[Cue]:
        """The facts to show above `after` up to and including `until`, in order."""
        for number in range(after // STRETCH, (until - 1) // STRETCH + 1):
            for row in self._rows_of(number):
                if after < row.seq <= until and (self.only is None or row.type in self.only):
                    yield Cue(row.seq, row.time_ns, row.type, row.lineage)

    def with_id(self, fact_id: str) -> Row | None:
        """The recorded fact of that id, shown or not; None when the recording has none.

        Raises `LogDamaged` when it was changed since, or cannot be read.
        """
        row = self.reader.with_id(fact_id)
        if row is None or row.seq > self.last:
            return None
        if not self._checked[number := (row.seq - 1) // STRETCH]:
            self._rows_of(number)
        if row.seq in self.damaged:
            raise LogDamaged(f"fact {row.seq} was changed since it was recorded")
        return row

    def time_of(self, seq: int) -> int | None:
        """When a fact was journalled, in ns since the UNIX epoch; None when it cannot be read, or there is none."""
        if not 0 < seq <= self.last:
            return None
        return next((row.time_ns for row in self._rows_of((seq - 1) // STRETCH) if row.seq == seq), None)

    def close(self) -> None:
        """Lets go of the file."""
        self.reader.close()

    def _shown(self, types: Collection[str] | None) -> Collection[str] | None:
        if self.only is None:
            return types
        return self.only if types is None else self.only & frozenset(types)

    def _rows_of(self, number: int) -> list[Row]:
        """The sound rows of a stretch; the first time it is checked, together with the row before it."""
        start, end = number * STRETCH, min((number + 1) * STRETCH, self.last)
        before = max(0, start - 1)
        unreadable: list[Problem] = []
        rows = list(self.reader.rows(before, until=end, on_damage=unreadable.append))
        if not self._checked[number]:
            self._checked[number] = 1
            closing = Head(end, rows[-1].checksum if rows and rows[-1].seq == end else b"")
            for problem in (*unreadable, *problems(rows, closing, before)):
                if problem.seq > start and problem.seq not in self.damaged:
                    self._pass_over(problem)
        return [row for row in rows if row.seq > start and row.seq not in self.damaged]

    def _pass_over(self, problem: Problem) -> None:
        self.damaged.add(problem.seq)
        count = len(self.damaged)
        if count & (count - 1) == 0:
            self._say(f"passed over ({count} so far): {problem.what}")

    def _described(self, path: Path) -> str:
        """The run's name, from its first fact, else its directory's. Raises `BadInput` for a log of a newer wire schema."""
        for row in self.reader.rows(until=self.last, types=[RunStarted.__name__], on_damage=_known):
            try:
                fact = decode(row.payload)
            except BadFact:
                continue
            assert isinstance(fact, RunStarted)
            if fact.wire_version > WIRE_VERSION:
                raise BadInput(
                    f"{path} was recorded with wire version {fact.wire_version}, this version reads up to {WIRE_VERSION}: "
                    "replay it with the version that recorded it, or a newer one"
                )
            return str(fact.config.get("run", {}).get("name") or path.resolve().parent.name)
        return path.resolve().parent.name


def _known(problem: Problem) -> None:
    """The check of the stretch has said it."""
