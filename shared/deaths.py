"""Which fact does a process die over? Notes in the bus's table of cursors, which a death does not wipe out.

1. Each start is noted under the cursor at which the work began; so is a stop in order. Starts without a stop are deaths.
2. After `BEFORE_CARE` deaths at one cursor the process works *carefully*: what may have been under way is handled one fact at a
   time, each try noted before it begins and each success after it, so that the next death has a name.
3. A fact that was tried so many times without an end is given up (`Try.GIVE_UP`).

A death after something new was said for the same fact is not the same death: tries are counted by how far the log had come with
it. So roles that hold one fact for long, such as the Learner, may be killed often while they get on.
"""

from __future__ import annotations

from enum import Enum

from shared.bus.port import Bus

BEFORE_CARE = 2


class Try(Enum):
    """What to do with a fact in careful work."""

    HANDLE = "handle"
    PASS_OVER = "pass over"
    """It was handled before the last death."""
    GIVE_UP = "give up"


class DeathNotes:
    """The notes of one process, which keeps them under its name."""

    def __init__(self, bus: Bus, name: str, limit: int) -> None:
        """After `limit` deaths in careful work over one fact it is given up."""
        self._bus = bus
        self._name = name
        self.limit = limit
        self._cursor = 0
        self._stops = 0

    async def started(self, cursor: int) -> bool:
        """Notes a start with the work above `cursor`; whether to work carefully."""
        self._cursor = cursor
        starts = await self._bus.cursor(self._under("starts", cursor))
        self._stops = await self._bus.cursor(self._under("stops", cursor))
        await self._bus.move_cursor(self._under("starts", cursor), starts + 1)
        return starts - self._stops >= BEFORE_CARE

    async def stopped(self) -> None:
        """Notes that the process ends in order, so that this start was no death."""
        await self._bus.move_cursor(self._under("stops", self._cursor), self._stops + 1)

    async def before(self, seq: int, progress: int) -> Try:
        """Notes that the fact at `seq` is about to be tried; `progress` is how far the log has come with it."""
        if await self._bus.cursor(self._under("done", seq)):
            return Try.PASS_OVER
        tries = await self._bus.cursor(self._under("tries", seq, progress))
        if tries >= self.limit:
            return Try.GIVE_UP
        await self._bus.move_cursor(self._under("tries", seq, progress), tries + 1)
        return Try.HANDLE

    async def after(self, seq: int) -> None:
        """Notes that the fact at `seq` was handled, or given up."""
        await self._bus.move_cursor(self._under("done", seq), 1)

    def _under(self, *parts: object) -> str:
        return "/".join(map(str, (self._name, *parts)))
