"""Which policy is what: trained, nominated, committed, rolled back. Folded from the log. Pure."""

from __future__ import annotations

from shared.messages import (
    CandidateJudged,
    Decision,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    Role,
    StepOpened,
    WorkFailed,
)

HistoryFact = StepOpened | PolicyTrained | CandidateJudged | PolicyCommitted | PolicyRolledBack | WorkFailed


class History:
    """Folds facts in log order."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.committed = base
        self.newest_step = 0
        self.trained: dict[int, PolicyTrained] = {}
        self.incumbents: dict[int, str] = {}
        """The committed policy when each step opened, which is the one that the step's candidate is compared with."""
        self._judged: dict[int, CandidateJudged] = {}
        self._obeyed: dict[int, PolicyCommitted | PolicyRolledBack] = {}
        self._failed: dict[str, str] = {}

    def fold(self, fact: HistoryFact) -> None:
        """Takes one fact."""
        if isinstance(fact, StepOpened):
            self.newest_step = max(self.newest_step, fact.step)
            self.incumbents[fact.step] = self.committed
        elif isinstance(fact, PolicyTrained):
            self.trained[fact.step] = fact
        elif isinstance(fact, CandidateJudged):
            self._judged[fact.step] = fact
        elif isinstance(fact, WorkFailed):
            if fact.role is Role.GATE:
                self._failed[fact.work] = fact.reason
        else:
            self._obeyed[fact.step] = fact
            if isinstance(fact, PolicyCommitted):
                self.committed = fact.policy

    @property
    def policies(self) -> set[str]:
        """Every policy that was trained so far."""
        return {fact.policy for fact in self.trained.values()}

    def settled(self, step: int) -> bool:
        """Whether the candidate of that step is judged and what the verdict asks for has happened."""
        judged = self._judged.get(step)
        if judged is None:
            return False
        return judged.decision not in (Decision.COMMIT, Decision.REJECT_HARM) or step in self._obeyed

    def gate_failure(self, nomination: str) -> str | None:
        """Why the gate gave up on a nomination (by its id); None when it did not."""
        return self._failed.get(nomination)

    def rolled_back(self, step: int) -> str | None:
        """The policy to return to when that step's candidate did harm, else None."""
        fact = self._obeyed.get(step)
        return fact.policy if isinstance(fact, PolicyRolledBack) else None

    def worth_keeping(self, newest: int) -> set[str]:
        """Policies that may be asked for again: the base, the committed one and the `newest` trained ones."""
        last = sorted(self.trained)[-newest:]
        return {self.base, self.committed} | {self.trained[step].policy for step in last}
