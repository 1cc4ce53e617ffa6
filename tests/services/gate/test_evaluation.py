"""The final evaluation's counts."""

from services.gate.evaluation import count
from shared.messages import KindCount, Task, Verdict

RIGHT, WRONG, NONE = Verdict.CORRECT, Verdict.WRONG, Verdict.NO_VERDICT


def test_counts_are_paired_and_sorted_by_kind_and_level() -> None:
    """A task without a verdict is counted apart and is in no total."""
    words = Task(id="w", question="?", kind="words", level=1)
    code = Task(id="c", question="?", kind="code", level=2)
    results = [(words, RIGHT, RIGHT), (words, WRONG, RIGHT), (words, RIGHT, WRONG), (words, NONE, RIGHT), (code, WRONG, NONE)]
    assert count(results) == (
        KindCount(kind="code", level=2, total=0, base_correct=0, final_correct=0, both_correct=0, no_verdict=1),
        KindCount(kind="words", level=1, total=3, base_correct=2, final_correct=2, both_correct=1, no_verdict=1),
    )


def test_no_results_give_no_counts() -> None:
    """A test split without tasks is reported empty."""
    assert count([]) == ()


def test_a_single_task_counts_in_whole_numbers() -> None:
    """The wire knows numbers from yes and no: a cell with one task must not hold a bool."""
    (only,) = count([(Task("t", "?", "words", 2), Verdict.WRONG, Verdict.CORRECT)])
    assert [type(number) for number in (only.base_correct, only.final_correct, only.both_correct)] == [int, int, int]
    assert (only.total, only.base_correct, only.final_correct, only.both_correct) == (1, 0, 1, 0)
