"""A long log for the bench: steps as a run leaves them, with facts of about 1 KB, made from numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from shared.codec import encode
from shared.eventlog.entry import Entry, entry_of
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    CandidateJudged,
    CandidateNominated,
    Decision,
    ExperienceRecorded,
    Fact,
    Key,
    PairEvaluated,
    PlanJudged,
    PlanProposed,
    PolicyTrained,
    Purpose,
    Role,
    RunStarted,
    SampleCompleted,
    SampleRequested,
    Sampling,
    StepClosed,
    StepOpened,
    Task,
    TaskAccepted,
    TaskAssigned,
    TaskChecked,
    TaskJudged,
    TaskProposed,
    Turn,
    Verdict,
    named,
)

CHALLENGES, ASSIGNMENTS, ATTEMPTS, EVERY, PAIRS = 24, 48, 4, 10, 100
BEGAN_NS = 1_780_000_000_000_000_000
APART_NS = 2_000_000
"""Journal times, and how far they lie apart."""
_QUESTION = "Mia has 14 pens. She buys 9 more and then gives a third of all of them to her neighbour's children. " * 2
_TURNS = (Turn("system", "You solve tasks step by step and close every tag that you open. " * 3), Turn("user", _QUESTION))
_TOKENS = tuple(range(200, 370))
_LOGPROBS = tuple(-0.01 * token for token in range(170))
_REPLY = "<think> 14 + 9 = 23; 23 / 3 = 7; 23 - 7 = 16</think><answer> 16</answer>"


def long_log(facts: int) -> Iterator[tuple[int, Entry]]:
    """(journal time, entry) of so many facts."""
    for number, fact in enumerate(islice(_run(), facts)):
        yield BEGAN_NS + number * APART_NS, entry_of(encode(fact))


def _run() -> Iterator[Fact]:
    started = named(RunStarted(seed=0, config={"run": {"name": "bench"}}, base_policy="p0", store="policies"), "bench")
    yield started
    cause: Fact = started
    for step in count(1):
        opened = StepOpened(
            step=step, policy=f"p{step}", num_challenges=CHALLENGES, num_assignments=ASSIGNMENTS, lineage=f"s{step}"
        )
        cause = named(opened, cause)
        yield cause
        yield from _step(cause, step)


def _step(opened: Fact, step: int) -> Iterator[Fact]:
    policy = f"p{step}"
    for slot in range(CHALLENGES):
        yield from _challenge(opened, step, slot, policy)
    for slot in range(ASSIGNMENTS):
        yield from _assignment(opened, step, slot, policy)
    yield named(StepClosed(step=step, recorded={"solver": 288}, dropped={}, rewards={"solver": 0.6}), opened)
    yield named(PolicyTrained(step=step, policy=f"p{step + 1}", parent=policy, metrics={"loss": 0.1}), opened)
    if step % EVERY == 0:
        yield from _test(opened, step)


def _challenge(opened: Fact, step: int, slot: int, policy: str) -> Iterator[Fact]:
    lineage = f"s{step}.c{slot}"
    task = Task(f"task-{step}-{slot}", _QUESTION, "words", 2)
    request, reply = _sample(opened, Role.CHALLENGER, policy, slot)
    where = {"step": step, "slot": slot, "task": task}
    proposed = TaskProposed(
        **where, policy=policy, key=Key("14 + 9"), references=("r",), sample=reply.id, format=1.0, lineage=lineage
    )
    proposed = named(proposed, opened, slot)
    checked = named(TaskChecked(**where, policy=policy, usable=True, reason="usable"), proposed)
    yield from (request, reply, proposed, checked)
    request, reply = _sample(checked, Role.CRITIC, policy, 0)
    judged = named(TaskJudged(**where, policy=policy, usable=True, quality=0.9, sample=reply.id, format=1.0), checked)
    yield from (request, reply, judged, _experience(checked, step, Role.CRITIC, reply))
    yield from _answers(judged, Purpose.DIFFICULTY)
    yield named(TaskAccepted(**where, quality=0.9, difficulty=0.5), proposed)
    yield _experience(proposed, step, Role.CHALLENGER, reply)


def _assignment(opened: Fact, step: int, slot: int, policy: str) -> Iterator[Fact]:
    task = Task(f"task-{max(1, step - 1 - slot % 7)}-{slot % CHALLENGES}", _QUESTION, "words", 2)
    where = {"step": step, "slot": slot, "task": task, "policy": policy}
    assigned = named(TaskAssigned(**where, lineage=f"s{step}.a{slot}"), opened, slot)
    request, reply = _sample(assigned, Role.PLANNER, policy, 0)
    proposed = named(PlanProposed(**where, plan="add; divide; subtract", sample=reply.id, format=1.0), assigned)
    yield from (assigned, request, reply, proposed)
    request, scored = _sample(proposed, Role.CRITIC, policy, 0)
    plan = {"plan": "add; divide; subtract", "plan_sample": reply.id, "plan_format": 1.0}
    judged = named(PlanJudged(**where, **plan, quality=0.8, sample=scored.id, format=1.0), proposed)
    yield from (request, scored, judged, _experience(proposed, step, Role.CRITIC, scored))
    yield _experience(judged, step, Role.PLANNER, reply)
    yield from _answers(judged, Purpose.SOLVE)


def _answers(cause: TaskJudged | PlanJudged, purpose: Purpose) -> Iterator[Fact]:
    step, slot, task, policy = cause.step, cause.slot, cause.task, cause.policy
    for attempt in range(ATTEMPTS):
        request, reply = _sample(cause, Role.SOLVER, policy, attempt)
        where = {"purpose": purpose, "task": task, "attempt": attempt, "sample": reply.id, "format": 1.0}
        answer = named(AnswerProposed(**where, answer="16", step=step, slot=slot, policy=policy), cause, attempt)
        verdict = {"verdict": Verdict.CORRECT, "reason": "equal"}
        graded = named(AnswerGraded(**where, **verdict, step=step, slot=slot, policy=policy), answer)
        yield from (request, reply, answer, graded, _experience(graded, step, Role.SOLVER, reply))


def _sample(cause: Fact, role: Role, policy: str, index: int) -> tuple[SampleRequested, SampleCompleted]:
    request = SampleRequested(role=role, policy=policy, turns=_TURNS, sampling=Sampling(), seed=index, template="t")
    request = named(request, cause, index)
    tokens = {"prompt_ids": _TOKENS[:60], "completion_ids": _TOKENS, "logprobs": _LOGPROBS}
    reply = SampleCompleted(request=request.id, role=role, policy=policy, **tokens, text=_REPLY, finish="stop")
    return request, named(reply, request)


def _experience(cause: Fact, step: int, role: Role, reply: SampleCompleted) -> Fact:
    parts = {"quality": 0.9, "format": 1.0}
    return named(ExperienceRecorded(step=step, role=role, sample=reply.id, reward=0.9, parts=parts), cause)


def _test(opened: Fact, step: int) -> Iterator[Fact]:
    candidate, incumbent = f"p{step + 1}", f"p{step + 1 - EVERY}"
    draft = CandidateNominated(step=step, candidate=candidate, incumbent=incumbent, lineage=f"g{step}")
    nominated = named(draft, opened)
    yield nominated
    for index in range(PAIRS):
        verdicts = {"incumbent": Verdict.WRONG, "candidate": Verdict.CORRECT}
        pair = PairEvaluated(index=index, kind="words", task="t", lineage=f"g{step}.p{index}", **verdicts)
        yield named(pair, nominated, index)
    counts = {"wins": PAIRS, "losses": 0, "ties": 0, "dropped": 0}
    numbers = {"p_value": 0.01, "log_wealth": 3.0, "log_harm": -2.0}
    ids = {"step": step, "candidate": candidate, "incumbent": incumbent}
    yield named(CandidateJudged(**ids, decision=Decision.REJECT_FUTILE, reason="bench", **counts, **numbers), nominated)
