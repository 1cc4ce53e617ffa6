"""Real roles on a real recording: what if, what was changed, what was cut off, and the real model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from console.launch import HERE
from console.rerun.compare import Kind
from console.rerun.report import as_json, as_text
from console.rerun.result import Result
from services.gate.service import Gate
from services.gate.service import build as build_gate
from shared.errors import BadInput
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    CandidateJudged,
    Fact,
    Role,
    RunStarted,
    SampleRequested,
    StepClosed,
    StepOpened,
    Verdict,
)
from tests.console.rerun.recordings import COMMIT, HISTORIES, again, changed, facts_of, marks_of, write

CHEAP = [Role.CHALLENGER, Role.PLANNER, Role.SOLVER, Role.CRITIC, Role.VERIFIER, Role.GATE]


def first_fact(result: Result) -> Fact:
    """The first fact that is not the same."""
    assert result.first is not None
    fact = result.first.recorded or result.first.now
    assert fact is not None
    return fact


# --------------------------------------------------------------------------------------------------------- changed thresholds


def test_a_changed_threshold_names_the_first_fact_that_it_changes() -> None:
    """A stricter gate differs from the first wealth on, and the answer says that the commit is gone."""
    result = again(COMMIT, Role.GATE, "gate.alpha=0.01")
    assert not result.identical
    assert result.first is not None
    assert [field.path for field in result.first.fields] == ["log_threshold"]
    assert result.first.causes[-1].type == "RunStarted"
    decision = next(field for field in result.fields if (field.type, field.field) == ("CandidateJudged", "decision"))
    assert (decision.recorded, decision.now) == ("commit", "reject_futile")
    assert 'CandidateJudged.decision: 1 changed, first in g2: "commit" -> "reject_futile"' in as_text(result)


def test_a_broken_role_is_found() -> None:
    """A gate whose code has another threshold than its knob differs as one with another knob does."""

    def broken(run: RunStarted, engine: object) -> Gate:
        gate = build_gate(run, None)  # type: ignore[arg-type]
        return Gate(msgspec.structs.replace(gate._config, alpha=0.01), gate._domain, base=run.base_policy, test_seed=0)

    result = again(COMMIT, Role.GATE, build=broken)
    knob = again(COMMIT, Role.GATE, "gate.alpha=0.01")
    assert first_fact(result).id == first_fact(knob).id


def test_a_knob_that_a_role_does_not_read_changes_nothing() -> None:
    """What if is about the role: another role's threshold leaves it as it is."""
    assert again(COMMIT, Role.VERIFIER, "gate.alpha=0.01").identical


def test_where_the_recording_has_no_answer_the_work_is_named() -> None:
    """A larger budget asks for trials that were never run: the gate stops there, and says what for."""
    result = again(COMMIT, Role.GATE, "gate.max_pairs=30")
    assert result.questions == 8
    assert [(work.type, work.lineage) for work in result.waiting] == [("CandidateNominated", "g1")]
    assert "no answer to 8 questions asked anew" in as_text(result)


def test_a_changed_prompt_is_answered_as_recorded() -> None:
    """A request keeps its name, so the recorded completion answers it, and the change shows in the request."""
    result = again(COMMIT, Role.SOLVER, "sage.beta=1.0")
    assert isinstance(first_fact(result), SampleRequested)
    assert result.answered == sum(isinstance(f, SampleRequested) and f.role is Role.SOLVER for f in facts_of(COMMIT))


@pytest.mark.parametrize(
    "setting", ["gate.alpha=2", "gate.alhpa=0.1", "gaet.alpha=0.1", "gate.alpha", "solver.prompts=none", "run.seed=1"]
)
def test_settings_are_checked_as_those_of_a_run(setting: str) -> None:
    """A mistyped or impossible setting is one line, before anything is run."""
    with pytest.raises(BadInput):
        again(COMMIT, Role.GATE, setting)


# ----------------------------------------------------------------------------------------------------------- changed recordings


def test_a_changed_payload_is_found(tmp_path: Path) -> None:
    """One reward in a recording that is not what the Solver gave."""
    target = [fact for fact in facts_of(COMMIT) if isinstance(fact, AnswerProposed)][7]

    def change(fact: Fact) -> Fact:
        return msgspec.structs.replace(fact, answer="12345") if fact.id == target.id else fact

    result = again(changed(COMMIT, tmp_path / "log.sqlite", change), Role.SOLVER)
    assert first_fact(result).id == target.id
    assert result.first is not None
    assert [(field.path, field.recorded) for field in result.first.fields] == [("answer", "12345")]
    assert sum(row.changed for row in result.by_type) == 1


def test_another_input_leads_to_other_facts(tmp_path: Path) -> None:
    """A grade that was another changes what the Gate says of the pair, and from there on."""

    def change(fact: Fact) -> Fact:
        if isinstance(fact, AnswerGraded) and fact.lineage == "g1.p1.candidate":
            wrong = fact.verdict is Verdict.WRONG
            return msgspec.structs.replace(fact, verdict=Verdict.CORRECT if wrong else Verdict.WRONG)
        return fact

    result = again(changed(COMMIT, tmp_path / "log.sqlite", change), Role.GATE)
    assert (type(first_fact(result)).__name__, first_fact(result).lineage) == ("PairEvaluated", "g1.p1")


def test_the_order_of_independent_work_does_not_matter(tmp_path: Path) -> None:
    """Facts of one step that do not follow from each other may stand in another order."""
    facts = facts_of(COMMIT)
    places = [i for i, fact in enumerate(facts) if isinstance(fact, AnswerGraded) and fact.lineage.startswith("e0")]
    first, last = places[0], places[-1]
    facts[first], facts[last] = facts[last], facts[first]
    assert again(write(tmp_path / "log.sqlite", facts, marks_of(COMMIT)), Role.GATE).identical


@pytest.mark.parametrize("role", CHEAP)
@pytest.mark.parametrize("name", ["commit", "deadline"])
def test_a_recording_cut_off_anywhere_is_still_identical(name: str, role: Role, tmp_path: Path) -> None:
    """Whatever was open at a sudden end is no difference."""
    facts = facts_of(HISTORIES / name / "log.sqlite")
    for length in range(15, len(facts), 29):
        result = again(write(tmp_path / f"{length}.sqlite", facts[:length]), role)
        assert result.identical, as_text(result)


@pytest.mark.parametrize("role", CHEAP)
def test_a_part_that_begins_anywhere_is_identical_too(role: Role, tmp_path: Path) -> None:
    """Context is seen and not worked on: from wherever the work begins, the rest is said as it was."""
    facts, marks = facts_of(COMMIT), marks_of(COMMIT)
    given = []
    for context in range(14, len(facts), 41):
        result = again(write(tmp_path / f"{context}.sqlite", facts, marks, context), role)
        assert result.identical, as_text(result)
        given.append(result.same)
    assert given == sorted(given, reverse=True)
    assert given[0] > given[-1]


def test_a_part_that_lacks_weights_says_which(tmp_path: Path) -> None:
    """The Learner cannot begin with the second step when the first one's weights are gone; without a step it has no work."""
    facts = facts_of(COMMIT)
    opened = [seq for seq, fact in enumerate(facts) if isinstance(fact, StepOpened)]
    with pytest.raises(BadInput, match=r"begins at step 2, and the run's folder no longer has the weights of p[0-9a-f]{16}"):
        again(write(tmp_path / "two.sqlite", facts, {}, opened[1]), Role.LEARNER)
    assert again(write(tmp_path / "none.sqlite", facts, {}, opened[1] + 1), Role.LEARNER).nothing_to_do


# ------------------------------------------------------------------------------------------------------------------ the Learner


def test_other_weights_are_followed_under_the_recorded_names() -> None:
    """With another learning rate every step trains other weights; each is compared, and none is missing."""
    result = again(COMMIT, Role.LEARNER, "learner.lr=0.001")
    counts = {row.type: row for row in result.by_type}
    assert counts["PolicyTrained"].changed == 2
    assert counts["StepClosed"].same == 2
    assert "WorkFailed" not in counts
    assert not sum(row.only_now + row.only_recorded for row in result.by_type)


def test_a_difference_in_weights_says_what_may_round_otherwise(tmp_path: Path) -> None:
    """On another processor than the recorded one the report names both; on the same one it does not."""

    def change(fact: Fact) -> Fact:
        if not isinstance(fact, RunStarted):
            return fact
        return msgspec.structs.replace(fact, versions=fact.versions | {"cpu": "a slide rule"})

    log = changed(COMMIT, tmp_path / "log.sqlite", change)
    assert "cpu a slide rule -> " in as_text(again(log, Role.LEARNER, "learner.lr=0.001"))
    assert "slide rule" not in as_text(again(log, Role.GATE, "gate.alpha=0.01"))


def test_steps_that_end_otherwise_are_seen_before_training(tmp_path: Path) -> None:
    """A lost experience changes how the step closes."""
    experiences = [fact for fact in facts_of(COMMIT) if type(fact).__name__ == "ExperienceRecorded"]
    without = [fact for fact in facts_of(COMMIT) if fact.id != experiences[3].id]
    result = again(write(tmp_path / "log.sqlite", without, {"learner": len(without)}), Role.LEARNER)
    assert isinstance(first_fact(result), StepClosed)


def test_nothing_is_written_beside_the_recording(tmp_path: Path) -> None:
    """Weights of a re-run go to a scratch folder that is gone afterwards."""
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "log.sqlite", facts_of(COMMIT), marks_of(COMMIT))
    before = sorted(folder.iterdir())
    again(folder / "log.sqlite", Role.LEARNER)
    assert sorted(folder.iterdir()) == before


def test_weights_that_are_nowhere_are_asked_for(tmp_path: Path) -> None:
    """A recording of an unknown base policy says how to name its folder; a wrong folder is refused."""

    def change(fact: Fact) -> Fact:
        if not isinstance(fact, RunStarted):
            return fact
        return msgspec.structs.replace(fact, base_policy="p" + 16 * "0", store=str(tmp_path / "gone"))

    log = changed(COMMIT, tmp_path / "log.sqlite", change)
    with pytest.raises(BadInput, match="give its folder with --model FOLDER"):
        again(log, Role.LEARNER)
    with pytest.raises(BadInput, match=r"it holds p[0-9a-f]{16}, but the recording's base policy is p0000"):
        again(log, Role.LEARNER, model=HERE / "models" / "tiny")


# ---------------------------------------------------------------------------------------------------------------- the model


def test_the_real_model_says_what_it_said() -> None:
    """Requests of the base policy, which is at hand, are put to it; the others are answered from the recording."""
    live = again(COMMIT, Role.PLANNER, live=True).live
    assert live is not None
    assert live.asked > 0
    assert live.left_to_the_recording > 0


def test_a_request_that_was_never_asked_is_answered_by_the_model() -> None:
    """What if, with the model: more attempts than recorded get their answers too."""
    recorded = again(COMMIT, Role.SOLVER, "sage.solve_attempts=5")
    live = again(COMMIT, Role.SOLVER, "sage.solve_attempts=5", live=True)
    assert recorded.questions > 0

    def answers(result: Result) -> int:
        return next(row.only_now for row in result.by_type if row.type == "AnswerProposed")

    assert answers(recorded) == 0
    assert answers(live) > 0


def test_a_role_that_asks_no_model_has_none_to_ask() -> None:
    """One line instead of a model loaded for nothing."""
    with pytest.raises(BadInput, match="the verifier asks no model"):
        again(COMMIT, Role.VERIFIER, live=True)
    with pytest.raises(BadInput, match="the solver loads no weights"):
        again(COMMIT, Role.SOLVER, model=Path("models/tiny"))


# ------------------------------------------------------------------------------------------------------------------ the report


def test_the_report_is_whole_as_json_and_short_as_text() -> None:
    """JSON carries both facts and all fields; text is some lines."""
    result = again(COMMIT, Role.GATE, "gate.alpha=0.01")
    document = msgspec.json.decode(as_json(result))
    assert document["first"]["kind"] == Kind.CHANGED
    assert document["first"]["recorded"]["type"] == document["first"]["now"]["type"] == "WealthUpdated"
    assert max(map(len, as_text(result).splitlines())) < 300


def test_the_types_with_most_differences_stand_first() -> None:
    """Whatever changed most is on top, and every changed decision is counted."""
    result = again(COMMIT, Role.GATE, "gate.alpha=0.01")
    differing = [row.changed + row.late + row.only_recorded + row.only_now for row in result.by_type]
    assert differing == sorted(differing, reverse=True)
    judged = [fact for fact in facts_of(COMMIT) if isinstance(fact, CandidateJudged)]
    assert next(row.changed for row in result.by_type if row.type == "CandidateJudged") == len(judged)
