"""An event loop whose clock stands still and which knows when nothing more can happen.

Nothing in a re-run may depend on how long something takes. So no timer fires here: neither deadlines nor polls; facts that a
clock gave rise to come from the recording. What a loop without timers waits for can only come from outside it, from a thread;
with no thread at work and no callback ready the role is at rest, for good, until it is handed the next fact.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Outside:
    """How much work is under way in threads. Counted in the loop's own thread."""

    def __init__(self) -> None:
        self.count = 0

    def track(self, future: asyncio.Future[Any]) -> None:
        """Counts the future as work under way until it is done."""
        self.count += 1
        future.add_done_callback(self._done)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Counts one more while this is open."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1

    def _done(self, _: asyncio.Future[Any]) -> None:
        self.count -= 1


class _Selector(selectors.DefaultSelector):
    """Asks `at_rest` instead of waiting, whenever the loop would wait and no thread is at work."""

    def __init__(self, outside: Outside, at_rest: Callable[[], bool]) -> None:
        super().__init__()
        self._outside = outside
        self._at_rest = at_rest

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """A timeout of 0 means that callbacks are ready; any other, also that of a timer, that the loop has nothing to do."""
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if not self._outside.count and self._at_rest():
            return super().select(0)
        return super().select(None)


class StillLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self, outside: Outside, at_rest: Callable[[], bool]) -> None:
        """`at_rest` is called whenever nothing more can happen. It returns whether it has made something happen."""
        super().__init__(_Selector(outside, at_rest))
        self._outside = outside

    def time(self) -> float:
        """Always the same moment."""
        return 0.0

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """As always, and counted as work under way."""
        future = super().run_in_executor(executor, func, *args)
        self._outside.track(future)
        return future
