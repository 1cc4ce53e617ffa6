"""What some roles need beyond the log: the Learner a place to write and weights to begin with, inference its policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from console.rerun.excerpt import Excerpt
from console.rerun.weights import Weights
from shared.messages import Fact, PolicyRolledBack, PolicyTrained, Role, RunStarted, SampleRequested, StepOpened

WEIGHTY = (Role.LEARNER, Role.INFERENCE)
"""Roles that load weights."""


def _nothing(fact: Fact) -> bool:
    return False


def _as_it_is(recorded: Fact, now: Fact) -> None:
    return None


class Needs(NamedTuple):
    """How a role's re-run is arranged."""

    run: RunStarted
    """The run's first fact, as the role sees it."""
    passes_over: Callable[[Fact], bool] = _nothing
    """Which work cannot be done here."""
    on_change: Callable[[Fact, Fact], None] = _as_it_is
    """Told of a recorded fact and of another one that was given in its place."""


def needs_of(excerpt: Excerpt, run: RunStarted, weights: Weights) -> Needs:
    """Brings together what the role needs. Raises `BadInput` when weights are nowhere to be found."""
    scratch = msgspec.structs.replace(run, store=str(weights.store.root))
    if excerpt.role is Role.INFERENCE:
        return Needs(scratch, lambda fact: isinstance(fact, SampleRequested) and not weights.has(fact.policy))
    if excerpt.role is not Role.LEARNER:
        return Needs(run)
    weights.need_base()
    first = next(excerpt.facts(StepOpened, excerpt.start), None)
    if first is not None and first.step > 1:
        rolled_back = (fact.step for fact in excerpt.facts(PolicyRolledBack, until=excerpt.start))
        weights.need_step(first, fresh=first.step - 1 in rolled_back)

    def follow(recorded: Fact, now: Fact) -> None:
        if isinstance(recorded, PolicyTrained) and isinstance(now, PolicyTrained):
            weights.go_on_as(recorded, now)

    return Needs(scratch, on_change=follow)


def has_work(excerpt: Excerpt) -> bool:
    """Whether the recording holds anything for the Learner to do, whose service cannot even be built without weights."""
    return excerpt.role is not Role.LEARNER or excerpt.start == 0 or any(excerpt.facts(StepOpened, excerpt.start))
