"""The Planner at work: one plan for each assignment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from services.planner.config import PlannerConfig
from services.planner.logic import planned, rewarded
from shared.config import read_section
from shared.engine.port import Engine
from shared.engine.speaker import Speaker
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    PlanJudged,
    PlanMalformed,
    PlanProposed,
    Role,
    RunStarted,
    TaskAssigned,
)
from shared.rewards.rules import SageRules

PLAN = "plan"


class Planner:
    """Plans what it is assigned."""

    def __init__(self, engine: Engine, rules: SageRules, config: PlannerConfig) -> None:
        self._speaker = Speaker(Role.PLANNER, engine, Path(__file__).parent, config.prompts, config.sampling)
        self._speaker.need((PLAN,))
        self._rules = rules

    async def handle(
        self, fact: TaskAssigned | PlanJudged
    ) -> AsyncIterator[
        PlanProposed
        | ExperienceRecorded
        | ExperienceDropped
        | tuple[PlanMalformed | ExperienceRecorded | ExperienceDropped, ...]
    ]:
        """A plan for an assignment; the experience of a plan that was scored."""
        if isinstance(fact, TaskAssigned):
            reply = await self._speaker.ask(fact, PLAN, fact.task, policy=fact.policy)
            yield planned(fact, reply, self._rules)
        else:
            yield rewarded(fact, self._rules)


def build(run: RunStarted, engine: Engine) -> Planner:
    """The Planner of one run."""
    rules = read_section(SageRules, run.config.get("sage", {}), "sage")
    return Planner(engine, rules, read_section(PlannerConfig, run.config.get("planner", {}), "planner"))
