"""Prompt templates: turns, places, and values that are left as they are."""

from pathlib import Path

import pytest

from shared.messages import Task, Turn
from shared.prompts import MissingTemplate, Template, load_templates


def test_a_file_without_turn_lines_is_one_user_turn() -> None:
    """The terse templates are like that."""
    prompt = Template("solve\n{question}\n").render(Task("t", "1 + 1?", "math"))
    assert prompt.turns == (Turn("user", "solve\n1 + 1?"),)


def test_turn_lines_cut_a_file_into_turns() -> None:
    """System and user turns, without the blank lines around them."""
    template = Template("--- system ---\nBe brief.\n\n--- user ---\n\n{question}\n{plan}\n")
    assert template.places == {"question", "plan"}
    assert template.render(question="Q", plan="P").turns == (Turn("system", "Be brief."), Turn("user", "Q\nP"))


def test_braces_inside_a_value_stay_as_they_are() -> None:
    """A question that contains {plan} is not filled a second time."""
    assert Template("{question} {plan}").render(question="{plan}", plan="p").turns[0].content == "{plan} p"


def test_the_hash_follows_the_wording() -> None:
    """Another wording, another hash: it shows in the log."""
    assert Template("a {question}").hash == Template("a {question}").hash != Template("b {question}").hash


def test_a_missing_set_names_those_that_exist(tmp_path: Path) -> None:
    """The usual mistake: a mistyped set."""
    (tmp_path / "prompts" / "terse").mkdir(parents=True)
    with pytest.raises(MissingTemplate, match=r"no prompt set 'ters' .*there are: terse"):
        load_templates(tmp_path, "ters")
