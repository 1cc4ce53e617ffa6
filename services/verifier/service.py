"""The Verifier at work: keeps the keys, checks new ones, grades answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from services.verifier.config import VerifierConfig
from services.verifier.logic import check_key, grade
from shared.config import read_section
from shared.engine.port import Engine
from shared.messages import AnswerGraded, AnswerProposed, InstanceDrawn, Key, RunStarted, TaskChecked, TaskProposed, TaskSeeded


class Verifier:
    """Knows every key; nobody else needs one."""

    def __init__(self, config: VerifierConfig) -> None:
        self._config = config
        self._keys: dict[str, Key] = {}

    def observe(self, fact: TaskSeeded | TaskProposed | InstanceDrawn) -> None:
        """Remembers the task's key. A task keeps its first key, so that a verdict does not depend on when it is given."""
        self._keys.setdefault(fact.task.id, fact.key)

    async def handle(self, fact: TaskProposed | AnswerProposed) -> AsyncIterator[TaskChecked | AnswerGraded]:
        """The check of a new key, or the grade of an answer."""
        yield self._checked(fact) if isinstance(fact, TaskProposed) else self._graded(fact)

    def _checked(self, fact: TaskProposed) -> TaskChecked:
        check = check_key(fact.task, fact.key, self._config)
        return TaskChecked(
            step=fact.step,
            slot=fact.slot,
            policy=fact.policy,
            task=fact.task,
            usable=check.usable,
            reason=check.reason,
            duplicate=fact.duplicate,
        )

    def _graded(self, fact: AnswerProposed) -> AnswerGraded:
        verdict, reason = grade(fact, self._keys.get(fact.task.id), self._config)
        return AnswerGraded(
            purpose=fact.purpose,
            task=fact.task,
            attempt=fact.attempt,
            verdict=verdict,
            reason=reason,
            sample=fact.sample,
            format=fact.format,
            step=fact.step,
            slot=fact.slot,
            planned=fact.planned,
            plan_quality=fact.plan_quality,
            policy=fact.policy,
        )


def build(run: RunStarted, engine: Engine) -> Verifier:
    """The Verifier of one run. It is code and asks no model, so it has no use for `engine`."""
    return Verifier(read_section(VerifierConfig, run.config.get("verifier", {}), "verifier"))
