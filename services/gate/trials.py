"""Trials: one held-out instance put to the policies under comparison, and what comes back.

Questions go out as `InstanceDrawn` (with the key, for the Verifier) and one `TrialRequested` per policy; answers come back as
`AnswerGraded` with the same lineage, or as a `WorkFailed` of whoever gave up on the way. `Arrivals` pairs the two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.domains.port import Domain, Exhausted, Split
from shared.messages import (
    AnswerGraded,
    Fact,
    InstanceDrawn,
    Key,
    Purpose,
    Role,
    Task,
    TrialRequested,
    Verdict,
    WorkFailed,
    named,
)

INCUMBENT, CANDIDATE = "incumbent", "candidate"
BASE, FINAL = "base", "final"
ARMS = (INCUMBENT, CANDIDATE, BASE, FINAL)


@dataclass(frozen=True)
class Instance:
    """A held-out task, its key, and its place in its stream."""

    index: int
    task: Task
    key: Key


def draw(domain: Domain, split: Split, seed: int, indices: Iterable[int]) -> list[Instance]:
    """The instances at `indices` of the stream that `seed` names; fewer where the domain has no more."""
    instances: list[Instance] = []
    for index in indices:
        try:
            instances.append(Instance(index, *domain.instance(split, seed, index)))
        except Exhausted:
            break
    return instances


def ask(
    cause: Fact, instance: Instance, policies: Mapping[str, str], *, number: int, lineage: str, temperature: float
) -> tuple[InstanceDrawn | TrialRequested, ...]:
    """The facts that put one instance to `policies` (arm to policy); `number` counts the instances asked about for `cause`.

    Each arm's request has its own id and so its own sampling seed: the answers are independent.
    """
    drawn = InstanceDrawn(index=instance.index, task=instance.task, key=instance.key, lineage=lineage)
    requests = (
        TrialRequested(policy=policy, task=instance.task, temperature=temperature, lineage=f"{lineage}.{arm}")
        for arm, policy in policies.items()
    )
    return named(drawn, cause, number), *(named(request, cause, 2 * number + arm) for arm, request in enumerate(requests))


class Arrivals:
    """Verdicts by lineage, and those who wait for them.

    Filled in log order, the first arrival of a lineage stands; so a restarted gate finds the same verdicts. Takes about 150
    bytes per trial of the run.
    """

    def __init__(self) -> None:
        self._arrived: dict[str, Verdict] = {}
        self._awaited: dict[str, asyncio.Future[Verdict]] = {}

    def take(self, fact: AnswerGraded | WorkFailed) -> None:
        """Notes a graded trial, or a fault on the way to one; other facts are none of the gate's business."""
        if isinstance(fact, AnswerGraded):
            if fact.purpose is Purpose.TRIAL:
                self._arrive(fact.lineage, fact.verdict)
        elif fact.work_type == InstanceDrawn.__name__:
            for arm in ARMS:
                self._arrive(f"{fact.lineage}.{arm}", Verdict.NO_VERDICT)
        elif fact.role is not Role.GATE:
            self._arrive(fact.lineage, Verdict.NO_VERDICT)

    async def verdict(self, lineage: str) -> Verdict:
        """The verdict on the trial of this lineage, as soon as it is there."""
        if lineage in self._arrived:
            return self._arrived[lineage]
        future = self._awaited.setdefault(lineage, asyncio.get_running_loop().create_future())
        return await asyncio.shield(future)

    def _arrive(self, lineage: str, verdict: Verdict) -> None:
        if lineage in self._arrived:
            return
        self._arrived[lineage] = verdict
        if lineage in self._awaited:
            self._awaited.pop(lineage).set_result(verdict)
