"""The Critic at work: one question to the model for each task and each plan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from services.critic.config import CriticConfig
from services.critic.logic import plan_judged, task_judged
from shared.config import read_section
from shared.engine.port import Engine
from shared.engine.speaker import Speaker
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    PlanJudged,
    PlanProposed,
    Role,
    RunStarted,
    TaskChecked,
    TaskJudged,
)
from shared.rewards.rules import SageRules

TASK, PLAN = "task", "plan"


class Critic:
    """Scores what others propose."""

    def __init__(self, engine: Engine, rules: SageRules, config: CriticConfig) -> None:
        self._speaker = Speaker(Role.CRITIC, engine, Path(__file__).parent, config.prompts, config.sampling)
        self._speaker.need((TASK, PLAN))
        self._rules = rules

    async def handle(
        self, fact: TaskChecked | PlanProposed
    ) -> AsyncIterator[tuple[TaskJudged | PlanJudged | ExperienceRecorded | ExperienceDropped, ...]]:
        """The score and the Critic's own experience, in one group."""
        if isinstance(fact, TaskChecked):
            reply = await self._speaker.ask(fact, TASK, fact.task, policy=fact.policy)
            yield task_judged(fact, reply, self._rules)
        else:
            reply = await self._speaker.ask(fact, PLAN, fact.task, policy=fact.policy, plan=fact.plan)
            yield plan_judged(fact, reply, self._rules)


def build(run: RunStarted, engine: Engine) -> Critic:
    """The Critic of one run."""
    rules = read_section(SageRules, run.config.get("sage", {}), "sage")
    return Critic(engine, rules, read_section(CriticConfig, run.config.get("critic", {}), "critic"))
