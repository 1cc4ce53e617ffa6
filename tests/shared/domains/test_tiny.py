"""The tiny world: its questions mean one thing, its keys are right, and what is held out stays out."""

import random

import pytest

from shared.domains import Split, load_domain
from shared.domains.tiny import LEVELS, draw_on_side, split_of_numbers
from shared.domains.tiny.oracle import key_is_right, read_question
from shared.domains.tiny.problems import KINDS, MAX_TOTAL, Problem, Step, draw_problem
from shared.errors import BadInput


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_oracle_reads_every_question_back_into_its_problem(kind: str, level: int) -> None:
    """The steps behind a question can be read from its text alone."""
    rng = random.Random(level)
    for _ in range(200):
        problem = draw_problem(rng, kind, level)
        read = read_question(problem.question())
        assert read is not None
        assert (read.steps, read.start) == (problem.steps, problem.start)


def test_totals_stay_within_what_a_tiny_model_can_know() -> None:
    """No story ever has a negative total, nor one above the limit."""
    rng = random.Random(1)
    totals = [total for _ in range(500) for total in draw_problem(rng, "words", 4).totals]
    assert min(totals) >= 0
    assert max(totals) <= MAX_TOTAL


def test_a_story_reads_as_a_person_would_write_it() -> None:
    """Question, plan and key of one hand-made problem."""
    problem = Problem("words", (Step("pack", 4, 3), Step("subtract", 5)), 14, "Mia", "pens", wording=0)
    assert problem.question().startswith("Mia has 14 pens. She buys 3 boxes with 4 in each. She ")
    assert problem.question().endswith("How many pens does Mia have now?")
    assert problem.plan() == "start 14; add 3 times 4; subtract 5"
    assert problem.key() == "14 + 3 * 4 - 5"
    assert problem.totals == [26, 21]


@pytest.mark.parametrize(
    ("question", "kind", "check", "right"),
    [
        ("Mia has 14 pens. She buys 9 more. How many pens does Mia have now?", "words", "14 + 9", True),
        ("Mia has 14 pens. She buys 9 more. How many pens does Mia have now?", "words", "14 - 9", False),
        ("Mia has 14 pens. He buys 9 more. How many pens does Mia have now?", "words", "14 + 9", None),
        ("Mia has 14 pens. She buys 9 more. How many caps does Mia have now?", "words", "14 + 9", None),
        ("Mia has 4 pens. She sells 9. How many pens does Mia have now?", "words", "4 - 9", None),
        ("Write f(x): add 3, then multiply by 2.", "code", "def f(x):\n    x += 3\n    x *= 2\n    return x", True),
        ("Write f(x): add 3, then multiply by 2.", "code", "def f(x):\n    x *= 2\n    x += 3\n    return x", False),
        ("Write f(x): add, then multiply by 2.", "code", "def f(x):\n    x *= 2\n    return x", None),
    ],
)
def test_the_oracle_tells_right_keys_from_wrong_and_ill_posed_ones(
    question: str, kind: str, check: str, right: bool | None
) -> None:
    """Right, wrong, and no answer at all."""
    assert key_is_right(question, kind, check) is right


def test_all_seed_keys_are_right_and_on_the_training_side() -> None:
    """Seed tasks are different, correct and never held out."""
    seeds = load_domain({"name": "tiny"}).seeds(400, seed=3)
    assert len({task.question for task, _ in seeds}) == 400
    assert all(key_is_right(task.question, task.kind, key.check) for task, key in seeds)
    assert {split_of_numbers(task.question) for task, _ in seeds} == {Split.TRAIN}


def test_held_out_streams_do_not_repeat_and_stay_on_their_side() -> None:
    """A gate stream and the test stream share no question and no number sequence with each other or with the seeds."""
    domain = load_domain({"name": "tiny"})
    gate = [domain.instance(Split.GATE, 5, i)[0] for i in range(300)]
    test = [domain.instance(Split.TEST, 5, i)[0] for i in range(600)]
    assert len({task.question for task in gate}) == 300
    assert len({task.question for task in test}) == 600
    assert all(domain.split_of(task.question) is Split.GATE for task in gate)
    assert all(domain.split_of(task.question) is Split.TEST for task in test)
    assert {task.kind for task in test} == set(KINDS)


def test_a_stream_is_the_same_however_it_is_read() -> None:
    """Index and seed name an instance, whatever was asked before."""
    one, two = load_domain({"name": "tiny"}), load_domain({"name": "tiny"})
    assert one.instance(Split.GATE, 9, 40) == [two.instance(Split.GATE, 9, i) for i in range(41)][-1]


def test_the_side_follows_from_the_numbers_alone() -> None:
    """Another name, another wording: the same side."""
    problem = draw_on_side(random.Random(2), Split.TEST, "words", 3)
    assert split_of_numbers(problem.question().replace(problem.name, "Zoe")) is Split.TEST


def test_no_seed_tasks_at_all_are_refused() -> None:
    """The dataset cannot start empty."""
    with pytest.raises(BadInput, match="at least 1 seed task"):
        load_domain({"name": "tiny", "seeds": 0}).seeds(0, seed=1)
