"""Who reads a replay, and how far everybody is.

A connection becomes a consumer by its first `Read`. A read above number N says that all up to N has arrived, and so does an
answer that held nothing. A consumer that is not heard of for a while is dropped: it is gone, or its process stands still. A
service that hangs in a debugger still beats from its own thread (`Beat`), and is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

PATIENCE_S = 5.0
"""A consumer that is not heard of for so long is dropped."""


class Standing(NamedTuple):
    """How far a consumer is: the last fact that it has read."""

    name: str
    read: int


class _Consumer:
    def __init__(self, number: int, heard_at: float) -> None:
        self.name = f"consumer {number}"
        self.read = 0
        self.handled = 0
        self.heard_at = heard_at


class Consumers:
    """All consumers, by their connection."""

    def __init__(self, say: Callable[[str], None], *, patience_s: float = PATIENCE_S) -> None:
        self._say = say
        self._patience_s = patience_s
        self._all: dict[bytes, _Consumer] = {}
        self._met = 0

    def heard(self, peer: bytes, now: float) -> None:
        """A request came over this connection, whatever it was."""
        if peer in self._all:
            self._all[peer].heard_at = now

    def reads(self, peer: bytes, upto: int, now: float) -> None:
        """Everything up to `upto` has arrived there."""
        if peer not in self._all:
            self._met += 1
            self._all[peer] = _Consumer(self._met, now)
            self._say(f"{self._all[peer].name} reads")
        consumer = self._all[peer]
        consumer.read = max(consumer.read, upto)

    def is_called(self, peer: bytes, name: str) -> None:
        """The subscriber's name, which it says when it asks for its cursor."""
        consumer = self._all.get(peer)
        if consumer is not None and consumer.name != name:
            self._say(f"{consumer.name} is the {name}")
            consumer.name = name

    def beats(self, name: str, role: str, now: float) -> None:
        """A process of this name or role is alive."""
        for consumer in self._all.values():
            if consumer.name in {name, role}:
                consumer.heard_at = now

    def handled(self, peer: bytes, seq: int) -> None:
        """The consumer has handled everything up to `seq`."""
        if peer in self._all:
            self._all[peer].handled = max(seq, self._all[peer].handled)

    def cursor(self, peer: bytes) -> int:
        """What the consumer said that it has handled, over this very connection; 0 for one that is new."""
        return self._all[peer].handled if peer in self._all else 0

    def drop_silent(self, now: float) -> None:
        """Whoever was not heard of for too long no longer counts, until it reads again."""
        for peer, consumer in list(self._all.items()):
            if now - consumer.heard_at > self._patience_s:
                del self._all[peer]
                self._say(f"{consumer.name} was not heard of for {self._patience_s:g} s: it is not waited for any more")

    def forget(self) -> None:
        """The replay was moved back: nobody has read the past that begins now."""
        self._all.clear()

    def all_read(self, head: int) -> bool:
        """There are consumers, and all of them have read up to `head`."""
        return bool(self._all) and all(consumer.read >= head for consumer in self._all.values())

    def standings(self) -> list[Standing]:
        """All consumers, the one that is furthest behind first."""
        return sorted((Standing(consumer.name, consumer.read) for consumer in self._all.values()), key=lambda one: one.read)
