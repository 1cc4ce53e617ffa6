"""Bettors: the numbers that the literature and an exact calculation give, and the properties that make them valid."""

from math import exp, inf, isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gate.bettors import BETTORS, Bettor
from services.gate.bettors.fixed import Fixed
from services.gate.bettors.grid import Grid

COUNT = st.integers(0, 400)
BETTOR = st.one_of(st.floats(0.01, 0.99).map(Fixed), st.just(Grid()))


def crossing(bettor: Bettor, pairs: int, win: float, loss: float, threshold: float = 20.0) -> dict[int, float]:
    """Probability that the wealth reached `threshold` within 1, 2, ... `pairs` pairs; exact, by dynamic programming."""
    goal = log(threshold) - 1e-12
    mass, crossed, by_pair = {(0, 0): 1.0}, 0.0, {}
    for pair in range(1, pairs + 1):
        following: dict[tuple[int, int], float] = {}
        for (wins, losses), share in mass.items():
            steps = ((wins + 1, losses, win), (wins, losses + 1, loss), (wins, losses, 1.0 - win - loss))
            for more_wins, more_losses, chance in steps:
                if chance > 0:
                    state = (more_wins, more_losses)
                    following[state] = following.get(state, 0.0) + share * chance
        mass = {state: share for state, share in following.items() if bettor.log_wealth(*state) < goal}
        crossed += sum(share for state, share in following.items() if state not in mass)
        by_pair[pair] = crossed
    return by_pair


@pytest.mark.parametrize(
    ("bettor", "expected"),
    [
        (Fixed(0.5), {10: 0.0039, 20: 0.0211, 40: 0.0359, 80: 0.0404, 200: 0.0412, 600: 0.0412}),
        (Grid(), {10: 0.0146, 20: 0.0211, 40: 0.0275, 80: 0.0326, 200: 0.0377, 600: 0.0418}),
    ],
)
def test_null_crossing_equals_the_exact_table(bettor: Bettor, expected: dict[int, float]) -> None:
    """A candidate that is no better reaches 20 with the tabled probability, always below alpha."""
    reached = crossing(bettor, 600, 0.5, 0.5)
    assert {pairs: round(reached[pairs], 4) for pairs in expected} == expected


def test_power_equals_a_published_monte_carlo_table() -> None:
    """64 independent pairs at 40 % and 60 %: the admission table of HERD comes out by exact calculation."""
    assert round(crossing(Fixed(0.5), 64, 0.24, 0.24)[64], 3) == 0.031
    assert round(crossing(Fixed(0.5), 64, 0.36, 0.16)[64], 3) == 0.548
    assert round(crossing(Fixed(0.5), 64, 0.36, 0.16, threshold=300.0)[64], 3) == 0.161


@pytest.mark.parametrize(
    ("bettor", "win", "expected"),
    [
        (Fixed(0.5), 0.6, [0.017, 0.107, 0.228, 0.320]),
        (Fixed(0.5), 0.8, [0.168, 0.721, 0.971, 0.999]),
        (Grid(), 0.6, [0.056, 0.098, 0.171, 0.296]),
        (Grid(), 0.8, [0.398, 0.695, 0.948, 0.999]),
    ],
)
def test_power_equals_the_exact_table(bettor: Bettor, win: float, expected: list[float]) -> None:
    """Within 10, 20, 40 and 80 discordant pairs a real gain is found with the tabled probability."""
    reached = crossing(bettor, 80, win, 1 - win)
    assert [round(reached[pairs], 3) for pairs in (10, 20, 40, 80)] == expected


@given(BETTOR, COUNT, COUNT)
def test_wealth_is_a_fair_game_under_the_null(bettor: Bettor, wins: int, losses: int) -> None:
    """When win and loss are equally likely, the mean of the next wealth is the present wealth."""
    now = bettor.log_wealth(wins, losses)
    up, down = bettor.log_wealth(wins + 1, losses) - now, bettor.log_wealth(wins, losses + 1) - now
    assert isclose((exp(up) + exp(down)) / 2, 1.0, rel_tol=1e-9)


@given(BETTOR, COUNT, COUNT)
def test_wealth_grows_with_wins_and_falls_with_losses(bettor: Bettor, wins: int, losses: int) -> None:
    """So the best that can still happen is that all pairs left are wins, which the futility stop relies on."""
    now = bettor.log_wealth(wins, losses)
    assert bettor.log_wealth(wins, losses + 1) < now < bettor.log_wealth(wins + 1, losses) < inf


def test_grid_is_the_mean_of_its_fixed_bettors() -> None:
    """Two wins and one loss, by hand."""
    wealth = sum((1 + share) ** 2 * (1 - share) for share in (0.2, 0.4, 0.6, 0.8)) / 4
    assert isclose(Grid().log_wealth(2, 1), log(wealth), abs_tol=1e-12)


def test_every_bettor_starts_with_wealth_one() -> None:
    """No evidence, no money made."""
    assert all(isclose(make(0.5).log_wealth(0, 0), 0.0, abs_tol=1e-15) for make in BETTORS.values())


@pytest.mark.parametrize("share", [0.0, -0.5, 0.995, 1.0])
def test_a_share_that_bets_nothing_or_everything_is_refused(share: float) -> None:
    """At 1 the first loss would end the test for ever; at 0 it would never move."""
    with pytest.raises(ValueError, match=r"at most 0\.99"):
        Fixed(share)
