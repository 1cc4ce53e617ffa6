"""What a unit of work owed and delivered, and what a closed step adds up to. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from shared.messages import ExperienceDropped, ExperienceRecorded, Role


@dataclass
class Unit:
    """One challenge or assignment: experiences owed by role, and those that arrived."""

    owed: Counter[Role]
    recorded: list[ExperienceRecorded] = field(default_factory=list)
    dropped: list[ExperienceDropped] = field(default_factory=list)
    failure: str = ""
    """Why the unit's work failed; empty when it did not."""
    begun: bool = False

    @property
    def arrived(self) -> Counter[Role]:
        """Experiences recorded or dropped, by role."""
        return Counter(fact.role for fact in self.recorded) + Counter(fact.role for fact in self.dropped)

    @property
    def missing(self) -> Counter[Role]:
        """Experiences still waited for, by role; none once the unit has failed."""
        return Counter() if self.failure else self.owed - self.arrived

    @property
    def kept(self) -> list[ExperienceRecorded]:
        """The experiences to train on: none of a failed unit, none of a Solver group that a fault or silence has broken."""
        if self.failure:
            return []
        broken = self.missing[Role.SOLVER] or any(fact.fault and fact.role is Role.SOLVER for fact in self.dropped)
        return [fact for fact in self.recorded if not (broken and fact.role is Role.SOLVER)]


class StepOutcome(NamedTuple):
    """A closed step. Whatever was owed or arrived is either kept, unreadable (the model's doing) or lost (ours)."""

    batch: list[ExperienceRecorded]
    """Sorted by lineage, role and sample."""
    unreadable: Counter[Role]
    lost: Counter[Role]
    """Experiences that left through a fault of ours or never came."""
    complete: bool
    failures: tuple[str, ...]
    """The different reasons for lost experiences, for people."""

    @classmethod
    def of(cls, units: Iterable[Unit]) -> StepOutcome:
        """Adds up the units."""
        batch: list[ExperienceRecorded] = []
        unreadable: Counter[Role] = Counter()
        lost: Counter[Role] = Counter()
        reasons: set[str] = set()
        complete = True
        for unit in units:
            without_fault = Counter(fact.role for fact in unit.dropped if not fact.fault and not unit.failure)
            batch += unit.kept
            unreadable += without_fault
            lost += (unit.owed | unit.arrived) - without_fault - Counter(fact.role for fact in unit.kept)
            complete = complete and not unit.missing
            reasons |= {unit.failure} | {f"{fact.role}: {fact.reason}" for fact in unit.dropped if fact.fault}
            reasons |= {f"{role}: its experience never came" for role in unit.missing}
        batch.sort(key=lambda fact: (fact.lineage, fact.role, fact.sample))
        return cls(batch, unreadable, lost, complete, tuple(sorted(reasons - {""})))

    @property
    def recorded(self) -> dict[str, int]:
        """Experiences in the batch, by role."""
        return dict(sorted(Counter(str(fact.role) for fact in self.batch).items()))

    @property
    def dropped(self) -> dict[str, int]:
        """Experiences that left the batch for whatever reason, by role."""
        return {str(role): count for role, count in sorted((self.unreadable + self.lost).items())}

    @property
    def rewards(self) -> dict[str, float]:
        """Mean reward in the batch, by role."""
        sums: defaultdict[str, float] = defaultdict(float)
        for fact in self.batch:
            sums[fact.role] += fact.reward
        return {role: sums[role] / count for role, count in self.recorded.items()}

    @property
    def fault_share(self) -> float:
        """Share of the step's experiences that was lost to faults, in [0, 1]."""
        lost = self.lost.total()
        total = len(self.batch) + self.unreadable.total() + lost
        return lost / total if total else 0.0
