"""Runs one role over a bus: reads the log in order, folds it with `observe`, works on it with `handle`, publishes what follows.

The contract a role can rely on:

* `observe(fact)` is called for every fact it takes, in log order, from the first fact of the log, also after a restart.
* `handle(fact)` runs as its own task, only for facts above the cursor that are this process's (`shared.share`), after
  `observe(fact)`; after a restart only once everything that the log held at the start has been observed. What it yields is
  named after the fact (unless already named) and acknowledged by the log before the next line of `handle` runs.
* The cursor moves when everything up to it is handled, so a killed role does its unfinished work again; ids make that harmless.
* A `handle` that raises is tried again; after `tries` the fact gets a `WorkFailed` and work goes on. So does a fact over which
  the process dies again and again (`shared.deaths`).
"""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import structlog

from shared.bus.port import Bus, BusClosed
from shared.deaths import DeathNotes, Try
from shared.flow import FLOW, UPKEEP
from shared.handling import Handling, Service
from shared.membership import Replaced, take_post
from shared.messages import Fact, Role, RunStarted
from shared.retry import Attempts, handler_attempts
from shared.roster import UNDIVIDED
from shared.share import Part, Share, Whole, Work

log = structlog.get_logger()

POLL_S = 1.0
CURSOR_EVERY_S = 0.5
LAST_NOTE_S = 1.0
"""A process that ends in order has so long to note it."""


class Replica(NamedTuple):
    """A process that shares its role's work with others, or may come to."""

    name: str
    deaths_over_one_fact: int
    """After so many deaths in careful work over one fact it is given up."""


Observer = Callable[[Fact], None]


def hinted(method: Callable[..., Any]) -> set[type[Fact]]:
    """The fact types that a method's ``fact`` parameter names."""
    hint = typing.get_type_hints(method).get("fact")
    options = typing.get_args(hint) or (hint,)
    return {option for option in options if isinstance(option, type) and issubclass(option, Fact)}


async def first_fact(bus: Bus) -> RunStarted:
    """Waits for the run's first fact, however late the service or the run started."""
    while True:
        page = await bus.read(0, [RunStarted], limit=1)
        if page.facts:
            fact = page.facts[0][1]
            assert isinstance(fact, RunStarted)
            return fact
        await bus.news(page.upto, POLL_S)


class Runtime:
    """One role on one bus. `run` goes on until it is cancelled."""

    def __init__(
        self,
        role: Role,
        service: Service,
        bus: Bus,
        *,
        listeners: tuple[Observer, ...] = (),
        wants: frozenset[type[Fact]] = frozenset(),
        attempts: Attempts = handler_attempts,
        replica: Replica | None = None,
    ) -> None:
        """`listeners` see facts before the service does (the engine waits for completions there); `wants` are their types.

        `attempts` is the policy by which a `handle` that raised is tried again. Without a `replica` the process is alone: all
        the role's work is its, and it neither joins a roster nor notes its deaths.
        """
        self._role = role
        self._bus = bus
        self._listeners = listeners
        self._handling = Handling(role, service, bus, attempts)
        self._handled = hinted(service.handle)
        observe = getattr(service, "observe", None)
        self._observe: Observer | None = observe
        self._observed = hinted(observe) if observe else set()
        self._answers = wants
        self._types = self._handled | self._observed | wants
        unexpected = (self._handled | self._observed) ^ FLOW[role].takes
        if unexpected:
            raise TypeError(f"{role}: handlers and the flow table disagree on {sorted(t.__name__ for t in unexpected)}")
        self._replica = replica
        self._name = replica.name if replica else str(role)
        self._notes = DeathNotes(bus, replica.name, replica.deaths_over_one_fact) if replica else None
        self._part: Part = Whole()
        self._open: set[tuple[int, int]] = set()
        self._held: list[Work] | None = None
        """Work that may not begin yet; None once work begins as it comes."""
        self._careful = self._catching_up = False
        self._head = 0
        self._seen = self._start = self._cursor = 0

    async def run(self) -> None:
        """Reads, observes and handles until cancelled.

        Raises what a broken bus or a broken `observe` raises, and `Replaced` when others were given this process's work.
        """
        await self._begin()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_cursor())
                while True:
                    page = await self._bus.read(self._seen, self._types)
                    for seq, fact in page.facts:
                        await self._take(seq, fact, group)
                    self._seen = page.upto
                    if self._catching_up and self._seen >= self._head:
                        self._caught_up(group)
                    if not page.facts:
                        await self._bus.news(self._seen, POLL_S)
        except (asyncio.CancelledError, BaseExceptionGroup) as error:
            if isinstance(error, asyncio.CancelledError) or error.subgroup(Replaced):
                await self._note_the_stop()
            raise

    async def _begin(self) -> None:
        self._start = self._cursor = await self._bus.cursor(self._name)
        if self._replica is None or self._notes is None:
            return
        post = await take_post(self._bus, await first_fact(self._bus), self._role, self._replica.name)
        self._part = Share(self._bus, self._role, post)
        self._start = max(self._cursor, post.joined - 1)
        self._types |= UPKEEP
        self._held, self._catching_up, self._head = [], True, post.head
        self._careful = await self._notes.started(self._cursor)

    async def _take(self, seq: int, fact: Fact, group: asyncio.TaskGroup) -> None:
        for listener in self._listeners:
            listener(fact)
        if self._observe and type(fact) in self._observed:
            self._observe(fact)
        if type(fact) in UPKEEP:
            for work in await self._part.turned(seq, fact, self._handled):
                self._accept(work, group)
        elif seq > self._start and type(fact) in self._handled and self._part.owns(seq, fact):
            self._accept(Work(seq, seq, fact), group)

    def _accept(self, work: Work, group: asyncio.TaskGroup) -> None:
        if work.since <= self._start:
            return
        self._open.add((work.since, work.seq))
        if self._held is None:
            group.create_task(self._work(work))
        else:
            self._held.append(work)

    def _caught_up(self, group: asyncio.TaskGroup) -> None:
        """Lets work begin: all is observed that the log held at the start."""
        self._catching_up = False
        if self._careful:
            group.create_task(self._work_carefully(group))
        else:
            self._release(group)

    def _release(self, group: asyncio.TaskGroup) -> None:
        held, self._held = self._held or [], None
        for work in held:
            group.create_task(self._work(work))

    async def _work_carefully(self, group: asyncio.TaskGroup) -> None:
        """Handles what may have been under way at the last deaths one by one; whatever comes meanwhile waits."""
        works, self._held = sorted(self._held or [], key=lambda work: work[:2]), []
        log.warning("works carefully after deaths", facts=len(works))
        for work in works:
            await self._try(work)
        self._release(group)

    async def _try(self, work: Work) -> None:
        assert self._notes is not None
        verdict = await self._notes.before(work.seq, await self._progress(work))
        if verdict is Try.HANDLE:
            await self._handling.handle(work.fact)
        elif verdict is Try.GIVE_UP:
            log.error("gave up after deaths", fact=type(work.fact).__name__, lineage=work.fact.lineage)
            await self._handling.give_up(work.fact, f"the process died {self._notes.limit} times over it")
        if verdict is not Try.PASS_OVER:
            await self._notes.after(work.seq)
        self._open.discard(work[:2])

    async def _progress(self, work: Work) -> int:
        """The place of the last fact that came of this work so far; 0 when none did."""
        types, seen, last = FLOW[self._role].gives | self._answers, work.seq, 0
        while True:
            page = await self._bus.read(seen, types)
            for seq, fact in page.facts:
                if self._role in UNDIVIDED or fact.lineage == work.fact.lineage:
                    last = seq
            if page.upto <= seen:
                return last
            seen = page.upto

    async def _work(self, work: Work) -> None:
        await self._handling.handle(work.fact)
        self._open.discard(work[:2])

    async def _keep_cursor(self) -> None:
        while True:
            await asyncio.sleep(CURSOR_EVERY_S)
            await self._move_cursor()

    async def _move_cursor(self) -> None:
        done = min(self._open)[0] - 1 if self._open else self._seen
        if done > self._cursor:
            await self._bus.move_cursor(self._name, done)
            self._cursor = done

    async def _note_the_stop(self) -> None:
        """Leaves the cursor where it belongs and says that this was no death, unless the bus is gone already."""
        if self._notes is None:
            return
        with suppress(TimeoutError, BusClosed):
            async with asyncio.timeout(LAST_NOTE_S):
                await self._move_cursor()
                await self._notes.stopped()
