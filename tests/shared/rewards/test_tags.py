"""Tests of reading tagged replies."""

from __future__ import annotations

from shared.rewards.tags import TagCount, count_tag, last_body


def test_the_last_complete_pair_counts():
    """A writer who corrects itself does so later; an opening that never closes is no pair."""
    assert last_body("<answer>1</answer> no, <answer> 2 </answer> or <answer>3", "answer") == "2"


def test_the_innermost_opening_starts_a_body():
    """A tag opened twice before it closes starts at the second opening."""
    assert last_body("<plan>draft <plan>add 9</plan>", "plan") == "add 9"


def test_an_empty_or_missing_pair_has_no_body():
    """Nothing between the tags is as good as no tags."""
    assert last_body("<answer> \n </answer>", "answer") is None
    assert last_body("", "answer") is None
    assert last_body("</answer>5<answer>", "answer") is None


def test_common_indentation_is_taken_off_and_inner_indentation_stays():
    """Code keeps its shape."""
    assert last_body("<answer>\n  def f(x):\n    return x\n</answer>", "answer") == "def f(x):\n  return x"


def test_case_of_tags_does_not_matter():
    """Models write tags in any case."""
    assert last_body("<Score>7</SCORE>", "score") == "7"


def test_counting_finds_unbalanced_tags():
    """Balanced means that every opening and closing belongs to a pair."""
    assert count_tag("<a>x</a><a>y</a>", "a") == TagCount(2, 2, 2)
    assert count_tag("<a>x</a><a>y</a>", "a").balanced
    assert not count_tag("<a>x</a><a>", "a").balanced
    assert not count_tag("</a>x<a>", "a").balanced
    assert not count_tag("none", "a").balanced
