"""What a role gave again, held against the recording: counted by type, and the differences kept."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from console.rerun.excerpt import decoded
from console.rerun.fields import FieldDifference, field_differences
from shared.codec import encode
from shared.eventlog.entry import Row
from shared.messages import Fact

KEPT = 1000
"""So many differences are kept whole; further ones are only counted."""


class Kind(StrEnum):
    """How a fact given now and the recording may part."""

    CHANGED = "changed"
    """Both have it, and it says something else."""
    LATE = "late"
    """The same, but given only after the role had seen more than what stood before it in the recording."""
    ONLY_RECORDED = "only recorded"
    ONLY_NOW = "only now"


class Difference(NamedTuple):
    """One fact that is not as recorded. `at` orders differences: the recorded place, or how far the role had read."""

    kind: Kind
    at: float
    recorded: Fact | None
    now: Fact | None
    work_seq: int
    """The fact that the role was working on; 0 when that is not known."""
    given_before: int = 0
    """How many facts had been given as recorded by then."""

    @property
    def fact(self) -> Fact:
        """The fact, as recorded if it was."""
        fact = self.recorded or self.now
        assert fact is not None
        return fact

    @property
    def fields(self) -> list[FieldDifference]:
        """Where the two versions differ; empty when there are not two."""
        return field_differences(self.recorded, self.now) if self.recorded and self.now else []


@dataclass
class FieldChange:
    """A field that changed in facts of one type: how often, and the first time."""

    first: FieldDifference
    lineage: str
    count: int = 0


class Comparison:
    """Takes facts as the role gives them and recorded ones that it did not give."""

    def __init__(self) -> None:
        self.same: Counter[str] = Counter()
        """Facts given as recorded, by type."""
        self.counts: dict[Kind, Counter[str]] = {kind: Counter() for kind in Kind}
        """Differences by kind and type."""
        self.changes: dict[tuple[str, str], FieldChange] = {}
        """Changed fields by type and path; places in lists are not told apart."""
        self._kept: list[Difference] = []
        self._missing: dict[str, int] = {}

    @property
    def given(self) -> int:
        """How many facts were compared and the same."""
        return self.same.total()

    @property
    def total(self) -> int:
        """How many differences there are."""
        return sum(counts.total() for counts in self.counts.values())

    @property
    def differences(self) -> list[Difference]:
        """Those kept, in the order of the recording."""
        return sorted(self._kept, key=lambda difference: difference.at)

    def given_again(self, row: Row, now: Fact, work_seq: int, *, repeated: bool = False) -> Fact | None:
        """Compares a fact with the recorded one of its id. Gives the recorded fact when it says something else.

        A `repeated` fact was given before, or found missing; it counts only when that was another one, or none.
        A recording may be older than a field; so what counts is what the recorded fact says when this version reads it.
        """
        payload = encode(now)
        if payload == row.payload or payload == encode(decoded(row)):
            if row.id in self._missing:
                self._given_late(row, now)
            elif not repeated:
                self.same[row.type] += 1
            return None
        recorded = decoded(row)
        self._forget_missing(row)
        self._add(Difference(Kind.CHANGED, row.seq, recorded, now, work_seq))
        for field in field_differences(recorded, now):
            key = (row.type, re.sub(r"\[\d+\]", "[]", field.path))
            self.changes.setdefault(key, FieldChange(field, now.lineage)).count += 1
        return recorded

    def not_given(self, row: Row) -> None:
        """A recorded fact that the role, at rest, has not given."""
        if len(self._missing) < KEPT:
            self._missing[row.id] = row.seq
        self._add(Difference(Kind.ONLY_RECORDED, row.seq, decoded(row), None, 0))

    def given_only_now(self, now: Fact, at: int, work_seq: int) -> None:
        """A fact that the recording does not have, given when the role had read up to `at`."""
        self._add(Difference(Kind.ONLY_NOW, at + 0.5, None, now, work_seq, self.given))

    def forgive(self, kind: Kind) -> int:
        """Takes all differences of a kind back; how many there were."""
        count = self.counts[kind].total()
        self.counts[kind].clear()
        self._kept = [difference for difference in self._kept if difference.kind is not kind]
        return count

    def _add(self, difference: Difference) -> None:
        self.counts[difference.kind][type(difference.fact).__name__] += 1
        if len(self._kept) < KEPT:
            self._kept.append(difference)

    def _given_late(self, row: Row, now: Fact) -> None:
        self._forget_missing(row)
        self._add(Difference(Kind.LATE, row.seq, decoded(row), now, 0))

    def _forget_missing(self, row: Row) -> None:
        if self._missing.pop(row.id, None) is not None:
            self.counts[Kind.ONLY_RECORDED][row.type] -= 1
            self._kept = [d for d in self._kept if not (d.kind is Kind.ONLY_RECORDED and d.at == row.seq)]
