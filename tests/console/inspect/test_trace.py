"""One task's life, on a real run and on trees made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.inspect.branches import story_lines
from console.inspect.cat import Found
from console.inspect.story import Story, tell
from console.inspect.tree import Node, grown
from console.recording import LOG_NAME, Recording
from shared.messages import (
    AnswerProposed,
    CandidateJudged,
    Decision,
    PolicyTrained,
    SampleCompleted,
    SampleRequested,
    StepOpened,
    TaskAccepted,
    TaskAssigned,
    TaskProposed,
    TaskSeeded,
)
from tests.builders import answer_proposed, run_started, step_opened
from tests.console.inspect.recordings import REAL, complaint, sagepace


@pytest.fixture(scope="module")
def real() -> Iterator[Recording]:
    """The real run."""
    with Recording(REAL / LOG_NAME) as recording:
        yield recording


def facts_of(recording: Recording, kind: type[Any]) -> list[Found]:
    """All facts of a type."""
    return [Found(*each) for each in recording.facts([kind])]


def tree_of(story: Story) -> dict[str, Any]:
    """The first tree's shape: names, nested."""

    def shape(node: Node) -> dict[str, Any]:
        return {type(node.found.fact).__name__: [shape(child) for child in node.children]}

    return shape(grown(story.facts)[0])


def test_a_new_tasks_life_is_a_tree_of_causes(real: Recording) -> None:
    """From the step's opening through proposal, check, judgement, attempts and grades to the experiences."""
    proposed = next(
        found for found in facts_of(real, TaskProposed)
        if any(attempt.fact.lineage == found.fact.lineage for attempt in facts_of(real, AnswerProposed))
    )  # fmt: skip
    story = tell(real, proposed.fact.lineage)
    assert [type(found.fact) for found in story.causes] == [StepOpened]
    (proposal,) = grown(story.facts)
    assert proposal.found.fact == proposed.fact
    below = {next(iter(child)) for child in tree_of(story)["TaskProposed"]}
    assert below >= {"TaskChecked", "ExperienceRecorded"}
    checked = next(child for child in proposal.children if type(child.found.fact).__name__ == "TaskChecked")
    judged = next(child for child in checked.children if type(child.found.fact).__name__ == "TaskJudged")
    answers = [child for child in judged.children if isinstance(child.found.fact, AnswerProposed)]
    assert answers
    for answer in answers:
        assert type(answer.children[0].found.fact).__name__ == "AnswerGraded"
        assert answer.sample is not None
        assert answer.request is not None
        assert answer.sample.request == answer.request.id


def test_the_proposals_own_sample_is_found_in_the_steps_lineage(real: Recording) -> None:
    """The Challenger's sample hangs from the step, not from the unit; the story brings it along."""
    story = tell(real, facts_of(real, TaskProposed)[0].fact.lineage)
    (proposal,) = grown(story.facts)
    assert proposal.sample is not None
    assert "." not in proposal.sample.lineage


def test_what_came_of_it_follows_by_step_number(real: Recording) -> None:
    """The gradient step of its step, and the Gate's tests up to the first that commits or takes back."""
    step = min(found.fact.step for found in facts_of(real, TaskProposed))
    story = tell(real, f"s{step}.c0")
    assert [found.fact.step for found in story.learnt] == [step, step]
    assert isinstance(story.learnt[-1].fact, PolicyTrained)
    decisions = [found.fact for found in story.tested if isinstance(found.fact, CandidateJudged)]
    assert [fact.decision is Decision.COMMIT for fact in decisions] == [False] * (len(decisions) - 1) + [True]
    assert min(fact.step for fact in decisions) >= step


def test_an_assigned_task_leads_back_to_where_it_came_from(real: Recording) -> None:
    """Its seed, or its proposal and acceptance; and to the other times it was drawn."""
    for assigned in facts_of(real, TaskAssigned):
        story = tell(real, assigned.fact.lineage)
        origin = {type(found.fact) for found in story.origin}
        assert origin in ({TaskSeeded}, {TaskProposed, TaskAccepted})
        assert all(found.fact.task.id == assigned.fact.task.id for found in story.origin)
        assert assigned.fact.lineage not in [each.assigned.fact.lineage for each in story.assignments]


def test_a_task_is_found_by_its_id_a_fact_by_its_beginning_and_its_number(real: Recording) -> None:
    """All ways lead to the same unit; the fact that was meant is marked."""
    proposed = facts_of(real, TaskProposed)[0]
    unit = proposed.fact.lineage
    assert (tell(real, proposed.fact.task.id).unit, tell(real, proposed.fact.task.id).marked) == (unit, "")
    for target in (proposed.fact.id, proposed.fact.id[:10], f"#{proposed.seq}"):
        assert (tell(real, target).unit, tell(real, target).marked) == (unit, proposed.fact.id)


def test_a_sample_belongs_to_the_unit_that_was_made_from_it(real: Recording) -> None:
    """Also one that hangs from the step, and its request."""
    proposed = facts_of(real, TaskProposed)[0].fact
    row = real.reader.with_id(proposed.sample)
    assert row is not None
    assert tell(real, row.id).unit == proposed.lineage
    assert tell(real, row.cause).unit == proposed.lineage


def test_a_pair_of_the_gate_has_its_trials_and_its_verdict(real: Recording) -> None:
    """Both arms hang from the nomination; only this test is told."""
    judged = facts_of(real, CandidateJudged)[0].fact
    story = tell(real, f"{judged.lineage}.p0")
    text = "\n".join(story_lines(story, full=False))
    assert "TrialRequested" in text
    assert "[incumbent]" in text
    assert "[candidate]" in text
    assert {found.fact.step for found in story.tested} == {judged.step}
    assert story.learnt == []


def test_it_is_printed_for_people_and_for_programs() -> None:
    """Samples in one line each, or whole with --full; JSON nests what the lines indent, tokens left out unless asked for."""
    lines = sagepace("log", "trace", REAL, "s1.a0").stdout.splitlines()
    assert lines[0].startswith("s1.a0: task ")
    assert lines[1].startswith("StepOpened #")
    assert lines[2].startswith("└─ TaskAssigned #")
    assert sum("reply (" in line for line in lines) >= 3
    full = sagepace("log", "trace", REAL, "s1.a0", "--full").stdout
    assert "user: " in full
    assert len(full) > sum(map(len, lines))
    told = json.loads(sagepace("log", "trace", REAL, "s1.a0", "--json").stdout)
    assert told["tree"][0]["fact"] == "TaskAssigned"
    assert told["tree"][0]["children"][0]["cause"] == told["tree"][0]["id"]
    assert isinstance(told["tree"][0]["children"][0]["sample"]["completion_ids"], int)
    whole = json.loads(sagepace("log", "trace", REAL, "s1.a0", "--json", "--full").stdout)
    assert isinstance(whole["tree"][0]["children"][0]["sample"]["completion_ids"], list)


def test_what_is_not_there_is_said_in_one_line() -> None:
    """Unknown ids, unknown units, and beginnings that several ids share."""
    assert "no fact, task or unit of work" in complaint("log", "trace", REAL, "zebra")
    assert "no fact, task or unit of work" in complaint("log", "trace", REAL, "s99.c1")
    assert "several ids begin so" in complaint("log", "trace", REAL, "a")
    assert "no fact, task or unit of work" in complaint("log", "trace", REAL, "#999999")
    assert "no fact, task or unit of work" in complaint("log", "trace", REAL, "")


def found(number: int, fact: Any) -> Found:
    """A fact at this place."""
    return Found(number, number, fact)


def test_samples_go_with_the_first_fact_that_names_them() -> None:
    """A request without an answer, and an answer that nothing names, stand for themselves."""
    step = step_opened()
    requests = [
        SampleRequested(role="solver", policy="p", turns=(), sampling={}, seed=n, template="t", id=f"q{n}", cause=step.id)  # type: ignore[arg-type]
        for n in range(3)
    ]
    replies = [
        SampleCompleted(
            request=f"q{n}", role="solver", policy="p", prompt_ids=(), completion_ids=(1,), logprobs=(0.0,),  # type: ignore[arg-type]
            text="x", finish="stop", id=f"r{n}", cause=f"q{n}",
        )
        for n in range(2)
    ]  # fmt: skip
    answers = [answer_proposed(sample="r0", attempt=n, cause=step.id) for n in range(2)]
    facts = [found(n, fact) for n, fact in enumerate([step, *requests, *replies, *answers])]
    (root,) = grown(facts)
    kinds = [(type(child.found.fact).__name__, child.found.fact.id, child.sample is not None) for child in root.children]
    assert kinds == [
        ("SampleRequested", "q1", False),
        ("SampleRequested", "q2", False),
        ("AnswerProposed", answers[0].id, True),
        ("AnswerProposed", answers[1].id, False),
    ]
    assert [child.found.fact.id for child in root.children[0].children] == ["r1"]


@given(st.lists(st.integers(0, 30), max_size=30))
def test_every_fact_has_one_place_in_the_trees(causes: list[int]) -> None:
    """Whatever the causes are: earlier ones, unknown ones, itself."""
    facts = []
    for number, cause in enumerate(causes):
        facts.append(found(number, run_started(id=f"f{number}", cause=f"f{cause}" if cause < number else f"outside{cause}")))

    def count(node: Node) -> int:
        return 1 + sum(map(count, node.children))

    assert sum(map(count, grown(facts))) == len(causes)


def test_a_fact_without_a_unit_is_told_with_all_that_hangs_from_it(real: Recording) -> None:
    """The run's first fact belongs to no step: its story is its own."""
    story = tell(real, "#1")
    assert (story.unit, story.task, story.causes) == ("", None, [])
    assert story.marked == story.facts[0].fact.id
