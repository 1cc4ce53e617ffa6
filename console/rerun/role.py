"""The role under re-run: its own `build`, its own runtime, and a watch on what it is working on."""

from __future__ import annotations

import asyncio
import errno
import importlib
from collections.abc import AsyncIterator
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, cast

from console.rerun.loop import Outside
from shared.handling import Service
from shared.messages import Fact, Role
from shared.runtime import hinted
from shared.serve import Build


class Work(NamedTuple):
    """A fact that the role is working on."""

    seq: int
    fact: Fact
    given: set[str]
    """Ids of what it has given for it so far: a second try says them again."""
    passed_over: bool = False
    """It is not handled here."""


_REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE)

WORK: ContextVar[Work] = ContextVar("work")
"""What the current task works on; tasks that a handler starts inherit it."""


class Watch:
    """What the role was handed to work on, and how far it is with it."""

    def __init__(self) -> None:
        self.works: frozenset[type[Fact]] = frozenset()
        """The types that the role works on."""
        self.open: dict[str, Work] = {}
        """By id, what has been handed out and is not done."""
        self.handled = 0
        """Facts that were worked on to the end."""
        self.passed_over = 0
        self.fault: OSError | None = None
        """What the machine refused the role, such as room on a disk: no difference, and no reason to go on."""

    def hand_out(self, seq: int, fact: Fact, *, passed_over: bool) -> None:
        """The fact is about to be handed to the role, to work on, or to be passed over."""
        self.open[fact.id] = Work(seq, fact, set(), passed_over)

    def follow(self, service: Service, outside: Outside | None, over: asyncio.Event) -> Service:
        """The service, watched: the same handlers with the same hints. Its work counts as done `outside`, if given.

        `over` is set when the machine refuses it something.
        """
        self.works = frozenset(hinted(service.handle))
        return cast(Service, _Watched(service, self, outside, over))


class _Watched:
    def __init__(self, service: Service, watch: Watch, outside: Outside | None, over: asyncio.Event) -> None:
        handle = service.handle
        outside = outside or Outside()
        self.close = getattr(service, "close", lambda: None)

        @wraps(handle)
        async def watched(fact: Fact) -> AsyncIterator[Any]:
            work = watch.open[fact.id]
            WORK.set(work)
            if work.passed_over:
                watch.passed_over += 1
            else:
                with outside.at_work():
                    try:
                        async for given in handle(fact):
                            yield given
                    except OSError as fault:
                        if fault.errno not in _REFUSED:
                            raise
                        watch.fault = fault
                        over.set()
                        await asyncio.Event().wait()  # until the re-run is ended
                watch.handled += 1
            watch.open.pop(fact.id, None)

        self.handle = watched
        for name in ("observe", "given_up"):
            if hasattr(service, name):
                setattr(self, name, getattr(service, name))


def build_of(role: Role) -> Build:
    """How the role's own process builds its service."""
    build: Build = importlib.import_module(f"services.{role}.service").build
    return build
