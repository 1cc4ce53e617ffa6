"""The part of a role's work that one process has to do.

`Whole` is for a process that is alone on its bus, such as a role that is run again on a recording: everything is its. `Share`
is for a replica: it follows the roster in the log and says of each fact whether it is this process's, also when others leave.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

from shared.bus.port import Bus
from shared.membership import Post, Replaced, turn_of
from shared.messages import Fact, ReplicaLeft, Role
from shared.roster import Roster


class Work(NamedTuple):
    """A fact to handle. ``since`` is its place in this process's order of work, which its cursor counts."""

    since: int
    seq: int
    fact: Fact


class Part(Protocol):
    """Whole or share."""

    def owns(self, seq: int, fact: Fact) -> bool:
        """Whether the fact at `seq`, the newest of those read, is this process's."""

    async def turned(self, seq: int, fact: Fact, handled: Collection[type[Fact]]) -> list[Work]:
        """Takes a fact of the roster. What this process comes to by it of the facts of the `handled` types, in log order."""


class Whole:
    """All of it."""

    def owns(self, seq: int, fact: Fact) -> bool:
        """Always."""
        return True

    async def turned(self, seq: int, fact: Fact, handled: Collection[type[Fact]]) -> list[Work]:
        """Nothing: it was this process's before."""
        return []


class Share:
    """What belongs to a replica, as far as the log has been read."""

    def __init__(self, bus: Bus, role: Role, post: Post) -> None:
        self._bus = bus
        self._roster = Roster(role)
        self._post = post

    def owns(self, seq: int, fact: Fact) -> bool:
        """Whether the roster gives it to this process, and it has not been through the hands of others since."""
        return seq > self._post.joined and self._roster.owner(seq, fact.lineage).replica == self._post.replica

    async def turned(self, seq: int, fact: Fact, handled: Collection[type[Fact]]) -> list[Work]:
        """Reads again what may have changed its owner. Raises `Replaced` when it is this process that was declared gone."""
        lowest = turn_of(self._roster, seq, fact)
        if seq < self._post.joined:
            return []
        if isinstance(fact, ReplicaLeft) and fact.replica == self._post.replica:
            raise Replaced(f"{fact.replica} was declared gone by the bus: {fact.reason}")
        works: list[Work] = []
        while lowest < seq and self._post.replica in self._roster.members:
            page = await self._bus.read(lowest, handled)
            for at, found in page.facts:
                if at < seq and self._roster.owner(at, found.lineage) == (self._post.replica, seq):
                    works.append(Work(seq, at, found))
            if page.upto <= lowest:
                break
            lowest = page.upto
        return works
