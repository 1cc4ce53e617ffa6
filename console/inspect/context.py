"""What a part of a log needs of the rest, so that it can be re-run: a log's facts sorted into context and body.

Context is what carries state across steps: how the run was started, the dataset with its keys, which policy was what, and
whatever the part's own facts follow from. A re-run is shown it and does not work on it. The body is the part itself, and what
entered the dataset or moved a policy in its midst although it belongs elsewhere, such as an answer that came too late.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.messages import (
    CandidateJudged,
    Fact,
    InstanceDrawn,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    RunStarted,
    StepOpened,
    TaskAccepted,
    TaskChecked,
    TaskJudged,
    TaskProposed,
    TaskSeeded,
    TrainingEnded,
)

_MOVES: tuple[type[Fact], ...] = (TaskAccepted, PolicyTrained, CandidateJudged, PolicyCommitted, PolicyRolledBack)
"""Facts that roles only observe and that change what a later step begins with."""
_CARRIES: tuple[type[Fact], ...] = (RunStarted, TaskSeeded, StepOpened, *_MOVES)
_OF_ACCEPTED = (TaskProposed, TaskChecked, TaskJudged)
_WHOLE = re.compile(r"([sge])(\d+)")


class Cut(NamedTuple):
    """Sequence numbers of a part's context and body, each ascending."""

    context: Sequence[int]
    body: Sequence[int]


def units_touched(reader: LogReader, first: int, last: int) -> list[str]:
    """The steps with their tests, tests, and evaluations that have a fact in this stretch. Raises `BadInput` for none."""
    found: dict[str, None] = {}
    for row in reader.rows(first - 1, until=last):
        match = _WHOLE.fullmatch(row.lineage.partition(".")[0])
        if match and match[0] not in found:
            found |= dict.fromkeys([match[0], *([f"g{match[2]}"] if match[1] == "s" else [])])
    if not found:
        raise BadInput(f"no step, test or evaluation has a fact from {first} to {last}; take a longer stretch")
    return list(found)


def cut(reader: LogReader, units: Collection[str]) -> Cut:
    """The part of a log that these units of work are. Raises `BadInput` when the log has nothing of them, or is damaged."""
    body = _numbers(reader, units)
    if not body:
        raise BadInput(f"the log has nothing of {', '.join(units)}; `sagepace log info` tells what it has")
    if any(row.seq in body for row in _rows(reader, (TrainingEnded,))):
        body |= _numbers(reader, _evaluations(reader))
    handled_from = reader.handled_from()
    first, last_opened = min(body), max((row.seq for row in _rows(reader, (StepOpened,)) if row.seq in body), default=0)
    context = {seq for seq in body if seq <= handled_from}
    body -= context
    body |= {row.seq for row in _rows(reader, _MOVES) if first < row.seq < last_opened and row.seq > handled_from}
    context |= {row.seq for row in _rows(reader, _CARRIES) if row.seq < first} - body
    accepted = {row.lineage for row in _rows(reader, (TaskAccepted,)) if row.seq in context or row.seq in body}
    before = max(first, last_opened)
    context |= {row.seq for row in _rows(reader, _OF_ACCEPTED) if row.lineage in accepted and row.seq < before} - body
    return Cut(sorted(_with_causes(reader, context, body)), sorted(body))


def _with_causes(reader: LogReader, context: set[int], body: set[int]) -> set[int]:
    """The context, and whatever it and the body follow from."""
    closed, news = set(context), context | body
    while news:
        causes = {row.cause for row in reader.numbered(sorted(news))}
        found = (reader.with_id(cause) for cause in causes if cause)
        news = {row.seq for row in found if row is not None} - closed - body
        closed |= news
    return closed


def _evaluations(reader: LogReader) -> list[str]:
    """The final evaluation's units: one for each temperature."""
    firsts = {row.lineage.partition(".")[0] for row in _rows(reader, (InstanceDrawn,))}
    return sorted(first for first in firsts if first.startswith("e"))


def _numbers(reader: LogReader, units: Collection[str]) -> set[int]:
    return {row.seq for row in reader.rows(lineages=units)} if units else set()


def _rows(reader: LogReader, types: Iterable[type[Fact]]) -> Iterable[_Place]:
    return (_Place(row.seq, row.lineage) for row in reader.rows(types=[kind.__name__ for kind in types]))


class _Place(NamedTuple):
    seq: int
    lineage: str
