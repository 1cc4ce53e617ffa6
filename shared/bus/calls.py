"""What a server and its desk hand to each other: requests, answers that come later, and the count of what was refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from shared.bus.wire import Refusal, Reply, Request


class Call(NamedTuple):
    """One request: who wants to know (an id of the connection), under which number, and what."""

    peer: bytes
    number: bytes
    request: Request


class Refusals:
    """Counts what was refused, and complains about the first, second, fourth, ... time."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.count = 0
        self._complain = complain

    def refuse(self, reason: str) -> Refusal:
        """The reply to what is refused for `reason`; it is counted."""
        self.note(reason)
        return Refusal(reason[:1000])

    def note(self, reason: str) -> None:
        """Counts something that nobody waits for an answer to."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._complain(f"refused ({self.count} so far): {reason[:500]}")


class Later:
    """Answers that a desk owes after `Desk.answers`, such as those of requests that are being written."""

    def __init__(self) -> None:
        self.owed = 0
        self.full = False
        """The desk takes no further request just now; they wait in the sockets, and then at the clients."""
        self._given: list[tuple[Call, Reply]] = []
        self.woken, self._waker = os.pipe()
        """Readable when the desk wants its turn."""
        for end in (self.woken, self._waker):
            os.set_blocking(end, False)

    def owe(self) -> None:
        """One more answer will be given later."""
        self.owed += 1

    def give(self, call: Call, reply: Reply) -> None:
        """An answer that was owed."""
        self._given.append((call, reply))

    def wake(self) -> None:
        """The desk wants its turn; may be called from any thread."""
        with suppress(BlockingIOError):
            os.write(self._waker, b"!")

    def taken(self) -> list[tuple[Call, Reply]]:
        """What was given since the last time this was asked."""
        given, self._given = self._given, []
        self.owed -= len(given)
        return given

    def calm(self) -> None:
        """The desk is about to have its turn."""
        with suppress(BlockingIOError):
            os.read(self.woken, 4096)

    def close(self) -> None:
        """Nothing wakes any more."""
        os.close(self.woken)
        os.close(self._waker)
