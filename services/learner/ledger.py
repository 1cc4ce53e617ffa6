"""Which experiences a step waits for, which have come, and what is left of them when the step closes. Pure.

A step is made of *units*, named by their lineage: challenge ``s3.c7`` or assignment ``s3.a2``. What a unit owes grows as its
story unfolds:

* a challenge owes one Challenger experience; once its task is proposed, one of the Critic; once the task is judged worth
  attempting (and attempts are trained on), one of the Solver for each attempt;
* an assignment owes one Planner experience and one of the Solver for each attempt; once its plan is proposed, one of the
  Critic.

An experience that was recorded or dropped has arrived. A unit whose work failed is over: all of it leaves the batch. A Solver
group that lacks a member through a fault of ours leaves the batch as a whole, because what is left of it would be a biased
sample of how well the task goes. A step freezes at the fact that completes it, or at its `StepExpired`, so that its batch
depends on the log alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from services.learner.outcome import StepOutcome, Unit
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    PlanProposed,
    Role,
    StepExpired,
    StepOpened,
    TaskJudged,
    TaskProposed,
    WorkFailed,
)
from shared.rewards.rules import SageRules, attemptable

_LINEAGE = re.compile(r"s(?P<step>\d+)(?:\.(?P<unit>[ca]\d+))?(?:\.|$)")
_ELSEWHERE = (Role.LEARNER, Role.GATE, Role.CONSOLE)
"""Roles whose failed work is none of a unit's."""

Arrival = ExperienceRecorded | ExperienceDropped
LedgerFact = (
    StepOpened | TaskProposed | TaskJudged | PlanProposed | ExperienceRecorded | ExperienceDropped | StepExpired | WorkFailed
)


class Expectations(NamedTuple):
    """The run's settings that decide how many experiences a unit owes."""

    rules: SageRules
    train_on_difficulty: bool
    """Whether the Solver's attempts at new tasks are experiences too."""


class _Step:
    """One step's units by name, such as ``c7``."""

    def __init__(self, opened: StepOpened, solve_attempts: int) -> None:
        challenges = {f"c{slot}": Unit(Counter({Role.CHALLENGER: 1})) for slot in range(opened.num_challenges)}
        owed = {Role.PLANNER: 1, Role.SOLVER: solve_attempts}
        self.units = challenges | {f"a{slot}": Unit(Counter(owed)) for slot in range(opened.num_assignments)}
        self.frozen = not self.units


class Ledger:
    """Folds facts in log order; answers for each step whether it is complete and what its batch is."""

    def __init__(self, expectations: Expectations) -> None:
        self._expectations = expectations
        self._steps: dict[int, _Step] = {}

    def fold(self, fact: LedgerFact) -> None:
        """Takes one fact. Facts of unknown, earlier or frozen steps change nothing."""
        if isinstance(fact, StepOpened):
            self._steps = {fact.step: _Step(fact, self._expectations.rules.solve_attempts)}
            return
        if isinstance(fact, StepExpired):
            if fact.step in self._steps:
                self._steps[fact.step].frozen = True
            return
        match = _LINEAGE.match(fact.lineage)
        step = self._steps.get(int(match["step"])) if match else None
        if not match or step is None or step.frozen:
            return
        if isinstance(fact, WorkFailed):
            for struck in self._struck(step, match["unit"], fact):
                struck.failure = f"{fact.role}: {fact.reason}"
        elif unit := step.units.get(match["unit"] or ""):
            self._grow(unit, fact)
        step.frozen = not any(unit.missing for unit in step.units.values())

    def _grow(self, unit: Unit, fact: TaskProposed | TaskJudged | PlanProposed | Arrival) -> None:
        unit.begun = True
        if isinstance(fact, ExperienceRecorded):
            unit.recorded.append(fact)
        elif isinstance(fact, ExperienceDropped):
            unit.dropped.append(fact)
        elif isinstance(fact, TaskJudged):
            unit.owed[Role.SOLVER] += self._attempts(fact)
        else:
            unit.owed[Role.CRITIC] += 1

    def _attempts(self, fact: TaskJudged) -> int:
        rules = self._expectations.rules
        tried = attemptable(usable=fact.usable, duplicate=fact.duplicate, quality=fact.quality, rules=rules)
        return rules.difficulty_attempts if tried and self._expectations.train_on_difficulty else 0

    @staticmethod
    def _struck(step: _Step, name: str | None, fact: WorkFailed) -> Iterator[Unit]:
        """The units that a failed work ends: its own, or, when it was the step's, all that had not begun."""
        if fact.role in _ELSEWHERE:
            return
        for unit_name, unit in step.units.items():
            if unit_name == name or (name is None and not unit.begun):
                yield unit

    def complete(self, step: int) -> bool:
        """Whether nothing more is waited for: all came, or the step expired."""
        return step in self._steps and self._steps[step].frozen

    def missing(self, step: int) -> str:
        """What is still waited for, in words: ``c7 lacks 1 critic; a2 lacks 4 solver``; empty when nothing is."""
        lacking = ((name, unit.missing) for name, unit in self._steps[step].units.items())
        return "; ".join(
            f"{name} lacks {', '.join(f'{count} {role}' for role, count in sorted(missing.items()))}"
            for name, missing in lacking
            if missing
        )

    def close(self, step: int) -> StepOutcome:
        """What came of a frozen step. Asking again gives the same."""
        return StepOutcome.of(self._steps[step].units.values())
