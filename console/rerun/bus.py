"""A recording as a bus: the role reads what it read in the run, and what it publishes is compared with what it said then.

Facts are handed out in the order of the log, but never past a fact of the role's own that it must give again and has not yet
given: whatever stands behind it the role could only know after saying it. When the role is at rest and such a fact is still
not given, it never will be: that is a difference, the recorded fact is passed on in its place, and the re-run goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from console.rerun.compare import Comparison
from console.rerun.excerpt import Excerpt, decoded
from console.rerun.needs import Needs
from console.rerun.role import WORK, Watch
from shared.bus.port import Page
from shared.eventlog.entry import Row
from shared.messages import Fact, Role, RunStarted, SampleCompleted, SampleRequested, WorkFailed

AHEAD = 256
"""Rows read at a time. The role mostly gives facts that stand among them, so that they are found without a query."""


class Answers(Protocol):
    """Who answers the role's requests instead of the recording."""

    def ask(self, request: SampleRequested) -> None:
        """Takes a request, or leaves it to the recording."""

    def awaited(self, row: Row) -> bool:
        """Whether another answer than this recorded one is on its way."""

    def instead_of(self, row: Row) -> Fact | None:
        """The answer to hand out in the place of a recorded one; None leaves that as it is."""

    def unplaced(self) -> Fact | None:
        """Takes an answer for which the recording has no place; None when there is none just now."""


class NoAnswers:
    """The recording answers everything itself."""

    def ask(self, request: SampleRequested) -> None:
        """Leaves it to the recording."""

    def awaited(self, row: Row) -> bool:
        """Never."""
        return False

    def instead_of(self, row: Row) -> Fact | None:
        """Nothing."""
        return None

    def unplaced(self) -> Fact | None:
        """Nothing."""
        return None


class RecordedBus:
    """Implements `shared.bus.port.Bus` for one role."""

    def __init__(
        self,
        excerpt: Excerpt,
        comparison: Comparison,
        watch: Watch,
        needs: Needs,
        answers: Answers,
    ) -> None:
        self.run = needs.run
        """What is handed out as the run's first fact."""
        self.answered = 0
        """Requests of the role that got their recorded answer."""
        self.over = asyncio.Event()
        """All was handed out and the role is at rest, or it was stopped."""
        self._excerpt = excerpt
        self._comparison = comparison
        self._watch = watch
        self._needs = needs
        self._answers = answers
        self._rows = excerpt.rows()
        self._ahead: deque[Row] = deque()
        self._near: dict[str, Row] = {}
        self._position = 0
        self._given: set[str] = set()
        self._unworked = set(excerpt.given_up)
        self._let_pass = ""
        self._news = asyncio.Event()

    # ------------------------------------------------------------------------------------------------- what the runtime calls

    async def publish(self, facts: Sequence[Fact]) -> None:
        """Compares the facts with the recorded ones of their ids; nothing is written."""
        work = WORK.get()  # without a replica's name the runtime publishes for the work in hand, and nothing else
        for fact in facts:
            if fact.id in work.given:
                continue
            work.given.add(fact.id)
            self._compare(fact, work.seq)
            if isinstance(fact, WorkFailed):
                self._watch.open.pop(fact.work, None)
            elif isinstance(fact, SampleRequested):
                self._answers.ask(fact)
        self.wake()
        await asyncio.sleep(0)  # as with a real acknowledgement, others come in between

    async def read(self, after: int, types: Iterable[type[Fact]] | None = None, limit: int = 512) -> Page:
        """The next facts of these types, as far as they may be handed out."""
        assert after == self._position, f"the role reads from {after}, but was handed what stands up to {self._position}"
        wanted = None if types is None else {kind.__name__ for kind in types}
        page: list[tuple[int, Fact]] = []
        times: list[int] = []
        while len(page) < limit:
            if (fact := self._answers.unplaced()) is not None:
                page.append((self._position, fact))
                times.append(0)
                continue
            if (row := self._next()) is None:
                break
            if wanted is None or row.type in wanted:
                page.append((row.seq, self._handed_out(row)))
                times.append(row.time_ns)
        await asyncio.sleep(0)
        return Page(page, self._position, times)

    async def news(self, after: int, timeout_s: float) -> bool:
        """Waits until there may be something to hand out; no time passes here."""
        if not self._more():
            self._news.clear()
            await self._news.wait()
        return True

    async def cursor(self, subscriber: str) -> int:
        """Where the role's own work begins."""
        return self._excerpt.start

    async def move_cursor(self, subscriber: str, seq: int) -> None:
        """A re-run is not gone on with later."""

    async def close(self) -> None:
        """The role works no more, whether or not all was handed out."""
        self.over.set()

    # ---------------------------------------------------------------------------------------------- what happens beside it

    def wake(self) -> None:
        """Something happened after which there may be more to hand out."""
        self._news.set()

    def at_rest(self) -> bool:
        """Nothing more can happen: the fact that is waited for will not be given, or all is over."""
        if self.over.is_set():
            return False
        row = self._peek()
        if row is None:
            self.over.set()
        else:
            assert self._blocks(row), "the role waits for something that is neither in the recording nor in a thread"
            self._comparison.not_given(row)
            self._let_pass = row.id
            self.wake()
        return True

    # ------------------------------------------------------------------------------------------------------------- the rest

    def _compare(self, fact: Fact, work_seq: int) -> None:
        row = self._near.get(fact.id) or self._excerpt.find(fact.id)
        if row is None:
            self._comparison.given_only_now(fact, self._position, work_seq)
            return
        ahead = row.seq > self._position
        repeated = row.id in self._given if ahead else self._excerpt.own(row) and self._excerpt.expected(row)
        if ahead:
            self._given.add(row.id)
        recorded = self._comparison.given_again(row, fact, work_seq, repeated=repeated)
        if recorded is not None:
            self._needs.on_change(recorded, fact)

    def _peek(self) -> Row | None:
        if not self._ahead:
            self._ahead.extend(islice(self._rows, AHEAD))
            self._near = {row.id: row for row in self._ahead if self._excerpt.own(row)}
        return self._ahead[0] if self._ahead else None

    def _next(self) -> Row | None:
        """The next row, unless it has to be given first."""
        row = self._peek()
        if row is None or self._blocks(row):
            self._position = self._excerpt.head if row is None else row.seq - 1
            return None
        self._ahead.popleft()
        self._given.discard(row.id)
        if self._excerpt.role is Role.INFERENCE:
            self._unworked.discard(row.cause)  # a request has one answer, and this was it
        self._position = row.seq
        return row

    def _more(self) -> bool:
        row = self._peek()
        return row is not None and not self._blocks(row)

    def _blocks(self, row: Row) -> bool:
        if row.id not in self._near:
            return self._answers.awaited(row)
        if row.id == self._let_pass or row.id in self._given or row.cause in self._unworked:
            return False
        return self._excerpt.expected(row)

    def _handed_out(self, row: Row) -> Fact:
        if (instead := self._answers.instead_of(row)) is not None:
            return instead
        fact = self.run if row.type == RunStarted.__name__ else decoded(row)
        if type(fact) in self._watch.works and row.seq > self._excerpt.start:
            if self._needs.passes_over(fact):
                self._unworked.add(fact.id)
            self._watch.hand_out(row.seq, fact, passed_over=fact.id in self._unworked)
        elif isinstance(fact, SampleCompleted) and fact.role is self._excerpt.role:
            self.answered += 1
        return fact
