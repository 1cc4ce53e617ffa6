"""Who shares a role's work, and which process owns which piece of it. Pure: a fold over `ReplicaJoined` and `ReplicaLeft`.

A fact belongs, as of its place in the log, to one of the role's members there: the one whose name goes best with its lineage
(rendezvous hashing), so that the parting of one member moves nobody else's work. What nobody was there for waits for the next
who joins. When a member leaves with the cursor *c*, whatever it owned *since* a place above *c* goes to the members that are
left, as of the place where it left. So every fact has one owner, and everybody who reads the log knows which.

*Since* is the owner's place in its own order of work: the fact's own place for what was its from the start, and the place of
the join or parting by which it came to it later. A cursor counts these places, and not the facts' own, which may lie far below.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from shared.messages import ReplicaJoined, ReplicaLeft, Role, digest

UNDIVIDED = frozenset({Role.LEARNER, Role.GATE})
"""Roles whose work is one long thread: the member that joined first owns all of it, the others stand by."""


class Owner(NamedTuple):
    """Whose a fact is; ``replica`` is empty while nobody is there."""

    replica: str
    since: int


class _Turn(NamedTuple):
    """A join or a parting, and who was there after it, the eldest first."""

    seq: int
    joined: bool
    replica: str
    handled: int
    members: tuple[str, ...]
    lowest: int
    """Facts up to here did not change their owner at this turn."""


def replica_name(role: Role, given: str | None) -> str:
    """A process's name: the role's by default, else one that begins with it, so that no two roles share one."""
    if not given or given == role:
        return str(role)
    return given if given.startswith(f"{role}-") else f"{role}-{given}"


def role_of(replica: str) -> Role | None:
    """The role that a process of this name has; None when it is no such name."""
    return next((role for role in Role if replica == role or replica.startswith(f"{role}-")), None)


class Roster:
    """The members of one role over the whole log."""

    def __init__(self, role: Role) -> None:
        self._role = role
        self._turns: list[_Turn] = []

    @property
    def members(self) -> tuple[str, ...]:
        """Who is there now, the eldest first."""
        return self._turns[-1].members if self._turns else ()

    def joined(self, replica: str) -> list[int]:
        """The places at which a process of this name joined."""
        return [turn.seq for turn in self._turns if turn.joined and turn.replica == replica]

    def fold(self, seq: int, fact: ReplicaJoined | ReplicaLeft) -> int:
        """Takes the fact at `seq`, in log order; gives the place above which facts may have another owner by it.

        That place is `seq` itself when no work changed hands.
        """
        name, before = fact.replica, self.members
        if fact.role is not self._role or isinstance(fact, ReplicaJoined) == (name in before):
            return seq
        if isinstance(fact, ReplicaJoined):
            lowest = seq if before else self._lowest_since(self._turns[-1].seq - 1 if self._turns else 0, seq)
            turn = _Turn(seq, True, name, seq, (*before, name), lowest)
        else:
            left = tuple(member for member in before if member != name)
            turn = _Turn(seq, False, name, fact.handled, left, self._lowest_since(fact.handled, seq))
        self._turns.append(turn)
        return turn.lowest

    def owner(self, seq: int, lineage: str) -> Owner:
        """Whose the fact at `seq` is, after everything that was folded."""
        first = bisect_left(self._turns, seq, key=lambda turn: turn.seq)
        members = self._turns[first - 1].members if first else ()
        owner = Owner(self._chosen(members, lineage), seq)
        for turn in self._turns[first:]:
            waited = not owner.replica
            lost = not turn.joined and turn.replica == owner.replica and turn.handled < owner.since
            if waited or lost:
                owner = Owner(self._chosen(turn.members, lineage), turn.seq)
        return owner

    def _chosen(self, members: tuple[str, ...], lineage: str) -> str:
        if not members:
            return ""
        return members[0] if self._role in UNDIVIDED else max(members, key=lambda member: digest(member, lineage))

    def _lowest_since(self, handled: int, seq: int) -> int:
        """Where the facts begin that somebody may own since a place above `handled` and below `seq`."""
        return min([handled, *(turn.lowest for turn in self._turns if handled < turn.seq < seq)])
