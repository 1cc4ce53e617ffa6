"""How a process takes its place among the replicas of its role: it reads the roster, and joins it unless it is in it.

A process that was restarted before anybody missed it is still in the roster and goes on from its cursor. One that was declared
gone finds its own `ReplicaLeft`: while it works, that ends it (`Replaced`), since others have taken over what it had begun.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from shared.bus.port import Bus
from shared.flow import UPKEEP
from shared.messages import Fact, ReplicaJoined, ReplicaLeft, Role, RunStarted, digest
from shared.roster import Roster

_NEWS_S = 1.0
_NEAR_END = 256
"""A page that went on by fewer facts than this has come to the end of the log, as far as one can in a log that grows."""


class Replaced(Exception):
    """This process was declared gone, and others do its work: it has to begin anew."""


class Post(NamedTuple):
    """A process's place in the roster."""

    replica: str
    joined: int
    """The place in the log of its last join."""
    head: int
    """How long the log was when the process took its place, at least."""


async def take_post(bus: Bus, run: RunStarted, role: Role, replica: str) -> Post:
    """Joins the role's roster as `replica`, unless it is a member already."""
    roster, seen = Roster(role), 0
    asked = False
    while True:
        page = await bus.read(seen, UPKEEP)
        for seq, fact in page.facts:
            turn_of(roster, seq, fact)
        at_the_end, seen = page.upto - seen < _NEAR_END, page.upto
        if not at_the_end:
            continue
        if replica in roster.members:
            return Post(replica, roster.joined(replica)[-1], seen)
        if not asked:
            await bus.publish([_joining(run, role, replica, len(roster.joined(replica)))])
            asked = True
        await bus.news(seen, _NEWS_S)


def turn_of(roster: Roster, seq: int, fact: Fact) -> int:
    """Folds a fact of the roster; the place above which facts may have another owner by it."""
    assert isinstance(fact, ReplicaJoined | ReplicaLeft)
    return roster.fold(seq, fact)


def _joining(run: RunStarted, role: Role, replica: str, times: int) -> ReplicaJoined:
    """The fact by which a process joins that joined so many times before."""
    joined = ReplicaJoined(role=role, replica=replica, cause=run.id)
    return msgspec.structs.replace(joined, id=digest(run.id, "ReplicaJoined", replica, times))
