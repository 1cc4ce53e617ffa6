"""The outcome is a pure fold of the log's facts."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from console.intervals import paired_difference
from console.outcome import compare, outcome_of
from console.outcome_report import headline, print_outcome, save_outcome
from shared.messages import (
    CandidateJudged,
    Decision,
    EvaluationCompleted,
    Fact,
    Key,
    KindCount,
    PolicyCommitted,
    PolicyTrained,
    RunEnded,
    RunStarted,
    Task,
    TaskAccepted,
    TaskProposed,
)

COUNTS = (
    KindCount(kind="words", level=1, total=100, base_correct=50, final_correct=70, both_correct=45),
    KindCount(kind="words", level=2, total=100, base_correct=20, final_correct=30, both_correct=15, no_verdict=1),
    KindCount(kind="code", level=1, total=200, base_correct=90, final_correct=88, both_correct=80),
    KindCount(kind="code", level=2, total=0, base_correct=0, final_correct=0, both_correct=0),
)
EVALUATION = EvaluationCompleted(base="b0", final="c1", temperature=1.0, counts=COUNTS)


def judged(step: int, decision: Decision) -> CandidateJudged:
    """A candidate's verdict after 30 wins and 10 losses."""
    return CandidateJudged(
        step=step, candidate=f"c{step}", incumbent="b0", decision=decision, reason="", wins=30, losses=10, ties=60, dropped=0,
        p_value=0.01, log_wealth=3.1, log_harm=-2.0,
    )  # fmt: skip


FACTS: list[Fact] = [
    RunStarted(seed=7, config={"run": {"name": "tiny"}}, base_policy="b0", store="out/tiny/policies"),
    PolicyTrained(step=1, policy="c1", parent="b0", metrics={}),
    judged(1, Decision.INCONCLUSIVE),
    PolicyTrained(step=2, policy="c2", parent="c1", metrics={}),
    judged(2, Decision.COMMIT),
    PolicyCommitted(step=2, policy="c2", parent="b0"),
    EVALUATION,
    RunEnded(ok=True, reason="evaluated"),
]


def test_rows_are_all_kinds_and_levels() -> None:
    """One row for all, one a kind, one a level where a kind has several; an empty cell has no row."""
    rows = compare(EVALUATION)
    assert [(row.kind, row.level, row.total) for row in rows] == [
        ("all", None, 400), ("code", None, 200), ("words", None, 200), ("words", 1, 100), ("words", 2, 100),
    ]  # fmt: skip


def test_the_interval_is_that_of_the_paired_counts() -> None:
    """400 tasks, 160 and 188 right, 140 by both: 48 only by the committed policy, 20 only by the base, 192 by neither."""
    row = compare(EVALUATION)[0]
    assert (row.base, row.final) == (0.4, 0.47)
    assert (row.low, row.high) == paired_difference(140, 48, 20, 192)
    assert row.difference == pytest.approx(0.07)
    assert row.low < row.difference < row.high


def test_the_fold_tells_what_was_committed_and_decided() -> None:
    """Steps, the committed policy, the decisions in order and the last word come from the facts."""
    outcome = outcome_of(FACTS, "out/tiny/log")
    assert (outcome.name, outcome.seed, outcome.steps, outcome.base, outcome.committed) == ("tiny", 7, 2, "b0", "c2")
    assert [d.decision for d in outcome.decisions] == [Decision.INCONCLUSIVE, Decision.COMMIT]
    assert outcome.ok is True


def test_without_a_commit_the_base_stays_committed() -> None:
    """A run that commits nothing says so."""
    outcome = outcome_of(FACTS[:3], "log")
    assert outcome.committed == "b0"
    assert "the base policy stays committed" in headline(outcome)
    assert "unfinished" in headline(outcome)


def test_plain_text_without_a_terminal() -> None:
    """Without a terminal the outcome is plain text with the table, the decisions and the places."""
    out = StringIO()
    print_outcome(outcome_of(FACTS, "out/tiny/log"), Console(file=out, width=110))
    text = out.getvalue()
    assert "\x1b" not in text
    assert "40.0%" in text and "47.0%" in text and "+7.0" in text
    assert "step 1 inconclusive (30W 10L 60T), step 2 commit" in text
    assert "out/tiny/policies" in text and "out/tiny/log" in text


def test_the_saved_outcome_is_json(tmp_path: Path) -> None:
    """`outcome.json` holds the rows and nothing half-written lies beside it."""
    path = save_outcome(outcome_of(FACTS, "log"), tmp_path)
    saved = json.loads(path.read_text())
    assert saved["comparisons"][0]["total"] == 400
    assert [p.name for p in tmp_path.iterdir()] == ["outcome.json"]


def invented(question: str, check: str) -> tuple[TaskProposed, TaskAccepted]:
    """A task of the tiny world that joined the dataset."""
    task = Task(f"t-{check}", question, "words")
    proposed = TaskProposed(
        step=1, slot=0, policy="b0", task=task, key=Key(check), references=(), sample="s", format=1.0
    )  # fmt: skip
    return proposed, TaskAccepted(step=1, slot=0, task=task, quality=1.0, difficulty=0.5)


def test_the_keys_of_invented_tasks_are_measured_by_the_oracle() -> None:
    """Right, wrong and ill-posed ones are counted, where the domain has an oracle; elsewhere nothing is claimed."""
    story = "Mia has 14 pens. She buys 9 more. How many pens does Mia have now?"
    tasks = [*invented(story, "14 + 9"), *invented(story, "14 - 9"), *invented(story.replace("She", "He"), "9 + 14")]
    start = RunStarted(seed=7, config={"domain": {"name": "tiny"}}, base_policy="b0", store="")
    keys = outcome_of([start, *tasks], "log").keys
    assert keys is not None
    assert (keys.right, keys.wrong, keys.ill_posed) == (1, 1, 1)
    assert keys.wrong_share == pytest.approx(2 / 3)
    other = RunStarted(seed=7, config={"domain": {"name": "questions"}}, base_policy="b0", store="")
    assert outcome_of([other, *tasks], "log").keys is None
