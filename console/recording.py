"""A run's log, opened for looking at: what is in it, its facts, and whether it is whole. Also while the run is still going."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from console.inspect.summary import DecisionInfo, RecordingInfo, summary
from shared.codec import BY_NAME, BadFact, decode
from shared.errors import BadInput
from shared.eventlog.entry import Row
from shared.eventlog.reader import LogReader
from shared.eventlog.sound import sound_rows
from shared.eventlog.verify import Problem, missing
from shared.messages import WIRE_VERSION, Fact, RunStarted

__all__ = ["LOG_NAME", "DecisionInfo", "Recording", "RecordingInfo", "log_file", "open_recording"]

LOG_NAME = "log.sqlite"
_DAMAGED = "damaged places"
_TOLD = 100
"""So many problems are kept in words; further ones are only counted."""


class Recording:
    """A read-only view of one log. Use it in a `with` statement, or `close` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = LogReader(path)
        self.unreadable: list[Problem] = []
        """The first of what had to be passed over so far: damaged rows, and facts of a wire schema unknown here."""
        self.passed_over: Counter[str] = Counter()
        """All of it, by kind."""
        self._checked = False

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def info(self) -> RecordingInfo:
        """The recording at one glance. Raises `BadInput` when the file is too damaged to count."""
        return summary(self.reader)

    def facts(
        self,
        types: Collection[type[Fact] | str] | None = None,
        lineage: str | None = None,
        after: int = 0,
        until: int | None = None,
        *,
        roles: Collection[str] | None = None,
        lineages: Collection[str] | None = None,
    ) -> Iterator[tuple[int, int, Fact]]:
        """(seq, time_ns, fact) of the wanted facts above `after` up to and including `until`, in the order of the log.

        `lineage` selects a unit of work and those below it (``s3`` gives ``s3.c7`` too, ``s30`` not), `lineages` several. What
        cannot be read, or was changed since it was recorded, is passed over and added to `unreadable`. Raises `BadInput` for a
        log of a newer wire schema.
        """
        self.require_readable()
        names = None if types is None else [name if isinstance(name, str) else name.__name__ for name in types]
        rows = self.reader.rows(
            after, until=until, types=names, lineage=lineage, roles=roles, lineages=lineages, on_damage=self.damaged
        )
        if types is lineage is roles is lineages is None:
            rows = self._gapless(rows, after, until)
        for row in self.sound(rows):
            if fact := self.decoded(row):
                yield row.seq, row.time_ns, fact

    def sound_log(self) -> Iterator[Row]:
        """The whole log's rows that are as they were recorded; changed and missing ones are noted."""
        return self.sound(self._gapless(self.reader.rows(on_damage=self.damaged), 0, None))

    def sound(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Those of the rows that are as they were recorded; the others are noted."""
        return sound_rows(self.reader, rows, self.damaged)

    def decoded(self, row: Row) -> Fact | None:
        """The fact in a row; None when it is none, which is noted in `unreadable`."""
        if row.type not in BY_NAME:
            self._note(f"{row.type}, a fact unknown here", Problem(row.seq, f"fact {row.seq} is a {row.type}, unknown here"))
            return None
        try:
            return decode(row.payload)
        except BadFact as error:
            problem = Problem(row.seq, f"fact {row.seq} ({row.type}) cannot be decoded: {error}")
            self._note(f"{row.type} that cannot be decoded", problem)
            return None

    def require_readable(self) -> None:
        """Raises `BadInput` when the log states a wire schema newer than this version's."""
        if self._checked:
            return
        self._checked = True
        row = next(self.reader.rows(types=[RunStarted.__name__], on_damage=lambda _: None), None)
        version = _stated_version(row) if row else None
        if isinstance(version, int) and version > WIRE_VERSION:
            raise BadInput(
                f"{self.path} was recorded with wire version {version}, this version reads up to {WIRE_VERSION}: use the "
                "version that recorded it, or a newer one (`sagepace log info` works all the same)"
            )

    def verify(self) -> list[Problem]:
        """Everything wrong with the file, in words; empty when it is whole."""
        return list(self.reader.verify())

    def close(self) -> None:
        """Lets go of the file."""
        self.reader.close()

    def _gapless(self, rows: Iterator[Row], after: int, until: int | None) -> Iterator[Row]:
        """The rows; numbers that are missing, and of which nothing else was said, are noted."""
        try:
            head = self.reader.head().seq
        except BadInput:
            head = 0
        last = after
        for row in rows:
            self._note_missing(last + 1, row.seq - 1)
            yield row
            last = row.seq
        self._note_missing(last + 1, head if until is None else min(head, until))

    def _note_missing(self, first: int, last: int) -> None:
        if first > last:
            return
        problem = missing(first, last)
        if not any(told.covers(problem) for told in self.unreadable):
            self.damaged(problem)

    def damaged(self, problem: Problem) -> None:
        """Notes a place that cannot be read; whoever reads rows past this class gives it to the reader."""
        self._note(_DAMAGED, problem)

    def _note(self, kind: str, problem: Problem) -> None:
        self.passed_over[kind] += 1
        if len(self.unreadable) < _TOLD:
            self.unreadable.append(problem)


def _stated_version(row: Row) -> Any:
    try:
        return msgspec.msgpack.decode(row.payload)["wire_version"]
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError):
        return None


def open_recording(place: Path) -> Recording:
    """The recording of a run directory (or of a log file itself). Raises `BadInput` when there is none that can be read."""
    return Recording(log_file(place))


def log_file(place: Path) -> Path:
    """The log of a run directory, or `place` itself if it is a file. Raises `BadInput` when there is none."""
    try:
        path = place if place.is_file() else place / LOG_NAME
        there = path.exists()
    except OSError as error:
        raise BadInput(f"cannot look into {place}: {error.strerror}; check that you may read it") from error
    if not there:
        raise BadInput(f"no recording in {place}: {LOG_NAME} is missing there; give the directory of a run")
    return path
