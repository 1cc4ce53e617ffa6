"""What came of a run: base against committed policy on held-out tasks, with intervals, and the gate's decisions.

Pure: a function of the log's facts. `console.outcome_report` draws it for people and writes it for programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from console.intervals import paired_difference
from shared.domains import ORACLES
from shared.messages import (
    CandidateJudged,
    EvaluationCompleted,
    Fact,
    KindCount,
    PolicyCommitted,
    PolicyTrained,
    RunEnded,
    RunStarted,
    TaskAccepted,
    TaskProposed,
)

OUTCOME_TYPES: tuple[type[Fact], ...] = (
    RunStarted, TaskProposed, TaskAccepted, PolicyTrained, CandidateJudged, PolicyCommitted, EvaluationCompleted, RunEnded,
)  # fmt: skip
"""The facts that an outcome is made of."""


class Comparison(msgspec.Struct, frozen=True):
    """Base and committed policy on the same tasks: shares in [0, 1], and the 95 % interval of their `paired_difference`."""

    temperature: float
    kind: str
    """A kind of task, or ``all``."""
    level: int | None
    """A level of difficulty, or None for all levels together."""
    total: int
    base: float
    final: float
    low: float
    high: float
    no_verdict: int
    """Tasks that a fault of ours left without a verdict; they are not in `total`."""

    @property
    def difference(self) -> float:
        """Committed minus base."""
        return self.final - self.base


class KeyAudit(msgspec.Struct, frozen=True):
    """What an independent reading of the invented tasks says of their keys. It measures; nothing trains on it."""

    right: int = 0
    wrong: int = 0
    ill_posed: int = 0
    """Questions without an answer: any key is wrong there."""

    @property
    def wrong_share(self) -> float:
        """Share of tasks in the pool whose key is no right answer."""
        return (self.wrong + self.ill_posed) / max(1, self.right + self.wrong + self.ill_posed)


class Outcome(msgspec.Struct, frozen=True):
    """The whole result of a run."""

    name: str
    seed: int
    base: str
    committed: str
    steps: int
    accepted_tasks: int
    keys: KeyAudit | None
    """None where the domain has no oracle."""
    comparisons: tuple[Comparison, ...]
    decisions: tuple[CandidateJudged, ...]
    ok: bool | None
    """What the last fact says; None when the run has not ended."""
    reason: str
    log: str
    policies: str


def outcome_of(facts: Iterable[Fact], log: str) -> Outcome:
    """Folds a run's facts (at least `OUTCOME_TYPES`, in order) into its outcome. `log` says where the log lies."""
    started, ended = None, None
    steps = 0
    proposed: dict[str, TaskProposed] = {}
    accepted: list[TaskProposed] = []
    committed = ""
    evaluations: dict[float, EvaluationCompleted] = {}
    decisions = []
    for fact in facts:
        match fact:
            case RunStarted():
                started = fact
            case TaskProposed():
                proposed[fact.task.id] = fact
            case TaskAccepted():
                accepted.append(proposed[fact.task.id])
            case PolicyTrained():
                steps = max(steps, fact.step)
            case CandidateJudged():
                decisions.append(fact)
            case PolicyCommitted():
                committed = fact.policy
            case EvaluationCompleted():
                evaluations[fact.temperature] = fact
            case RunEnded():
                ended = fact
    base = started.base_policy if started else ""
    run = started.config.get("run", {}) if started else {}
    return Outcome(
        name=str(run.get("name", "")),
        seed=started.seed if started else 0,
        base=base,
        committed=committed or base,
        steps=steps,
        accepted_tasks=len(accepted),
        keys=audit(accepted, started),
        comparisons=tuple(row for _, done in sorted(evaluations.items()) for row in compare(done)),
        decisions=tuple(decisions),
        ok=ended.ok if ended else None,
        reason=ended.reason if ended else "not ended",
        log=log,
        policies=started.store if started else "",
    )


def audit(accepted: Sequence[TaskProposed], started: RunStarted | None) -> KeyAudit | None:
    """Reads every accepted task with the domain's oracle, if it has one."""
    oracle = ORACLES.get(str(started.config.get("domain", {}).get("name", ""))) if started else None
    if oracle is None:
        return None
    found = [oracle(each.task.question, each.task.kind, each.key.check) for each in accepted]
    return KeyAudit(found.count(True), found.count(False), found.count(None))


def compare(done: EvaluationCompleted) -> list[Comparison]:
    """The rows of one evaluation: all together, each kind, and each level of each kind. Cells without a task are left out."""
    counts = [count for count in done.counts if count.total]
    if not counts:
        return []
    rows = [_comparison(done, "all", None, done.counts)]
    for kind in sorted({count.kind for count in counts}):
        of_kind = [count for count in counts if count.kind == kind]
        rows.append(_comparison(done, kind, None, of_kind))
        levels = sorted({count.level for count in of_kind})
        if len(levels) > 1:
            rows += [_comparison(done, kind, level, [c for c in of_kind if c.level == level]) for level in levels]
    return rows


def _comparison(done: EvaluationCompleted, kind: str, level: int | None, counts: Sequence[KindCount]) -> Comparison:
    total = sum(count.total for count in counts)
    base = sum(count.base_correct for count in counts)
    final = sum(count.final_correct for count in counts)
    both = sum(count.both_correct for count in counts)
    low, high = paired_difference(both, final - both, base - both, total - base - final + both)
    if done.base == done.final:
        low = high = 0.0  # nothing was committed: one policy, and no difference to be uncertain about
    return Comparison(
        temperature=done.temperature,
        kind=kind,
        level=level,
        total=total,
        base=base / total,
        final=final / total,
        low=low,
        high=high,
        no_verdict=sum(count.no_verdict for count in counts),
    )
