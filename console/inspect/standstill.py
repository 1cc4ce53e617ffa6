"""What unfinished work adds up to: what each service waits for, since when, and what everybody waits for in the end. Pure.

The Learner waits for the experiences of its step and then for the Gate's verdict, the Gate for the answers to its trials, a
role that speaks for its samples; whoever waits for nobody is where it stands. Of those, the oldest is the root.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from console.inspect.cat import Found
from console.inspect.work import Item, Marks, Window
from services.learner.ledger import Expectations, Ledger
from shared.eventlog.selection import is_below
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    EvaluationCompleted,
    ExperienceDropped,
    ExperienceRecorded,
    PairEvaluated,
    PlanProposed,
    PolicyTrained,
    Role,
    RunStarted,
    StepClosed,
    StepExpired,
    StepOpened,
    TaskJudged,
    TaskProposed,
    TrainingEnded,
    TrialRequested,
    WorkFailed,
)

_LEDGER = (
    StepOpened, TaskProposed, TaskJudged, PlanProposed, ExperienceRecorded, ExperienceDropped, StepExpired, WorkFailed,
)  # fmt: skip
_LACKING = re.compile(r"([ca]\d+) lacks ([^;]*)")
_SHOWN = 6
SERVICES = (
    Role.LEARNER, Role.GATE, Role.CHALLENGER, Role.PLANNER, Role.SOLVER, Role.CRITIC, Role.VERIFIER, Role.INFERENCE,
)  # fmt: skip


class Fact(msgspec.Struct, frozen=True):
    """A fact that somebody has not finished."""

    seq: int
    fact: str
    lineage: str
    time_ns: int


class Wait(msgspec.Struct, frozen=True):
    """What one service waits for, or is at work on."""

    role: Role
    what: str
    """In words; empty when it has nothing to do."""
    since_ns: int | None
    """Journal time of the fact at which this began."""
    facts: int
    """So many facts it has not finished."""
    first: Fact | None
    """The oldest of them."""
    on: tuple[Role, ...] = ()
    """The services that it waits for; empty when it is its own turn."""


class Standstill(msgspec.Struct, frozen=True):
    """What everybody waits for."""

    phase: str
    services: tuple[Wait, ...]
    root: Wait | None
    """The oldest thing that everything else waits for; None when nothing is open."""


class _Scope(NamedTuple):
    """What the run as a whole is at, and the units of work that this needs."""

    role: Role
    what: str
    begun: Found
    units: tuple[str, ...]
    """Lineages that are waited for; none when the role itself is at work."""


def standstill(window: Window, marks: Marks, expectations: Expectations) -> Standstill:
    """What everybody waits for at the end of the window, in a run that has not ended."""
    items = window.open_items(marks)
    scope = _scope(window, expectations)
    needed = [item for item in items if scope is not None and _is_needed(item, scope)]
    services = [_wait(role, [item for item in items if item.role is role], marks, scope, needed) for role in SERVICES]
    nominated = _testing(window)
    if scope is not None and scope.role is Role.GATE and nominated is not None:
        verdict = Wait(Role.LEARNER, "the Gate's verdict", nominated.time_ns, 1, _named(nominated), (Role.GATE,))
        services[SERVICES.index(Role.LEARNER)] = verdict
    phase = scope.begun.fact.lineage.partition(".")[0] or "the start" if scope else "nothing"
    return Standstill(phase, tuple(services), _root(scope, needed, items, marks, services))


def _scope(window: Window, expectations: Expectations) -> _Scope | None:
    """The last thing that was begun: the run, a step, a test, or the final evaluation."""
    begun = window.of(RunStarted, StepOpened, CandidateNominated, TrainingEnded)
    if not begun:
        return None
    last = begun[-1]
    match last.fact:
        case StepOpened():
            return _step(window, last, last.fact, expectations)
        case CandidateNominated():
            return _test(window, last)
        case TrainingEnded():
            return _evaluation(window, last)
    return _Scope(Role.LEARNER, "the first step is to be opened", last, ())


def _test(window: Window, nominated: Found) -> _Scope:
    if window.answered(nominated.fact, CandidateJudged):
        judged = window.of(CandidateJudged)[-1]
        return _Scope(Role.LEARNER, "the verdict is there; the next step is to be opened", judged, ())
    return _trials(window, nominated, "the verdict on the candidate")


def _evaluation(window: Window, ended: Found) -> _Scope:
    evaluations = window.of(EvaluationCompleted)
    if len(evaluations) >= window.rules.evaluations:
        return _Scope(Role.CONSOLE, "evaluated; the run is to be ended", evaluations[-1], ())
    return _trials(window, ended, "the final evaluation")


def _step(window: Window, opened: Found, fact: StepOpened, expectations: Expectations) -> _Scope:
    if window.answered(fact, PolicyTrained):
        return _Scope(Role.LEARNER, "trained; the next step or a candidate is to be named", window.of(PolicyTrained)[-1], ())
    if window.answered(fact, StepClosed):
        return _Scope(Role.LEARNER, "the gradient step is being made", window.of(StepClosed)[-1], ())
    ledger = Ledger(expectations)
    for found in window.of(*_LEDGER):
        ledger.fold(found.fact)  # type: ignore[arg-type]  # these are the ledger's types
    lacking = "" if ledger.complete(fact.step) else ledger.missing(fact.step)
    units = tuple(f"{opened.fact.lineage}.{unit}" for unit, _ in _LACKING.findall(lacking))
    if not units:
        last = window.of(*_LEDGER)[-1]
        return _Scope(Role.LEARNER, "all experiences are there; the step is to be closed", last, ())
    shown = "; ".join(lacking.split("; ")[:_SHOWN])
    more = f"; and {len(units) - _SHOWN} more units" if len(units) > _SHOWN else ""
    return _Scope(Role.LEARNER, f"experiences of {len(units)} units: {shown}{more}", opened, units)


def _trials(window: Window, begun: Found, what: str) -> _Scope:
    pending = _pending(window, begun)
    if not pending:
        return _Scope(Role.GATE, f"{what} is being worked out", begun, ())
    shown = ", ".join(pending[:_SHOWN]) + (f" and {len(pending) - _SHOWN} more" if len(pending) > _SHOWN else "")
    return _Scope(Role.GATE, f"{what} needs answers to {shown}", begun, tuple(pending))


def _pending(window: Window, begun: Found) -> list[str]:
    """Lineages of the trials asked for on account of `begun` that have no grade, of pairs that are not evaluated."""
    done = {found.fact.lineage for found in window.of(AnswerGraded, PairEvaluated)}
    failed = {found.fact.lineage for found in window.of(WorkFailed)}
    asked = (found for found in window.of(TrialRequested) if found.fact.cause == begun.fact.id)
    lineages = (found.fact.lineage for found in asked)
    return [each for each in lineages if not {each, each.rpartition(".")[0]} & (done | failed)]


def _testing(window: Window) -> Found | None:
    """The nomination whose verdict is not there."""
    nominated = window.of(CandidateNominated)
    return nominated[-1] if nominated and not window.answered(nominated[-1].fact, CandidateJudged) else None


def _wait(role: Role, items: Sequence[Item], marks: Marks, scope: _Scope | None, needed: Sequence[Item]) -> Wait:
    """What a service waits for, by its own unfinished facts, or by what the run is at."""
    absent = _absent(role, marks)
    if scope is not None and scope.role is role:
        on = tuple(each for each in SERVICES if any(item.role is each for item in needed) and scope.units)
        return Wait(role, scope.what + absent, scope.begun.time_ns, 1, _named(scope.begun), on)
    if not items:
        return Wait(role, absent.removeprefix("; "), None, 0, None)
    requests = [request for item in items for request in item.requests]
    first = items[0].found
    what = f"{len(items)} {'fact' if len(items) == 1 else 'facts'} to follow up"
    if requests:
        what += f", with {len(requests)} {'sample' if len(requests) == 1 else 'samples'} asked for"
    on = (Role.INFERENCE,) if requests else ()
    return Wait(role, what + absent, first.time_ns, len(items), _named(first), on)


def _absent(role: Role, marks: Marks) -> str:
    return "; no process of this role is there" if marks.nobody(role) else ""


def _root(
    scope: _Scope | None, needed: Sequence[Item], items: Sequence[Item], marks: Marks, services: Iterable[Wait]
) -> Wait | None:
    """Follows who waits for whom from the run's own work down to whoever waits for nobody; the oldest of those."""
    if scope is None:
        return None
    own = next((wait for wait in services if wait.role is scope.role), None)
    if not scope.units:
        return own or Wait(scope.role, scope.what, scope.begun.time_ns, 1, _named(scope.begun))
    waited_for = {(item.role, item.found.fact.id): item for item in _leaves(needed, items)}
    leaves = sorted(waited_for.values(), key=lambda item: item.found.seq)
    if not leaves:
        what = f"{', '.join(scope.units[:_SHOWN])}: nobody has work there, and {scope.role} waits for it: a fault of ours"
        return Wait(scope.role, what, scope.begun.time_ns, len(scope.units), _named(scope.begun))
    first = leaves[0]
    asked = f", asked by {first.found.fact.role}" if first.role is Role.INFERENCE else ""  # type: ignore[attr-defined]
    what = f"has not followed up the oldest of {len(leaves)}{asked}"
    what += _absent(first.role, marks)
    return Wait(first.role, what, first.found.time_ns, len(leaves), _named(first.found))


def _is_needed(item: Item, scope: _Scope) -> bool:
    """Whether the item stands in the way of the run's own work: in one of its units, or in what they all hang from."""
    lineage = item.found.fact.lineage
    return bool(scope.units) and (lineage == scope.begun.fact.lineage or any(is_below(lineage, unit) for unit in scope.units))


def _leaves(needed: Sequence[Item], items: Sequence[Item]) -> Iterator[Item]:
    """Those who wait for nobody: of an item with samples asked for, the requests at inference; else the item itself."""
    requests = {item.found.fact.id: item for item in items if item.role is Role.INFERENCE}
    for item in needed:
        asked = [requests[request.fact.id] for request in item.requests if request.fact.id in requests]
        yield from asked or [item]


def _named(found: Found) -> Fact:
    return Fact(found.seq, type(found.fact).__name__, found.fact.lineage, found.time_ns)
