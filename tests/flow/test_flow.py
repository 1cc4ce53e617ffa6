"""Tests that hold every role's handlers to the table in shared/flow.py."""

from __future__ import annotations

import importlib
import typing
from collections.abc import Iterator

import pytest

from shared.flow import FLOW, TIMERS, UPKEEP, author
from shared.messages import FACT_TYPES, Fact, ReplicaJoined, ReplicaLeft, Role, WorkFailed
from shared.runtime import hinted

SEVEN = (Role.CHALLENGER, Role.PLANNER, Role.SOLVER, Role.CRITIC, Role.VERIFIER, Role.LEARNER, Role.GATE)


def service_class(role: Role) -> type:
    """The class of a role: the one in services/<role>/service.py that has a `handle`."""
    module = importlib.import_module(f"services.{role}.service")
    (found,) = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(value, "handle")
    ]
    return found


def facts_in(hint: object) -> Iterator[type[Fact]]:
    """All fact classes in a type hint, however deep."""
    if isinstance(hint, type) and issubclass(hint, Fact):
        yield hint
    for part in typing.get_args(hint):
        yield from facts_in(part)


@pytest.mark.parametrize("role", SEVEN)
def test_a_role_takes_what_the_table_says(role: Role):
    """What `handle` and `observe` name in their hints is the row's left side, no more and no less."""
    service = service_class(role)
    observe = getattr(service, "observe", None)
    assert hinted(service.handle) | (hinted(observe) if observe else set()) == FLOW[role].takes


@pytest.mark.parametrize("role", SEVEN)
def test_a_role_gives_what_the_table_says(role: Role):
    """What `handle` says that it yields is the row's right side; only the runtime gives `WorkFailed`."""
    hints = typing.get_type_hints(service_class(role).handle)
    assert set(facts_in(hints["return"])) - {WorkFailed} == FLOW[role].gives


def test_every_fact_has_a_giver_and_a_taker():
    """No fact is in the union that nobody gives; those that nobody takes are news for people and for the engine's caller."""
    given = {fact for port in FLOW.values() for fact in port.gives} | {WorkFailed} | UPKEEP
    speaking = {fact for fact in FACT_TYPES if fact.__name__ in {"SampleRequested", "SampleCompleted", "SampleFailed"}}
    assert set(FACT_TYPES) == given | speaking
    taken = {fact for port in FLOW.values() for fact in port.takes} | UPKEEP
    news = {fact.__name__ for fact in set(FACT_TYPES) - taken - speaking}
    assert news == {
        *("TaskMalformed", "TaskRefused", "StepClosed", "PairEvaluated", "WealthUpdated", "RunEnded"),
    }


def test_facts_are_frozen_and_later_fields_have_defaults():
    """A fact is past tense: nothing changes it. The three fields of its identity are left to the runtime."""
    for fact in FACT_TYPES:
        assert fact.__struct_config__.frozen, fact.__name__
        assert {"id", "cause", "lineage"} <= set(fact.__struct_fields__)


def test_facts_of_the_clock_are_given_and_taken_by_one_role():
    """Who gives a fact because time passed also folds it, so that a re-run may take the log's word for the time."""
    for fact in TIMERS:
        (role,) = [role for role, port in FLOW.items() if fact in port.gives]
        assert fact in FLOW[role].takes


def test_every_fact_names_its_author():
    """A fact given by one role alone is that role's; all others say it in their field `role`, but for the bus's own."""
    for fact_type in FACT_TYPES:
        givers = [role for role, port in FLOW.items() if fact_type in port.gives]
        if len(givers) != 1 and fact_type is not ReplicaLeft:
            assert "role" in fact_type.__struct_fields__, fact_type.__name__
    assert author(ReplicaLeft(role=Role.SOLVER, replica="solver-2", handled=7, reason="silent")) is Role.BUS
    assert author(ReplicaJoined(role=Role.SOLVER, replica="solver-2")) is Role.SOLVER
    assert author(WorkFailed(role=Role.GATE, work="w", work_type="CandidateNominated", reason="")) is Role.GATE
