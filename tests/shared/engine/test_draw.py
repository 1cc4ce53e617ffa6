"""Random numbers that belong to a request, and tokens that follow the model's distribution."""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats

from shared.engine.draw import draw, uniforms


def test_tokens_follow_the_distribution() -> None:
    """Over 20,000 seeds the frequencies agree with softmax(logits / T) by a chi-square test."""
    logits = torch.randn(12, generator=torch.Generator().manual_seed(3))
    for temperature in (1.0, 0.6):
        count = 20_000
        tokens, _ = draw(logits.expand(count, -1), [temperature] * count, uniforms(list(range(count)), [4] * count))
        expected = torch.softmax(logits.double() / temperature, -1).numpy() * count
        assert stats.chisquare(np.bincount(tokens, minlength=12), expected).pvalue > 0.01


def test_numbers_of_neighbours_have_nothing_to_do_with_each_other() -> None:
    """Neighbouring seeds and neighbouring positions give uniform numbers without correlation."""
    by_seed = uniforms(list(range(5000)), [0] * 5000)
    by_position = uniforms([77] * 5000, list(range(5000)))
    for numbers in (by_seed, by_position):
        assert stats.kstest(numbers, "uniform").pvalue > 0.01
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.05
    assert abs(np.corrcoef(by_seed, by_position)[0, 1]) < 0.05


def test_a_number_depends_on_its_seed_and_position_only() -> None:
    """The same pair gives the same number in any company."""
    assert uniforms([5, 9, 2**63 - 1], [0, 7, 3])[2] == uniforms([2**63 - 1], [3])[0]


def test_impossible_tokens_are_never_drawn() -> None:
    """A token of probability 0 is not drawn at the ends of the range of numbers."""
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]]).expand(2, -1)
    tokens, logprobs = draw(logits, [1.0, 1.0], np.array([0.0, 1 - 2.0**-53]))
    assert tokens == [1, 2]
    assert np.allclose(logprobs, np.log(0.5))


def test_greedy_and_sampled_rows_share_a_batch() -> None:
    """A row of temperature 0 takes the most likely token, with its log-probability at temperature 1."""
    logits = torch.tensor([[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]])
    tokens, logprobs = draw(logits, [0.0, 1.0], np.array([0.0, 0.0]))
    assert tokens == [1, 0]
    assert np.allclose(logprobs, torch.log_softmax(logits, -1)[[0, 1], [1, 0]])
