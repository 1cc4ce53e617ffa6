"""A stage for the Learner: a log in memory, a trainer without a model, and a cast that plays all other roles."""

from __future__ import annotations

import asyncio
import hashlib
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from services.learner.batch import TrainingSequence
from services.learner.config import LearnerConfig
from services.learner.service import LearnerService, Observed
from services.learner.workshop import Workshop
from shared.messages import (
    CandidateJudged,
    CandidateNominated,
    Decision,
    Fact,
    PolicyCommitted,
    PolicyRolledBack,
    Role,
    RunStarted,
    SampleCompleted,
    StepOpened,
    TrainingEnded,
    named,
)
from shared.store import PolicyStore
from tests.services.learner.story import EXPECTED, earned

OBSERVED = typing.get_args(Observed)


class TextTrainer:
    """Weights are a text, and so is the optimizer's state; both depend on everything that was trained on."""

    def __init__(self, base: Path) -> None:
        self.load(base)

    def load(self, folder: Path) -> None:
        """Takes a policy."""
        self.weights = (folder / "weights").read_text()
        self.state = "fresh"

    def load_optimizer(self, file: Path) -> None:
        """Takes a state."""
        self.state = file.read_text()

    def update(self, sequences: Sequence[TrainingSequence], seed: int) -> dict[str, float]:
        """Mixes everything into state and weights."""
        told = [(s.prompt_ids.tolist(), s.completion_ids.tolist(), s.logprobs.tolist(), s.advantage, s.role) for s in sequences]
        self.state = hashlib.sha256(f"{self.state}{told}{seed}".encode()).hexdigest()
        self.weights = hashlib.sha256(f"{self.weights}{self.state}".encode()).hexdigest()
        return {"sequences": float(len(sequences))}

    def save(self, folder: Path) -> None:
        """Writes the weights."""
        (folder / "weights").write_text(self.weights)

    def save_optimizer(self, file: Path) -> None:
        """Writes the state."""
        file.write_text(self.state)


Cast = Callable[[Fact], Iterator[Fact]]


def answers(fact: StepOpened) -> Iterator[Fact]:
    """What comes of a step's assignments: samples and experiences, without plans."""
    for slot in range(fact.num_assignments):
        for number, role in enumerate((Role.PLANNER, Role.SOLVER, Role.SOLVER)):
            yield from experience(fact, f"s{fact.step}.a{slot}", role, number)


def experience(fact: StepOpened, unit: str, role: Role, number: int) -> Iterator[Fact]:
    """A sample and what it earned."""
    sample = SampleCompleted(
        request="r", role=role, policy=fact.policy, prompt_ids=(1, 2), completion_ids=(3, number), logprobs=(-0.5, -0.25),
        text="", finish="stop", lineage=unit,
    )  # fmt: skip
    sample = named(sample, f"{unit}.{number}")
    yield sample
    yield named(earned(unit, role, sample.id, reward=float(number % 2), step=fact.step), sample)


def cast(verdicts: dict[int, Decision] | None = None) -> Cast:
    """All other roles; the gate decides by step and is otherwise undecided."""

    def play(fact: Fact) -> Iterator[Fact]:
        if isinstance(fact, StepOpened):
            yield from answers(fact)
        elif isinstance(fact, CandidateNominated):
            yield from gate(fact, (verdicts or {}).get(fact.step, Decision.INCONCLUSIVE))

    return play


def gate(fact: CandidateNominated, decision: Decision) -> Iterator[Fact]:
    """The judgement and its consequence."""
    judged = CandidateJudged(
        step=fact.step, candidate=fact.candidate, incumbent=fact.incumbent, decision=decision, reason="", wins=0, losses=0,
        ties=0, dropped=0, p_value=1.0, log_wealth=0.0, log_harm=0.0,
    )  # fmt: skip
    yield named(judged, fact)
    if decision is Decision.COMMIT:
        yield named(PolicyCommitted(step=fact.step, policy=fact.candidate, parent=fact.incumbent), fact)
    if decision is Decision.REJECT_HARM:
        yield named(PolicyRolledBack(step=fact.step, policy=fact.incumbent, refused=fact.candidate), fact)


class Stage:
    """One run in one folder. `play` may be called again after a kill: a new service then works from the log."""

    def __init__(self, folder: Path, cast: Cast, *, steps: int, config: LearnerConfig) -> None:
        self.store = PolicyStore(folder / "policies")
        self.optimizers = folder / "learner"
        base = self.store.write(lambda target: (target / "weights").write_text("base"))
        run = RunStarted(seed=1, config={}, base_policy=base, store=str(self.store.root), lineage="run")
        self.run = named(run, "run")
        self.log: list[Fact] = [self.run]
        self._cast, self._steps, self._config = cast, steps, config

    def of(self, *types: type[Fact]) -> list[typing.Any]:
        """The log's facts of these types."""
        return [fact for fact in self.log if isinstance(fact, types)]

    async def play(self, *, kill_at: type[Fact] | None = None, kill_in: int = 0) -> None:
        """Works until training ends, or until the first fact of type `kill_at` in step `kill_in` is in the log."""
        workshop = Workshop(self.store, lambda: TextTrainer(self.store.path(self.run.base_policy)), self.optimizers)
        self._service = LearnerService(self.run, self._steps, self._config, EXPECTED, workshop)
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._kill = (kill_at, kill_in)
        for fact in self.log:
            if isinstance(fact, OBSERVED):
                self._service.observe(fact)
        for fact in self.of(RunStarted, StepOpened)[-2:]:
            self._start(fact)
        async with asyncio.timeout(20):
            await self._over.wait()
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    def _start(self, fact: Fact) -> None:
        self._tasks.append(asyncio.create_task(self._follow(fact)))

    async def _follow(self, fact: Fact) -> None:
        try:
            async for given in self._service.handle(fact):  # type: ignore[arg-type]
                if self._over.is_set():
                    return
                self._publish(given if given.id else named(given, fact))
                await asyncio.sleep(0)
        except Exception:
            self._over.set()
            raise

    def _publish(self, fact: Fact) -> None:
        known = {old.id: old for old in self.log}
        if fact.id in known:
            assert known[fact.id] == fact, "the same work said something else"
            return
        self.log.append(fact)
        killed = isinstance(fact, self._kill[0]) and fact.step == self._kill[1] if self._kill[0] else False  # type: ignore[attr-defined]
        if killed or isinstance(fact, TrainingEnded):
            self._over.set()
        if isinstance(fact, OBSERVED):
            self._service.observe(fact)
        for following in self._cast(fact):
            self._publish(following)
        if isinstance(fact, StepOpened):
            self._start(fact)
