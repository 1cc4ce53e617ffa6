"""Tests of the format score against cases worked by hand."""

from __future__ import annotations

import pytest

from shared.messages import Role
from shared.rewards.formats import format_score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("<answer>5</answer>", 1.0),
        ("thinking <answer>5</answer> done", 1.0),
        ("<answer>5</answer><answer>6</answer>", 0.5),
        ("<answer>5", 0.0),
        ("5</answer>", 0.0),
        ("<answer>5</answer></answer>", 0.0),
        ("</answer>5<answer>", 0.0),
        ("just 5", 0.0),
        ("", 0.5),
        (" \n", 0.5),
    ],
)
def test_a_role_with_one_tag(reply: str, score: float):
    """One pair is 1, several balanced pairs a half, anything else 0, and nothing at all a half."""
    assert format_score(Role.SOLVER, reply) == score


def test_the_challenger_owes_two_tags():
    """Its score is the mean over question and check."""
    both = "<question>q</question><check>1 + 1</check>"
    assert format_score(Role.CHALLENGER, both) == 1.0
    assert format_score(Role.CHALLENGER, "<question>q</question><check>1 + 1") == 0.5
    assert format_score(Role.CHALLENGER, both + "<check>2</check>") == 0.75


@pytest.mark.parametrize(
    ("role", "reply"),
    [(Role.CRITIC, "<score>7</score>"), (Role.PLANNER, "<plan>add</plan>"), (Role.SOLVER, "<answer>1</answer>")],
)
def test_each_role_owes_its_own_tag(role: Role, reply: str):
    """Another role's tag earns nothing."""
    assert format_score(role, reply) == 1.0
    assert format_score(role, "<other>7</other>") == 0.0
