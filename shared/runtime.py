"""Runs one role over a bus: reads the log in order, folds it with `observe`, works on it with `handle`, publishes what follows.

The contract a role can rely on:

* `observe(fact)` is called for every fact it takes, in log order, from the first fact of the log, also after a restart.
* `handle(fact)` runs as its own task, only for facts above the cursor, after `observe(fact)`. What it yields is named after the
  fact (unless already named) and acknowledged by the log before the next line of `handle` runs.
* The cursor moves when everything up to it is handled, so a killed role does its unfinished work again; ids make that harmless.
* A `handle` that raises is tried again; after `tries` the fact gets a `WorkFailed` and work goes on.
"""

from __future__ import annotations

import asyncio
import typing
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import structlog

from shared.bus.port import Bus
from shared.flow import FLOW
from shared.messages import Fact, Role, RunStarted, WorkFailed, named
from shared.retry import handler_attempts

log = structlog.get_logger()

POLL_S = 1.0
CURSOR_EVERY_S = 0.5


class Service(Protocol):
    """A role: `handle` always, `observe` when it remembers something."""

    def handle(self, fact: Any) -> AsyncIterator[Any]:
        """Facts that follow from `fact`; a tuple is published as one group."""


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
    ) -> None:
        """`listeners` see facts before the service does (the engine waits for completions there); `wants` are their types."""
        self._role = role
        self._service = service
        self._bus = bus
        self._listeners = listeners
        self._handled = hinted(service.handle)
        observe = getattr(service, "observe", None)
        self._observe: Observer | None = observe
        self._observed = hinted(observe) if observe else set()
        self._types = self._handled | self._observed | wants
        unexpected = (self._handled | self._observed) ^ FLOW[role].takes
        if unexpected:
            raise TypeError(f"{role}: handlers and the flow table disagree on {sorted(t.__name__ for t in unexpected)}")
        self._open: set[int] = set()
        self._seen = 0
        self._start = 0
        self._cursor = 0

    async def run(self) -> None:
        """Reads, observes and handles until cancelled. Raises what a broken bus or a broken `observe` raises."""
        self._start = self._cursor = await self._bus.cursor(self._role)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_cursor())
            while True:
                page = await self._bus.read(self._seen, self._types)
                for seq, fact in page.facts:
                    self._take(seq, fact, group)
                self._seen = page.upto
                if not page.facts:
                    await self._bus.news(self._seen, POLL_S)

    def _take(self, seq: int, fact: Fact, group: asyncio.TaskGroup) -> None:
        for listener in self._listeners:
            listener(fact)
        if self._observe and type(fact) in self._observed:
            self._observe(fact)
        if seq > self._start and type(fact) in self._handled:
            self._open.add(seq)
            group.create_task(self._work(seq, fact))

    async def _work(self, seq: int, fact: Fact) -> None:
        try:
            async for attempt in handler_attempts():
                with attempt:
                    await self._follow(fact)
        except Exception as error:
            log.exception("gave up", fact=type(fact).__name__, lineage=fact.lineage)
            reason = f"{type(error).__name__}: {error}"[:500]
            failed = WorkFailed(role=self._role, work=fact.id, work_type=type(fact).__name__, reason=reason)
            await self._bus.publish([named(failed, fact, list(Role).index(self._role))])
        self._open.discard(seq)

    async def _follow(self, fact: Fact) -> None:
        counts: Counter[type[Fact]] = Counter()
        async for given in self._service.handle(fact):
            group = []
            for following in given if isinstance(given, tuple) else (given,):
                if not following.id:
                    following = named(following, fact, counts[type(following)])
                    counts[type(following)] += 1
                group.append(following)
            if group:
                await self._bus.publish(group)

    async def _keep_cursor(self) -> None:
        while True:
            await asyncio.sleep(CURSOR_EVERY_S)
            done = min(self._open) - 1 if self._open else self._seen
            if done > self._cursor:
                await self._bus.move_cursor(self._role, done)
                self._cursor = done
