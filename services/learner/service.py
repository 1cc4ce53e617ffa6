"""The Learner's flow: open a step, gather its experiences, train, ask the gate, open the next. `__init__` has the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import structlog

from services.learner.config import LearnerConfig
from services.learner.history import History
from services.learner.ledger import Expectations, Ledger
from services.learner.outcome import StepOutcome
from services.learner.samples import Samples
from services.learner.workshop import Trainer, Workshop
from shared.config import read_section
from shared.engine.port import Engine
from shared.errors import BadInput
from shared.messages import (
    CandidateJudged,
    CandidateNominated,
    ExperienceDropped,
    ExperienceRecorded,
    PlanProposed,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    RunStarted,
    SampleCompleted,
    StepClosed,
    StepExpired,
    StepOpened,
    TaskJudged,
    TaskProposed,
    TrainingEnded,
    WorkFailed,
    named,
)
from shared.rewards.rules import SageRules
from shared.store import PolicyStore

log = structlog.get_logger()

Observed = (
    StepOpened | SampleCompleted | TaskProposed | TaskJudged | PlanProposed | ExperienceRecorded | ExperienceDropped
    | StepExpired | PolicyTrained | CandidateJudged | PolicyCommitted | PolicyRolledBack | WorkFailed
)  # fmt: skip
FAULT = "stopped on a fault: "
"""How the reason of a `TrainingEnded` begins that is not the planned end."""

Given = StepOpened | StepExpired | StepClosed | PolicyTrained | CandidateNominated | TrainingEnded


class LearnerService:
    """Folds the log into ledger, samples and history; `handle` only reads them."""

    def __init__(self, run: RunStarted, steps: int, config: LearnerConfig, expected: Expectations, workshop: Workshop) -> None:
        """`steps` is how many the run has."""
        self._steps = steps
        self._config = config
        self._workshop = workshop
        self._ledger = Ledger(expected)
        self._samples = Samples()
        self._history = History(run.base_policy)
        self._news = asyncio.Event()

    def observe(self, fact: Observed) -> None:
        """Folds one fact, in log order."""
        if isinstance(fact, StepOpened):
            self._samples.clear()
        if isinstance(fact, SampleCompleted):
            self._samples.keep(fact)
            return
        if isinstance(fact, (StepOpened, PolicyTrained, CandidateJudged, PolicyCommitted, PolicyRolledBack, WorkFailed)):
            self._history.fold(fact)
        if not isinstance(fact, (PolicyTrained, CandidateJudged, PolicyCommitted, PolicyRolledBack)):
            self._ledger.fold(fact)
        self._news.set()

    async def handle(self, fact: RunStarted | StepOpened) -> AsyncIterator[Given]:
        """The run's start opens step 1; an opened step runs until the next one opens or training ends."""
        if isinstance(fact, RunStarted):
            yield self._next(0, fact.base_policy)
        elif self._history.newest_step <= fact.step:  # else a restart met a step that is over: all it gives is in the log
            async for given in self._step(fact):
                yield given

    async def _step(self, opened: StepOpened) -> AsyncIterator[Given]:
        step = opened.step
        if not await self._completed_in_time(step):
            yield StepExpired(step=step, missing=self._ledger.missing(step))
            await self._until(lambda: self._ledger.complete(step))
        outcome = self._ledger.close(step)
        yield StepClosed(
            step=step,
            recorded=outcome.recorded,
            dropped=outcome.dropped,
            rewards=outcome.rewards,
            complete=outcome.complete,
        )
        if outcome.fault_share > self._config.max_fault_share:
            yield self._ended(step, opened.policy, self._fault(outcome))
            return
        trained = self._history.trained.get(step) or await self._trained(opened, outcome)
        yield trained
        working = trained.policy
        if step % self._config.nominate_every == 0 or step == self._steps:
            nomination = self._nomination(opened, working)
            yield nomination
            await self._until(lambda: self._history.settled(step) or self._history.gate_failure(nomination.id) is not None)
            if not self._history.settled(step):
                failure = self._history.gate_failure(nomination.id)
                yield self._ended(step, working, f"{FAULT}the gate gave up on the candidate: {failure}")
                return
            working = self._history.rolled_back(step) or working
        yield self._next(step, working)

    async def _completed_in_time(self, step: int) -> bool:
        try:
            async with asyncio.timeout(self._config.step_deadline_s):
                await self._until(lambda: self._ledger.complete(step))
        except TimeoutError:
            log.warning("step has reached its deadline", step=step, missing=self._ledger.missing(step))
            return False
        return True

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._news.clear()
            await self._news.wait()

    async def _trained(self, opened: StepOpened, outcome: StepOutcome) -> PolicyTrained:
        sequences = self._samples.sequences(outcome.batch, self._config)
        fresh = opened.step == 1 or self._history.rolled_back(opened.step - 1) is not None
        made = await asyncio.to_thread(self._workshop.make, opened, sequences, fresh=fresh)
        keep = self._history.worth_keeping(self._config.keep_policies) | {opened.policy, made.policy}
        await asyncio.to_thread(self._workshop.tidy, keep, self._history.policies)
        metrics = made.metrics | {"fault_share": outcome.fault_share, "unreadable": float(outcome.unreadable.total())}
        return PolicyTrained(step=opened.step, policy=made.policy, parent=opened.policy, metrics=metrics)

    def _nomination(self, opened: StepOpened, candidate: str) -> CandidateNominated:
        step, incumbent = opened.step, self._history.incumbents[opened.step]
        return named(CandidateNominated(step=step, candidate=candidate, incumbent=incumbent, lineage=f"g{step}"), opened)

    def _next(self, step: int, working: str) -> StepOpened | TrainingEnded:
        if step >= self._steps:
            return self._ended(step, working, f"all {self._steps} steps are done")
        return StepOpened(
            step=step + 1,
            policy=working,
            num_challenges=self._config.num_challenges,
            num_assignments=self._config.num_assignments,
            lineage=f"s{step + 1}",
        )

    def _ended(self, step: int, working: str, reason: str) -> TrainingEnded:
        return TrainingEnded(step=step, policy=working, committed=self._history.committed, reason=reason)

    def _fault(self, outcome: StepOutcome) -> str:
        causes = "; ".join(outcome.failures[:3])
        return (
            f"{FAULT}{outcome.fault_share:.0%} of the step's experiences were lost, more than "
            f"learner.max_fault_share = {self._config.max_fault_share:.0%} allows: {causes}"
        )


def build(run: RunStarted, engine: Engine) -> LearnerService:
    """The Learner of one run; it asks the model for no text. The model itself is loaded when the first step trains."""
    config = read_section(LearnerConfig, run.config.get("learner", {}), "learner")
    rules = read_section(SageRules, run.config.get("sage", {}), "sage")
    store = PolicyStore(Path(run.store))
    base = store.path(run.base_policy)

    def trainer() -> Trainer:
        from services.learner.train import Trainer as TorchTrainer

        return TorchTrainer(base, config)

    workshop = Workshop(store, trainer, store.root.parent / "learner")
    expected = Expectations(rules, train_on_difficulty=bool(_setting(run, "solver", "train_on_difficulty")))
    return LearnerService(run, int(_setting(run, "run", "steps")), config, expected, workshop)


def _setting(run: RunStarted, section: str, key: str) -> Any:
    """A setting of another section that the Learner must agree with; it has no default of its own for it."""
    try:
        return run.config[section][key]
    except KeyError as error:
        raise BadInput(f"{section}.{key} is missing in the run's first fact: state it in the run file") from error
