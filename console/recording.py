"""A run's log, opened for looking at: what is in it, its facts, and whether it is whole. Also while the run is still going."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from shared.codec import BadFact, decode
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.eventlog.verify import Problem
from shared.messages import CandidateJudged, Decision, Fact, RunEnded, RunStarted

LOG_NAME = "log.sqlite"

F = TypeVar("F", bound=Fact)


class DecisionInfo(msgspec.Struct, frozen=True):
    """One verdict of the gate."""

    seq: int
    step: int
    candidate: str
    decision: Decision
    reason: str


class RecordingInfo(msgspec.Struct, frozen=True):
    """What is in a recording, at one glance."""

    path: str
    size_bytes: int
    facts: int
    by_type: dict[str, int]
    first_seq: int
    last_seq: int
    first_time_ns: int
    last_time_ns: int
    duration_s: float
    closed: bool
    """The run said that it ended; without it the run is still going, or was cut off."""
    ok: bool | None
    """How it ended; None when it did not."""
    reason: str
    seed: int | None
    name: str
    wire_version: int | None
    versions: dict[str, str]
    decisions: tuple[DecisionInfo, ...]


class Recording:
    """A read-only view of one log. Use it in a `with` statement, or `close` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable: list[Problem] = []
        """What `facts` had to pass over so far: damaged rows, and facts of a wire schema unknown here."""
        self._reader = LogReader(path)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def info(self) -> RecordingInfo:
        """The recording at one glance. Raises `BadInput` when the file is too damaged to count."""
        counts = self._reader.counts()
        first, last, began, ended = self._reader.span()
        started = self._first(RunStarted)
        closing = self._first(RunEnded)
        return RecordingInfo(
            path=str(self.path),
            size_bytes=sum(part.stat().st_size for part in (self.path, self._beside("-wal")) if part.exists()),
            facts=sum(counts.values()),
            by_type=counts,
            first_seq=first,
            last_seq=last,
            first_time_ns=began,
            last_time_ns=ended,
            duration_s=(ended - began) / 1e9,
            closed=closing is not None,
            ok=closing.ok if closing else None,
            reason=closing.reason if closing else "",
            seed=started.seed if started else None,
            name=self._name(started),
            wire_version=started.wire_version if started else None,
            versions=started.versions if started else {},
            decisions=tuple(self._decisions()),
        )

    def facts(
        self,
        types: Collection[type[Fact] | str] | None = None,
        lineage: str | None = None,
        after: int = 0,
        until: int | None = None,
    ) -> Iterator[tuple[int, int, Fact]]:
        """(seq, time_ns, fact) of the wanted facts above `after` up to and including `until`, in the order of the log.

        `lineage` selects a unit of work and those below it (``s3`` gives ``s3.c7`` too, ``s30`` not). What cannot be read is
        passed over and added to `unreadable`.
        """
        names = None if types is None else [name if isinstance(name, str) else name.__name__ for name in types]
        rows = self._reader.rows(after, until=until, types=names, lineage=lineage, on_damage=self.unreadable.append)
        for row in rows:
            try:
                fact = decode(row.payload)
            except BadFact as error:
                self.unreadable.append(Problem(row.seq, f"fact {row.seq} ({row.type}) cannot be decoded: {error}"))
                continue
            yield row.seq, row.time_ns, fact

    def verify(self) -> list[Problem]:
        """Everything wrong with the file, in words; empty when it is whole."""
        return list(self._reader.verify())

    def close(self) -> None:
        """Lets go of the file."""
        self._reader.close()

    def _first(self, fact_type: type[F]) -> F | None:
        return next((fact for _, _, fact in self.facts([fact_type]) if isinstance(fact, fact_type)), None)

    def _name(self, started: RunStarted | None) -> str:
        """The run's name: from its run file, else its directory's."""
        name = started.config.get("run", {}).get("name") if started else None
        return str(name or self.path.resolve().parent.name)

    def _decisions(self) -> Iterator[DecisionInfo]:
        for seq, _, fact in self.facts([CandidateJudged]):
            if isinstance(fact, CandidateJudged):
                yield DecisionInfo(seq, fact.step, fact.candidate, fact.decision, fact.reason)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


def open_recording(place: Path) -> Recording:
    """The recording of a run directory (or of a log file itself). Raises `BadInput` when there is none that can be read."""
    path = place if place.is_file() else place / LOG_NAME
    if not path.exists():
        raise BadInput(f"no recording in {place}: {LOG_NAME} is missing there; give the directory of a run")
    return Recording(path)
