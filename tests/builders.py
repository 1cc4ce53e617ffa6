"""Builders of values and facts for tests: everything has a default, and what matters to a test is named in it.

A fact gets an id from its own content, so that equal facts are equal and different ones differ; `named` gives others.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from shared.engine.port import SampleFault
from shared.engine.scripted import ScriptedEngine
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    ExperienceRecorded,
    Fact,
    InstanceDrawn,
    Key,
    PlanJudged,
    PlanMalformed,
    PlanProposed,
    Purpose,
    Role,
    RunStarted,
    StepOpened,
    Task,
    TaskAccepted,
    TaskAssigned,
    TaskChecked,
    TaskJudged,
    TaskProposed,
    TaskSeeded,
    TrialRequested,
    Verdict,
    digest,
)
from shared.prompts import Prompt
from shared.rewards.rules import SageRules

F = TypeVar("F", bound=Fact)
QUESTION = "Mia has 14 pens. She buys 9 more. How many pens does Mia have now?"


def build(kind: type[F], defaults: dict[str, Any], changes: dict[str, Any]) -> F:
    """A fact of this kind whose id, unless given, follows from its content."""
    fact = kind(**(defaults | changes))
    return fact if fact.id else msgspec.structs.replace(fact, id=digest(kind.__name__, fact))


def rules(**changes: Any) -> SageRules:
    """SAGE's rules with two attempts each."""
    return SageRules(**({"difficulty_attempts": 2, "solve_attempts": 2} | changes))


def task(question: str = QUESTION, kind: str = "words", **changes: Any) -> Task:
    """A task named after its question."""
    return Task(**({"id": digest("task", question), "question": question, "kind": kind} | changes))


def key(check: str = "14 + 9") -> Key:
    """A key of the default question."""
    return Key(check)


def run_started(**changes: Any) -> RunStarted:
    """The first fact of a run."""
    return build(RunStarted, {"seed": 1, "config": {}, "base_policy": "base", "store": "store"}, changes)


def task_seeded(**changes: Any) -> TaskSeeded:
    """A seed task with its key."""
    return build(TaskSeeded, {"task": task(), "key": key()}, changes)


def step_opened(**changes: Any) -> StepOpened:
    """A first step with two challenges and two assignments."""
    return build(StepOpened, {"step": 1, "policy": "p0", "num_challenges": 2, "num_assignments": 2, "lineage": "s1"}, changes)


def _slot(**more: Any) -> dict[str, Any]:
    return {"step": 1, "slot": 0, "task": task()} | more


def task_proposed(**changes: Any) -> TaskProposed:
    """A well-formed proposal."""
    defaults = _slot(policy="p0", key=key(), references=("ref",), sample="sample-c", format=1.0, lineage="s1.c0")
    return build(TaskProposed, defaults, changes)


def task_checked(**changes: Any) -> TaskChecked:
    """A usable key."""
    return build(TaskChecked, _slot(policy="p0", usable=True, reason="usable", lineage="s1.c0"), changes)


def task_judged(**changes: Any) -> TaskJudged:
    """A usable task of quality 1."""
    defaults = _slot(policy="p0", usable=True, quality=1.0, sample="sample-k", format=1.0, lineage="s1.c0")
    return build(TaskJudged, defaults, changes)


def task_accepted(**changes: Any) -> TaskAccepted:
    """An accepted task of middling difficulty."""
    return build(TaskAccepted, _slot(quality=1.0, difficulty=0.5, lineage="s1.c0"), changes)


def task_assigned(**changes: Any) -> TaskAssigned:
    """An assignment."""
    return build(TaskAssigned, _slot(policy="p0", lineage="s1.a0"), changes)


def plan_proposed(**changes: Any) -> PlanProposed:
    """A plan of one step."""
    defaults = _slot(policy="p0", plan="start 14; add 9", sample="sample-p", format=1.0, lineage="s1.a0")
    return build(PlanProposed, defaults, changes)


def plan_malformed(**changes: Any) -> PlanMalformed:
    """A reply without a plan."""
    return build(PlanMalformed, _slot(policy="p0", sample="sample-p", format=0.0, reason="none", lineage="s1.a0"), changes)


def plan_judged(**changes: Any) -> PlanJudged:
    """A plan of quality 1."""
    plan = {"plan": "start 14; add 9", "plan_sample": "sample-p", "plan_format": 1.0}
    defaults = _slot(policy="p0", quality=1.0, sample="sample-k", format=1.0, lineage="s1.a0", **plan)
    return build(PlanJudged, defaults, changes)


def trial_requested(**changes: Any) -> TrialRequested:
    """A greedy trial."""
    return build(TrialRequested, {"policy": "p1", "task": task(), "temperature": 0.0, "lineage": "g1.p0"}, changes)


def answer_proposed(**changes: Any) -> AnswerProposed:
    """A well-formed right answer to the default question, without a plan."""
    defaults = _slot(purpose=Purpose.SOLVE, attempt=0, answer="23", sample="sample-s", format=1.0, policy="p0")
    return build(AnswerProposed, defaults | {"lineage": "s1.a0"}, changes)


def answer_graded(**changes: Any) -> AnswerGraded:
    """A right answer, graded."""
    graded = {"purpose": Purpose.SOLVE, "attempt": 0, "verdict": Verdict.CORRECT, "reason": "equal"}
    defaults = _slot(sample="sample-s", format=1.0, policy="p0", lineage="s1.a0", **graded)
    return build(AnswerGraded, defaults, changes)


def instance_drawn(**changes: Any) -> InstanceDrawn:
    """A held-out instance."""
    return build(InstanceDrawn, {"index": 0, "task": task(), "key": key(), "lineage": "g1.p0"}, changes)


def experience_recorded(**changes: Any) -> ExperienceRecorded:
    """An experience of the Solver."""
    defaults = {"step": 1, "role": Role.SOLVER, "sample": "sample-s", "reward": 0.8, "parts": {"correct": 1.0}}
    return build(ExperienceRecorded, defaults, changes)


def in_turn(*replies: str | None) -> ScriptedEngine:
    """An engine that gives these texts in the order of asking; None is an engine that cannot answer."""
    waiting = list(replies)

    def reply(role: Role, prompt: Prompt, seed: int) -> str:
        text = waiting.pop(0)
        if text is None:
            raise SampleFault("the engine is down")
        return text

    return ScriptedEngine(reply)


def prompts_of(engine: ScriptedEngine) -> list[str]:
    """The last turn of every prompt that the engine was given."""
    return [request.turns[-1].content for request in engine.calls]


async def facts_of(service: Any, fact: Fact) -> list[Any]:
    """Observes and handles one fact; what was given, groups flattened."""
    if hasattr(service, "observe"):
        service.observe(fact)
    return await handled(service, fact)


async def handled(service: Any, fact: Fact) -> list[Any]:
    """What `handle` gives, groups flattened."""
    given: list[Any] = []
    async for item in service.handle(fact):
        given += item if isinstance(item, tuple) else (item,)
    return given
