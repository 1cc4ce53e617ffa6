"""The paired test: when it decides, what, and that it never changes its mind."""

import copy
from math import exp, isclose, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gate.bettors import Bettor
from services.gate.bettors.fixed import Fixed
from services.gate.bettors.grid import Grid
from services.gate.logic import PairedTest, Tally, compare, wins_needed
from shared.messages import Decision, Verdict

RIGHT, WRONG, NONE = Verdict.CORRECT, Verdict.WRONG, Verdict.NO_VERDICT
WIN, LOSS, TIE, DROP = (WRONG, RIGHT), (RIGHT, WRONG), (RIGHT, RIGHT), (NONE, RIGHT)
PAIRS = st.lists(st.sampled_from([WIN, WIN, LOSS, TIE, DROP]), max_size=80)
KINDS = ("words", "code")


def paper(max_pairs: int = 40) -> PairedTest:
    """The paper's setting: lambda 0.5, alpha 0.05, 40 instances."""
    return PairedTest(Fixed(0.5), max_pairs=max_pairs)


def feed(test: PairedTest, pairs: list[tuple[Verdict, Verdict]], kind: str = "words") -> Decision | None:
    """Feeds all pairs and returns the last decision."""
    for incumbent, candidate in pairs:
        test.feed(kind, incumbent, candidate)
    return test.decision


@pytest.mark.parametrize(
    ("bettor", "alpha", "expected"),
    [
        (Fixed(0.5), 0.05, [8, 10, 11, 13]),
        (Fixed(0.5), 0.01, [12, 14, 15, 17]),
        (Fixed(0.5), 0.10, [6, 8, 10, 11]),
        (Grid(), 0.05, [7, 9, 12, 14]),
        (Grid(), 0.01, [10, 13, 15, 17]),
        (Grid(), 0.10, [6, 8, 10, 12]),
    ],
)
def test_wins_needed_equal_the_exact_table(bettor: Bettor, alpha: float, expected: list[int]) -> None:
    """At 0, 1, 2 and 3 losses."""
    assert [wins_needed(bettor, -log(alpha), losses) for losses in range(4)] == expected


def test_seven_straight_wins_go_on_and_the_eighth_commits() -> None:
    """With lambda 0.5 the wealth is 17.09 and then 25.63, against the threshold of 20."""
    test = paper()
    assert feed(test, [WIN] * 7) is None
    assert round(exp(test.log_wealth), 2) == 17.09
    assert feed(test, [WIN]) is Decision.COMMIT
    assert round(exp(test.log_wealth), 2) == 25.63
    assert isclose(test.p_value, 1 / 1.5**8)
    assert test.reason == "better: wealth 25.63 reached 20 after 8 wins, 0 losses, 0 ties"


def test_thirty_two_ties_of_forty_go_on_and_the_next_is_futile() -> None:
    """With 8 pairs left eight wins would do; with 7 nothing would."""
    test = paper()
    assert feed(test, [TIE] * 32) is None
    assert feed(test, [TIE]) is Decision.REJECT_FUTILE
    assert test.reason == "8 more wins would be needed and only 7 pairs are left"
    assert test.p_value == 1.0


def test_wealth_exactly_at_the_threshold_commits() -> None:
    """Two wins of lambda 0.5 make 2.25, and 1/alpha is the same number up to rounding."""
    test = PairedTest(Fixed(0.5), max_pairs=10, alpha=1 / 2.25)
    assert feed(test, [WIN, WIN]) is Decision.COMMIT


def test_a_clearly_worse_candidate_is_rejected_for_harm() -> None:
    """Eight straight losses: the bettor on losses reaches 20 as the one on wins would have."""
    test = paper()
    assert feed(test, [LOSS] * 7) is None
    assert feed(test, [LOSS]) is Decision.REJECT_HARM
    assert test.reason == "worse overall: wealth 25.63 reached 20 after 0 wins, 8 losses, 0 ties"


def test_a_gain_in_one_kind_does_not_pay_for_a_loss_in_another() -> None:
    """Words gain, code loses: the overall wealth is high and the candidate is refused, with the kind in the reason."""
    test = PairedTest(Grid(), max_pairs=300, kinds=KINDS, min_pairs_per_kind=8)
    for _ in range(6):
        assert feed(test, [WIN] * 2, "words") is None
        assert feed(test, [LOSS], "code") is None
    assert test.log_wealth > 0
    assert feed(test, [LOSS], "code") is Decision.REJECT_HARM
    assert test.reason.startswith("worse in code: wealth ")


def test_no_commit_before_every_kind_was_looked_at() -> None:
    """Decisive evidence waits for the minimum of the other kind, and is not lost by waiting."""
    test = PairedTest(Grid(), max_pairs=300, kinds=KINDS, min_pairs_per_kind=4)
    assert feed(test, [WIN] * 7, "words") is None
    assert test.p_value < 0.05
    assert feed(test, [LOSS, TIE, TIE, DROP], "code") is None
    assert test.log_wealth < test.log_threshold
    assert feed(test, [TIE], "code") is Decision.COMMIT


def test_a_kind_that_never_came_leaves_a_good_candidate_inconclusive_and_says_so() -> None:
    """A silent refusal would look like a broken gate."""
    test = PairedTest(Grid(), max_pairs=20, kinds=KINDS, min_pairs_per_kind=4)
    assert feed(test, [WIN] * 20, "words") is Decision.INCONCLUSIVE
    assert test.reason == "better overall, but kinds with fewer than 4 graded pairs could hide a loss: code (0)"


def test_a_used_up_budget_is_inconclusive() -> None:
    """One win short at the last pair."""
    test = paper(max_pairs=8)
    assert feed(test, [WIN] * 7 + [TIE]) is Decision.INCONCLUSIVE
    assert test.reason == "the budget of 8 pairs is used up with wealth 17.09"


def test_pairs_without_a_verdict_use_the_budget_and_are_no_evidence() -> None:
    """A fault of ours is neither a tie nor a loss; it is counted."""
    test = paper()
    feed(test, [(NONE, RIGHT), (WRONG, NONE), (NONE, NONE), WIN])
    assert test.tally == Tally(wins=1, dropped=3)
    assert (test.pairs_left, test.log_wealth) == (36, log(1.5))


@pytest.mark.parametrize(("pairs", "decision"), [(0, Decision.INCONCLUSIVE), (6, Decision.REJECT_FUTILE), (7, None)])
def test_a_budget_too_small_for_any_commit_is_judged_at_once(pairs: int, decision: Decision | None) -> None:
    """The grid bettor needs seven wins; nothing is asked for where they do not fit."""
    assert PairedTest(Grid(), max_pairs=pairs).decision is decision


def test_a_domain_that_runs_dry_ends_the_budget_early() -> None:
    """Lowering the budget to what is there settles the test as a budget of that size would; raising it does nothing."""
    test = paper()
    feed(test, [WIN] * 5)
    assert test.limit(100) is None
    assert test.pairs_left == 35
    assert test.limit(8) is None
    assert test.limit(7) is Decision.REJECT_FUTILE


def test_a_long_wait_for_a_kind_does_not_overflow() -> None:
    """Thousands of wins in one kind while another is still unseen."""
    test = PairedTest(Grid(), max_pairs=4000, kinds=KINDS, min_pairs_per_kind=1)
    assert feed(test, [WIN] * 3000, "words") is None
    assert feed(test, [WIN], "code") is Decision.COMMIT
    assert "wealth e^" in test.reason


@given(PAIRS, st.sampled_from([Fixed(0.5), Grid()]), st.randoms(use_true_random=False))
def test_wealth_depends_on_counts_and_not_on_order(
    pairs: list[tuple[Verdict, Verdict]], bettor: Bettor, random: object
) -> None:
    """Any order of the same undecided pairs gives the same wealth, overall and by kind."""
    shuffled = sorted(pairs, key=lambda _: random.random())  # type: ignore[attr-defined]
    tests = [PairedTest(bettor, max_pairs=1000, alpha=1e-60, alpha_harm=1e-60) for _ in range(2)]
    for test, order in zip(tests, (pairs, shuffled), strict=True):
        feed(test, order)
        assert test.decision is None
    one, other = tests
    assert (one.tally, one.log_wealth, one.log_harm, one.log_harm_by_kind) == (
        other.tally, other.log_wealth, other.log_harm, other.log_harm_by_kind,
    )  # fmt: skip


@given(PAIRS, PAIRS)
def test_a_decision_is_terminal(before: list[tuple[Verdict, Verdict]], after: list[tuple[Verdict, Verdict]]) -> None:
    """Pairs and limits that come after it change nothing, the counts included."""
    test = PairedTest(Grid(), max_pairs=30)
    feed(test, before + [TIE] * 30)
    state = (test.decision, test.reason, test.tally, test.p_value)
    assert test.decision is not None
    feed(test, after)
    test.limit(0)
    assert (test.decision, test.reason, test.tally, test.p_value) == state


@given(PAIRS)
def test_a_commit_is_exactly_a_p_value_of_at_most_alpha(pairs: list[tuple[Verdict, Verdict]]) -> None:
    """Without kinds to wait for and without harm, the two say the same at every moment."""
    test = PairedTest(Grid(), max_pairs=200, alpha_harm=1e-60)
    feed(test, pairs)
    assert (test.decision is Decision.COMMIT) == (test.p_value <= 0.05)


@given(PAIRS)
def test_futility_never_costs_a_commit(pairs: list[tuple[Verdict, Verdict]]) -> None:
    """Whatever follows a futile verdict, the same bettor without the stop would not have got there."""
    test = PairedTest(Grid(), max_pairs=40, alpha_harm=1e-60)
    if feed(test, pairs) is Decision.REJECT_FUTILE:
        rest = [compare(*pair) for pair in pairs[test.tally.graded + test.tally.dropped : 40]]
        total = test.tally
        for pair in rest:
            total = total.plus(pair)
            assert Grid().log_wealth(total.wins, total.losses) < test.log_threshold


def test_forty_null_instances_cost_and_commit_as_the_exact_table_says() -> None:
    """Walks the real test through all paths of 40 pairs at six discordances: commit probability and mean pairs evaluated."""
    discordance = np.array([0.05, 0.10, 0.15, 0.20, 0.30, 0.50])
    chances = [(WIN, discordance / 2), (LOSS, discordance / 2), (TIE, 1 - discordance)]
    open_tests = {Tally(): (PairedTest(Fixed(0.5), max_pairs=40, alpha_harm=1e-9), np.ones(6))}
    committed, cost = np.zeros(6), np.zeros(6)
    while open_tests:
        following: dict[Tally, tuple[PairedTest, np.ndarray]] = {}
        for test, mass in open_tests.values():
            cost += mass
            for pair, chance in chances:
                after = copy.deepcopy(test)
                if after.feed("words", *pair) is None:
                    _, so_far = following.get(after.tally, (after, np.zeros(6)))
                    following[after.tally] = (after, so_far + mass * chance)
                elif after.decision is Decision.COMMIT:
                    committed += mass * chance
        open_tests = following
    assert committed.round(4).tolist() == [0.0000, 0.0002, 0.0011, 0.0031, 0.0096, 0.0221]
    assert cost.round(1).tolist() == [32.4, 32.0, 31.6, 31.1, 30.2, 28.2]
