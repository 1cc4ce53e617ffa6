"""Intervals against published and hand-worked values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.intervals import paired_difference, wilson


def test_wilson_against_a_hand_worked_value() -> None:
    """8 of 10: centre (0.8 + 3.8415/20) / (1 + 3.8415/10) = 0.7167, half-width 0.2266 (worked by hand)."""
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_paired_difference_against_the_published_example() -> None:
    """Newcombe 1998, table II: cells 36, 12, 2, 0 give 0.0569 to 0.3404 by method 10."""
    assert paired_difference(36, 12, 2, 0) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_without_discordant_pairs_and_margins_the_interval_is_wilsons() -> None:
    """All 30 right both times: phi is 0 and each arm reaches 1 - 30/33.8415 = 0.1135 (worked by hand)."""
    assert paired_difference(30, 0, 0, 0) == pytest.approx((-0.1135, 0.1135), abs=1e-4)


@given(st.tuples(*[st.integers(0, 400)] * 4).filter(any))
def test_the_interval_holds_the_difference_and_turns_with_the_arms(cells: tuple[int, int, int, int]) -> None:
    """The estimate is inside, the limits stay in [-1, 1], and swapping the arms turns the interval round."""
    both, first, second, neither = cells
    low, high = paired_difference(both, first, second, neither)
    assert -1 - 1e-9 <= low <= (first - second) / sum(cells) + 1e-9
    assert (first - second) / sum(cells) - 1e-9 <= high <= 1 + 1e-9
    swapped = paired_difference(both, second, first, neither)
    assert (low, high) == pytest.approx((-swapped.high, -swapped.low), abs=1e-9)
