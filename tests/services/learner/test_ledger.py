"""What a step waits for, and what is left of it."""

from __future__ import annotations

from collections import Counter

import pytest

from services.learner.ledger import Expectations, Ledger, LedgerFact
from shared.messages import Role
from tests.services.learner.story import EXPECTED, dropped, earned, expired, failed, judged, opened, planned, proposed

C0, A0, A1 = "s1.c0", "s1.a0", "s1.a1"


def ledger_of(*facts: LedgerFact, expected: Expectations = EXPECTED) -> Ledger:
    """A ledger that has seen these facts."""
    ledger = Ledger(expected)
    for fact in facts:
        ledger.fold(fact)
    return ledger


def assignment(unit: str) -> list[LedgerFact]:
    """A whole assignment with a plan and two attempts."""
    solver = [earned(unit, Role.SOLVER, f"{unit}.k{k}", reward=float(k)) for k in range(2)]
    return [planned(unit), earned(unit, Role.CRITIC), earned(unit, Role.PLANNER), *solver]


def test_malformed_challenge_owes_one_experience() -> None:
    """Without a proposed task the Challenger's experience completes the unit."""
    ledger = ledger_of(opened(challenges=1))
    assert ledger.missing(1) == "c0 lacks 1 challenger"
    ledger.fold(earned(C0, Role.CHALLENGER))
    assert ledger.complete(1)
    assert ledger.missing(1) == ""


def test_attempted_challenge_owes_critic_and_solver_too() -> None:
    """A proposed and well judged task is complete only with the Critic's and every attempt's experience."""
    ledger = ledger_of(opened(challenges=1), proposed(C0), judged(C0))
    assert ledger.missing(1) == "c0 lacks 1 challenger, 1 critic, 2 solver"
    for fact in (earned(C0, Role.CRITIC), earned(C0, Role.SOLVER, "k0"), earned(C0, Role.CHALLENGER)):
        ledger.fold(fact)
    assert not ledger.complete(1)
    ledger.fold(dropped(C0, Role.SOLVER, fault=False))
    assert ledger.complete(1)


@pytest.mark.parametrize(
    "verdict",
    [judged(C0, quality=0.69), judged(C0, quality=None), judged(C0, usable=False), judged(C0, duplicate=True)],
)
def test_task_not_worth_attempting_owes_no_attempts(verdict: LedgerFact) -> None:
    """Low or no quality, an unusable key or a duplicate: the Solver is not waited for."""
    ledger = ledger_of(opened(challenges=1), proposed(C0), verdict, earned(C0, Role.CRITIC), earned(C0, Role.CHALLENGER))
    assert ledger.complete(1)


def test_attempts_that_are_not_trained_on_are_not_waited_for() -> None:
    """With training on difficulty off, a well judged task owes Challenger and Critic only."""
    expected = EXPECTED._replace(train_on_difficulty=False)
    ledger = ledger_of(opened(challenges=1), proposed(C0), judged(C0), expected=expected)
    assert ledger.missing(1) == "c0 lacks 1 challenger, 1 critic"


def test_assignment_owes_the_critic_only_for_a_plan() -> None:
    """A malformed plan is judged by nobody; a proposed one is."""
    ledger = ledger_of(opened(assignments=2), planned(A0))
    assert ledger.missing(1) == "a0 lacks 1 critic, 1 planner, 2 solver; a1 lacks 1 planner, 2 solver"


def test_batch_is_sorted_and_counts_by_role() -> None:
    """The batch does not depend on the order of arrival; counts and mean rewards are by role."""
    plans, facts = [planned(A0), planned(A1)], [*assignment(A1)[1:], *assignment(A0)[1:]]
    one = ledger_of(opened(assignments=2), *plans, *facts).close(1)
    other = ledger_of(opened(assignments=2), *plans, *facts[::-1]).close(1)
    assert one.batch == other.batch
    assert [fact.lineage for fact in one.batch] == [A0] * 4 + [A1] * 4
    assert one.recorded == {"critic": 2, "planner": 2, "solver": 4}
    assert one.rewards == {"critic": 1.0, "planner": 1.0, "solver": 0.5}
    assert (one.dropped, one.fault_share, one.complete, one.failures) == ({}, 0.0, True, ())


def test_unreadable_replies_are_no_fault() -> None:
    """What the model could not write leaves the batch, is counted, and breaks no group."""
    outcome = ledger_of(
        opened(assignments=1),
        dropped(A0, Role.PLANNER, fault=False),
        earned(A0, Role.SOLVER),
        dropped(A0, Role.SOLVER, fault=False),
    ).close(1)
    assert outcome.recorded == {"solver": 1}
    assert outcome.dropped == {"planner": 1, "solver": 1}
    assert outcome.fault_share == 0.0


def test_fault_takes_the_whole_solver_group() -> None:
    """One attempt without a verdict takes the unit's other attempts with it; the other roles' experiences stay."""
    outcome = ledger_of(
        opened(assignments=2), planned(A0), earned(A0, Role.CRITIC), earned(A0, Role.PLANNER), earned(A0, Role.SOLVER),
        dropped(A0, Role.SOLVER, fault=True), *assignment(A1),
    ).close(1)  # fmt: skip
    assert outcome.complete
    assert outcome.recorded == {"critic": 2, "planner": 2, "solver": 2}
    assert outcome.lost == Counter({Role.SOLVER: 2})
    assert outcome.fault_share == pytest.approx(2 / 8)
    assert outcome.failures == ("solver: no verdict",)


def test_failed_work_closes_its_unit() -> None:
    """All of a failed unit leaves the batch, arrived or not, and the step goes on without it."""
    ledger = ledger_of(opened(assignments=2), *assignment(A1), planned(A0), earned(A0, Role.CRITIC), failed(A0))
    assert ledger.complete(1)
    outcome = ledger.close(1)
    assert outcome.recorded == {"critic": 1, "planner": 1, "solver": 2}
    assert outcome.lost == Counter({Role.SOLVER: 2, Role.CRITIC: 1, Role.PLANNER: 1})
    assert outcome.failures == ("solver: it broke",)


def test_failed_opening_closes_what_had_not_begun() -> None:
    """When the step's own fact could not be worked on, units without a sign of life are lost and the others go on."""
    ledger = ledger_of(opened(1, 1), proposed(C0), judged(C0, quality=0.0), failed("s1", Role.CHALLENGER))
    assert ledger.missing(1) == "c0 lacks 1 challenger, 1 critic"
    assert ledger.close(1).lost == Counter({Role.SOLVER: 2, Role.PLANNER: 1, Role.CHALLENGER: 1, Role.CRITIC: 1})


@pytest.mark.parametrize("fact", [failed("g1.p0"), failed("s1", Role.GATE), failed("s2.a0"), failed("", Role.CRITIC)])
def test_failures_elsewhere_leave_the_step_alone(fact: LedgerFact) -> None:
    """Failed trials, the gate's own failure and other steps' failures close no unit."""
    assert ledger_of(opened(assignments=1), fact).missing(1) == "a0 lacks 1 planner, 2 solver"


def test_deadline_counts_what_is_missing_as_lost() -> None:
    """An expired step is not complete, and a Solver group that lacks a member leaves."""
    ledger = ledger_of(opened(assignments=1), earned(A0, Role.PLANNER), earned(A0, Role.SOLVER), expired())
    assert ledger.complete(1)
    outcome = ledger.close(1)
    assert not outcome.complete
    assert outcome.recorded == {"planner": 1}
    assert outcome.lost == Counter({Role.SOLVER: 2})
    assert outcome.failures == ("solver: its experience never came",)


def test_late_facts_change_nothing() -> None:
    """A step freezes when it completes; a new step forgets it."""
    ledger = ledger_of(opened(assignments=1), *assignment(A0)[1:], planned(A0))
    before = ledger.close(1)
    for fact in (earned(A0, Role.SOLVER, "late"), failed(A0)):
        ledger.fold(fact)
    assert ledger.close(1) == before
    ledger.fold(opened(assignments=1, step=2))
    assert not ledger.complete(1)
    assert ledger.missing(2) == "a0 lacks 1 planner, 2 solver"


def test_what_comes_after_the_deadline_is_not_of_the_step() -> None:
    """A step ends where its `StepExpired` stands in the log; the deadline of another step is none of its business."""
    ledger = ledger_of(opened(assignments=1), earned(A0, Role.PLANNER), expired(step=2))
    assert not ledger.complete(1)
    ledger.fold(expired())
    before = ledger.close(1)
    for fact in (*assignment(A0), failed(A0)):
        ledger.fold(fact)
    assert ledger.close(1) == before
    assert before.recorded == {"planner": 1}


def test_a_deadline_after_completion_changes_nothing() -> None:
    """The last experience may come into the log just before the deadline: then the step is complete after all."""
    ledger = ledger_of(opened(assignments=1), planned(A0), *assignment(A0)[1:], expired())
    assert ledger.close(1).complete


def test_step_without_units_is_complete() -> None:
    """Nothing ordered, nothing waited for, and no fault."""
    ledger = ledger_of(opened())
    assert ledger.complete(1)
    assert ledger.close(1).fault_share == 0.0
