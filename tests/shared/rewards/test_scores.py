"""Tests of reading the Critic's score against cases worked by hand."""

from __future__ import annotations

import pytest

from shared.rewards.rules import SageRules
from shared.rewards.scores import quality_from


@pytest.mark.parametrize(
    ("body", "quality"),
    [
        ("1", 0.0),
        ("10", 1.0),
        ("4", 3 / 9),
        (" 7 ", 6 / 9),
        ("7.3", 6.3 / 9),
        ("0.75", 0.75),
        ("0.0", 0.0),
        ("8/10", 0.8),
        ("3 / 4", 0.75),
        ("0", None),
        ("11", None),
        ("10.5", None),
        ("12/10", None),
        ("8/0", None),
        ("-3", None),
        ("seven", None),
        ("8 or 9", None),
        ("8-10", None),
        ("", None),
        ("nan", None),
        ("1e1", None),
        ("9" * 4000, None),
    ],
)
def test_a_score_between_tags(body: str, quality: float | None):
    """Fractions and decimals up to 1 pass, one to ten is (s-1)/9, everything else is no score."""
    read = quality_from(f"clear enough <score>{body}</score>", SageRules())
    assert read == (pytest.approx(quality) if quality is not None else None)


def test_a_number_outside_the_tag_is_no_score():
    """There is no fallback to the last number of a text: it can be gamed."""
    assert quality_from("I give it 9", SageRules()) is None
    assert quality_from("<score>9", SageRules()) is None


def test_the_last_score_counts():
    """A second thought replaces the first."""
    assert quality_from("<score>2</score> rather <score>10</score>", SageRules()) == 1.0


def test_the_literal_norm_pays_the_worst_score_most():
    """The paper's formula read literally, kept as a switch: 1 is within [0, 1] and stays 1."""
    literal = SageRules(norm="literal")
    assert quality_from("<score>1</score>", literal) == 1.0
    assert quality_from("<score>0</score>", literal) == 0.0
    assert quality_from("<score>10</score>", literal) == 1.0
    assert quality_from("<score>4</score>", literal) == pytest.approx(3 / 9)
    assert quality_from("<score>11</score>", literal) is None


def test_an_unreadable_score_can_be_the_papers_half():
    """Only on request is a number made up."""
    assert quality_from("no score", SageRules(unreadable_score="half")) == 0.5
