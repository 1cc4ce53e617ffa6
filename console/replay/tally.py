"""What services say during a replay, held against what the recording has. Nothing of it is kept."""

from __future__ import annotations

from collections.abc import Callable

from console.replay.tape import Tape
from shared.codec import decode
from shared.eventlog.entry import Entry, Row
from shared.eventlog.reader import LogDamaged
from shared.flow import UPKEEP, author
from shared.messages import Fact

_REMEMBERED = 65_536
"""Facts without a place in the recording that are remembered, so that one that is said twice counts once."""
_UPKEEP = {fact_type.__name__ for fact_type in UPKEEP}


class Tally:
    """Counts each fact once, however often it is said. Facts about processes (`shared.flow.UPKEEP`) are not counted."""

    def __init__(self, tape: Tape, say: Callable[[str], None]) -> None:
        """`say` gets a line for the first, second, fourth, ... fact that departs from the recording."""
        self.same = 0
        self.changed = 0
        self.unknown = 0
        self.unreadable = 0
        """Facts whose recorded form is damaged, so that there is nothing to compare with."""
        self._tape = tape
        self._say = say
        self._seen = bytearray(tape.last + 1)
        self._others: set[str] = set()

    def take(self, entry: Entry) -> None:
        """A service gave this fact."""
        if entry.type in _UPKEEP:
            return
        try:
            row = self._tape.with_id(entry.id)
        except LogDamaged:
            self.unreadable += self._is_new(entry.id)
            return
        if row is None:
            self._take_unknown(entry)
        elif not self._seen[row.seq]:
            self._seen[row.seq] = 1
            self._compare(entry, row)

    def summary(self) -> str:
        """The counts in words; empty when nothing was given."""
        counts = {
            "the same": self.same,
            "changed": self.changed,
            "not in the recording": self.unknown,
            "damaged in the recording": self.unreadable,
        }
        given = sum(counts.values())
        return f"given again {given}: " + ", ".join(f"{n} {what}" for what, n in counts.items() if n) if given else ""

    def _compare(self, entry: Entry, row: Row) -> None:
        if entry.payload == row.payload:
            self.same += 1
            return
        self.changed += 1
        given, recorded = decode(entry.payload), decode(row.payload)
        self._depart(self.changed, f"{_named(given)} (fact {row.seq}) other than recorded: {_difference(given, recorded)}")

    def _take_unknown(self, entry: Entry) -> None:
        if self._is_new(entry.id):
            self.unknown += 1
            self._depart(self.unknown, f"{_named(decode(entry.payload))}, which the recording does not have")

    def _is_new(self, fact_id: str) -> bool:
        known = fact_id in self._others
        if len(self._others) < _REMEMBERED:
            self._others.add(fact_id)
        return not known

    def _depart(self, count: int, what: str) -> None:
        if count & (count - 1) == 0:
            self._say(f"{what} ({count} so far)" if count > 1 else what)


def _named(fact: Fact) -> str:
    return f"{author(fact)} gave {type(fact).__name__} {fact.lineage or fact.id}"


def _difference(given: Fact, recorded: Fact) -> str:
    """The first field that differs, with both values."""
    for name in given.__struct_fields__:
        new, old = getattr(given, name), getattr(recorded, name, None)
        if new != old:
            return f"{name} {_short(new)}, recorded {_short(old)}"
    return f"{type(given).__name__}, recorded {type(recorded).__name__}, or in other bytes"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
