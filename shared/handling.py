"""One fact in a role's hands: `handle` is tried, what it yields is named and published, and what cannot be done is said so."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Protocol

import structlog

from shared.bus.port import Bus, BusClosed
from shared.messages import Fact, Role, WorkFailed, named
from shared.retry import Attempts

log = structlog.get_logger()


class Service(Protocol):
    """A role: `handle` always, `observe` when it remembers something.

    A role whose takers wait for another word than `WorkFailed` has a method `given_up(fact, reason)`, which gives that word.
    """

    def handle(self, fact: Any) -> AsyncIterator[Any]:
        """Facts that follow from `fact`; a tuple is published as one group."""


class Handling:
    """How one role's facts are handled."""

    def __init__(self, role: Role, service: Service, bus: Bus, attempts: Attempts) -> None:
        """`attempts` is the policy by which a `handle` that raised is tried again."""
        self._role = role
        self._service = service
        self._bus = bus
        self._attempts = attempts

    async def handle(self, fact: Fact) -> None:
        """Handles the fact, or gives it up after several tries. Returns when all that follows from it is in the log."""
        try:
            async for attempt in self._attempts():
                with attempt:
                    await self._follow(fact)
        except BusClosed:
            # None of the work's: there is nobody to say it to.
            raise
        except Exception as error:
            log.exception("gave up", fact=type(fact).__name__, lineage=fact.lineage)
            await self.give_up(fact, f"{type(error).__name__}: {error}"[:500])

    async def give_up(self, fact: Fact, reason: str) -> None:
        """Says that the fact will not be handled."""
        word = getattr(self._service, "given_up", None)
        if word:
            given = named(word(fact, reason), fact)
        else:
            failed = WorkFailed(role=self._role, work=fact.id, work_type=type(fact).__name__, reason=reason)
            given = named(failed, fact, list(Role).index(self._role))
        await self._bus.publish([given])

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
