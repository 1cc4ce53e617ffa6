"""Tests of the dataset's fold and draws."""

from __future__ import annotations

import pytest

from shared.dataset import Dataset, normalised
from shared.errors import BadInput
from shared.messages import Task
from tests.builders import task, task_accepted, task_seeded


def filled(count: int, *, backwards: bool = False) -> Dataset:
    """A dataset of `count` tasks, kinds in turn."""
    dataset = Dataset()
    tasks = [task(f"Question {i}?", kind="words" if i % 2 else "code") for i in range(count)]
    for one in reversed(tasks) if backwards else tasks:
        dataset.observe(task_seeded(task=one))
    return dataset


def ids(tasks: list[Task]) -> list[str]:
    """The tasks' ids."""
    return [one.id for one in tasks]


def test_seeded_and_accepted_tasks_join_once():
    """The same fact again changes nothing."""
    dataset = Dataset()
    for fact in (task_seeded(task=task("A?")), task_accepted(task=task("B?")), task_seeded(task=task("A?"))):
        dataset.observe(fact)
    assert len(dataset) == 2


def test_the_same_question_is_known_whatever_its_case_and_blanks():
    """Only differences that matter make another question; a full-width digit does not."""
    dataset = Dataset()
    dataset.observe(task_seeded(task=task("Mia has  14 pens.\n")))
    assert dataset.holds("mia HAS 14 pens.")
    assert dataset.holds("Mia has １４ pens.")
    assert not dataset.holds("Mia has 15 pens.")
    assert normalised(" A\tb ") == "a b"


def test_the_past_is_a_size():
    """What joined later is neither known nor drawn in an earlier state."""
    dataset = filled(3)
    dataset.observe(task_accepted(task=task("Late?")))
    assert not dataset.holds("Late?", 3)
    assert dataset.holds("Late?")
    assert all(one.question != "Late?" for one in dataset.draw(30, 1, size=3))


def test_a_draw_does_not_depend_on_the_order_of_joining():
    """The set of tasks and the seed decide."""
    assert ids(filled(20).draw(5, 7)) == ids(filled(20, backwards=True).draw(5, 7))
    assert ids(filled(20).draw(5, 7)) != ids(filled(20).draw(5, 8))


def test_no_task_comes_twice_before_all_came():
    """A draw longer than the dataset starts over."""
    drawn = ids(filled(4).draw(10, 3))
    assert len(set(drawn[:4])) == len(set(drawn[4:8])) == 4
    assert len(drawn) == 10


def test_a_draw_can_be_of_some_kinds():
    """Only the kinds asked for."""
    assert {one.kind for one in filled(10).draw(5, 1, kinds=["code"])} == {"code"}


def test_an_empty_dataset_says_so():
    """Drawing from nothing is a mistake of the set-up; drawing nothing is none."""
    with pytest.raises(BadInput, match="holds no task of kind math"):
        filled(4).draw(1, 1, kinds=["math"])
    assert Dataset().draw(0, 1) == []


def test_draws_are_roughly_uniform():
    """Over many seeds each of ten tasks is drawn first about equally often."""
    dataset = filled(10)
    firsts = [dataset.draw(1, seed)[0].id for seed in range(2000)]
    assert all(140 < firsts.count(one) < 260 for one in set(firsts))
    assert len(set(firsts)) == 10
