"""The Challenger at work: draws, asks for all new tasks at once, and settles each proposal when its evidence is in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from services.challenger.config import ChallengerConfig
from services.challenger.ledger import Ledger
from services.challenger.logic import Draft, assigned, proposals, refusal, settlement
from shared.config import read_section
from shared.dataset import Dataset
from shared.domains import load_domain
from shared.domains.port import Domain, Split
from shared.engine.port import Engine
from shared.engine.speaker import Speaker
from shared.messages import (
    AnswerGraded,
    ExperienceDropped,
    ExperienceRecorded,
    Role,
    RunStarted,
    StepOpened,
    Task,
    TaskAccepted,
    TaskAssigned,
    TaskJudged,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    TaskSeeded,
    seed_from,
)
from shared.rewards.rules import SageRules


class Challenger:
    """Invents tasks. Its prompt templates are named after the kinds of task."""

    def __init__(self, engine: Engine, domain: Domain, rules: SageRules, config: ChallengerConfig) -> None:
        self._speaker = Speaker(Role.CHALLENGER, engine, Path(__file__).parent, config.prompts, config.sampling)
        self._speaker.need(domain.kinds)
        self._domain = domain
        self._rules = rules
        self._dataset = Dataset()
        self._sizes: dict[str, int] = {}
        self._ledger = Ledger(rules.difficulty_attempts)

    def observe(self, fact: TaskSeeded | TaskAccepted | StepOpened | TaskProposed | TaskJudged | AnswerGraded) -> None:
        """Folds the dataset, its size at each step's opening, and what became of the proposals."""
        match fact:
            case TaskSeeded() | TaskAccepted():
                self._dataset.observe(fact)
            case StepOpened():
                self._sizes[fact.id] = len(self._dataset)
                self._ledger.forget_before(fact.step)
            case TaskProposed():
                self._ledger.propose(fact)
            case TaskJudged():
                self._ledger.judge(fact)
            case AnswerGraded():
                self._ledger.grade(fact)

    async def handle(
        self, fact: StepOpened | TaskJudged | AnswerGraded
    ) -> AsyncIterator[
        tuple[
            TaskAssigned | TaskProposed | TaskMalformed | TaskAccepted | TaskRefused | ExperienceRecorded | ExperienceDropped,
            ...,
        ]
    ]:
        """A step's assignments and proposals; the end of a proposal."""
        match fact:
            case StepOpened():
                yield assigned(fact, self._draw(fact, "assignments", fact.num_assignments))
                drafts = await self._drafts(fact)
                yield proposals(fact, drafts, self._rules, known=self._known_at(fact), held_out=self._held_out)
            case TaskJudged():
                proposed = self._ledger.proposal(fact.task.id)
                yield refusal(proposed, fact, self._rules) if proposed else ()
            case AnswerGraded():
                settled = self._ledger.settled_by(fact)
                yield settlement(*settled, self._rules) if settled else ()

    def _draw(self, opened: StepOpened, purpose: str, count: int) -> list[Task]:
        return self._dataset.draw(count, seed_from(opened.id, purpose), size=self._sizes[opened.id])

    async def _drafts(self, opened: StepOpened) -> list[Draft]:
        references = self._draw(opened, "references", opened.num_challenges)
        asked = [asyncio.create_task(self._draft(opened, slot, task)) for slot, task in enumerate(references)]
        try:
            return list(await asyncio.gather(*asked))
        finally:
            for task in asked:
                task.cancel()

    async def _draft(self, opened: StepOpened, slot: int, reference: Task) -> Draft:
        reply = await self._speaker.ask(opened, reference.kind, reference, policy=opened.policy, index=slot)
        return Draft(slot, reference, reply)

    def _known_at(self, opened: StepOpened) -> Callable[[str], bool]:
        return partial(self._dataset.holds, size=self._sizes[opened.id])

    def _held_out(self, question: str) -> bool:
        return self._domain.split_of(question) is not Split.TRAIN


def build(run: RunStarted, engine: Engine) -> Challenger:
    """The Challenger of one run."""
    rules = read_section(SageRules, run.config.get("sage", {}), "sage")
    config = read_section(ChallengerConfig, run.config.get("challenger", {}), "challenger")
    return Challenger(engine, load_domain(run.config.get("domain", {})), rules, config)
