"""The Solver at work: asks all attempts at once and gives each as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from services.solver.config import SolverConfig
from services.solver.logic import Cause, Work, answered, rewarded, work_for
from shared.config import read_section
from shared.engine.port import Engine
from shared.engine.speaker import Speaker
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    ExperienceDropped,
    ExperienceRecorded,
    PlanJudged,
    PlanMalformed,
    Role,
    RunStarted,
    TaskJudged,
    TrialRequested,
)
from shared.rewards.rules import SageRules

BARE, WITH_PLAN = "solve", "solve_with_plan"


class Solver:
    """Answers questions."""

    def __init__(self, engine: Engine, rules: SageRules, config: SolverConfig) -> None:
        self._speaker = Speaker(Role.SOLVER, engine, Path(__file__).parent, config.prompts, config.sampling)
        self._speaker.need((BARE, WITH_PLAN))
        self._rules = rules
        self._train_on_difficulty = config.train_on_difficulty

    async def handle(
        self, fact: TaskJudged | PlanJudged | PlanMalformed | TrialRequested | AnswerGraded
    ) -> AsyncIterator[AnswerProposed | ExperienceRecorded | ExperienceDropped]:
        """The attempts that a fact asks for, or the experience of a graded one."""
        if isinstance(fact, AnswerGraded):
            experience = rewarded(fact, self._rules, train_on_difficulty=self._train_on_difficulty)
            if experience:
                yield experience
            return
        work = work_for(fact, self._rules)
        attempts = [asyncio.create_task(self._attempt(fact, work, attempt)) for attempt in range(work.attempts)]
        try:
            for attempt in asyncio.as_completed(attempts):
                yield await attempt
        finally:
            for task in attempts:
                task.cancel()

    async def _attempt(self, cause: Cause, work: Work, attempt: int) -> AnswerProposed:
        name, texts = (BARE, {}) if work.plan is None else (WITH_PLAN, {"plan": work.plan})
        reply = await self._speaker.ask(
            cause, name, cause.task, policy=cause.policy, index=attempt, temperature=work.temperature, **texts
        )
        return answered(cause, work, attempt, reply)


def build(run: RunStarted, engine: Engine) -> Solver:
    """The Solver of one run."""
    rules = read_section(SageRules, run.config.get("sage", {}), "sage")
    return Solver(engine, rules, read_section(SolverConfig, run.config.get("solver", {}), "solver"))
