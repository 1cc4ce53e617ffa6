"""One learner step of the whole system in one event loop: real model, real learner, real gate, real verifier."""

from collections import Counter
from pathlib import Path
from typing import TypeVar

from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    CandidateJudged,
    CandidateNominated,
    EvaluationCompleted,
    ExperienceRecorded,
    Fact,
    PairEvaluated,
    PlanMalformed,
    PlanProposed,
    PolicyCommitted,
    PolicyTrained,
    Purpose,
    RunStarted,
    SampleCompleted,
    StepClosed,
    TaskAccepted,
    TaskAssigned,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    WorkFailed,
)
from tests.loop.small_run import one_step, said

F = TypeVar("F", bound=Fact)


def of(facts: list[Fact], kind: type[F]) -> list[F]:
    """The facts of one type."""
    return [fact for fact in facts if isinstance(fact, kind)]


def test_whatever_was_started_ends_in_a_fact(log: list[Fact]) -> None:
    """Challenges end accepted, refused or malformed; assignments end in graded answers; nothing failed."""
    proposed = {fact.task.id for fact in of(log, TaskProposed)}
    accepted, refused = ({fact.task.id for fact in facts} for facts in (of(log, TaskAccepted), of(log, TaskRefused)))
    assert proposed == accepted | refused
    assert not accepted & refused
    assert len(proposed) + len(of(log, TaskMalformed)) == 4
    assert len(of(log, TaskAssigned)) == len(of(log, PlanProposed)) + len(of(log, PlanMalformed)) == 3
    solved = [fact for fact in of(log, AnswerGraded) if fact.purpose is Purpose.SOLVE]
    assert Counter(fact.lineage for fact in solved) == {f"s1.a{slot}": 4 for slot in range(3)}
    assert len(of(log, AnswerProposed)) == len(of(log, AnswerGraded))
    assert not of(log, WorkFailed)


def test_the_learner_trains_on_what_was_sampled(log: list[Fact]) -> None:
    """Every experience names a completion of its role in the log, and recomputed log-probabilities equal recorded ones."""
    completed = {fact.id: fact for fact in of(log, SampleCompleted)}
    experiences = of(log, ExperienceRecorded)
    assert {completed[fact.sample].role for fact in experiences} == {"challenger", "critic", "planner", "solver"}
    assert all(completed[fact.sample].role == fact.role for fact in experiences)
    closed, trained = of(log, StepClosed)[0], of(log, PolicyTrained)[0]
    assert closed.complete
    assert sum(closed.recorded.values()) == len(experiences)
    assert trained.metrics["logprob_gap_max"] < 1e-4
    assert trained.policy != trained.parent


def test_the_gate_judges_the_candidate_on_pairs(log: list[Fact]) -> None:
    """The nomination ends in a decision that counts the pairs which were evaluated."""
    nominated, judged = of(log, CandidateNominated)[0], of(log, CandidateJudged)[0]
    assert (judged.candidate, judged.incumbent) == (nominated.candidate, nominated.incumbent)
    assert judged.wins + judged.losses + judged.ties + judged.dropped == len(of(log, PairEvaluated))
    assert sum(count.total for count in of(log, EvaluationCompleted)[0].counts) == 6


async def test_the_same_seed_says_the_same(log: list[Fact], tmp_path: Path, tiny_model: Path) -> None:
    """Level 1 of docs/decisions.md: another folder, another order of arrival, the same facts byte for byte."""
    again = await one_step(tmp_path, tiny_model, "run.seed=5")
    assert said(again) == said(log)


async def test_another_seed_says_something_else(log: list[Fact], tmp_path: Path, tiny_model: Path) -> None:
    """The seed is not decoration: no fact but the seeds' own survives it."""
    other = await one_step(tmp_path, tiny_model, "run.seed=6")
    assert not said(other).keys() & said(log).keys()


async def test_without_learning_nothing_is_committed(tmp_path: Path, tiny_model: Path) -> None:
    """At learning rate 0 every policy is the base, bit for bit, and the gate commits nothing."""
    facts = await one_step(tmp_path, tiny_model, "run.seed=5", "learner.lr=0")
    base = of(facts, RunStarted)[0].base_policy
    assert {fact.policy for fact in of(facts, PolicyTrained)} == {base}
    assert not of(facts, PolicyCommitted)
    assert [fact.decision for fact in of(facts, CandidateJudged)] == ["inconclusive"]
