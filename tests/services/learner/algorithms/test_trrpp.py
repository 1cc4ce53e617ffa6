"""TRR++ against worked examples and an independent float64 reference."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from services.learner.algorithms import trrpp

REWARDS = st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1, width=32)), min_size=1, max_size=20)


def test_advantages_of_a_worked_example() -> None:
    """Two roles in one batch are standardised apart, with the population deviation."""
    rewards = [1.0, 0.0, 0.0, 1.0, 0.2, 0.5, 0.8]
    roles = ["solver"] * 4 + ["planner"] * 3
    expected = [1, -1, -1, 1, -math.sqrt(1.5), 0, math.sqrt(1.5)]
    assert trrpp.advantages(rewards, roles) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rewards", [[0.7], [0.7, 0.7, 0.7], [0.1 + 0.2, 0.3, 0.3], []])
def test_group_without_contrast_contributes_nothing(rewards: list[float]) -> None:
    """One sequence alone, or rewards that differ by rounding at most, get advantage 0."""
    assert not trrpp.advantages(rewards, ["critic"] * len(rewards)).any()


@given(REWARDS)
def test_each_group_has_mean_zero_and_deviation_one(batch: list[tuple[str, float]]) -> None:
    """Whatever the batch, a group's advantages average to 0 and deviate by 1, or are all 0."""
    result = trrpp.advantages([reward for _, reward in batch], [group for group, _ in batch])
    for group in {group for group, _ in batch}:
        members = result[[g == group for g, _ in batch]]
        assert members.mean() == pytest.approx(0, abs=1e-6)
        assert members.std() == pytest.approx(1, abs=0.02) or not members.any()


@given(REWARDS, st.randoms())
def test_advantages_do_not_depend_on_order(batch: list[tuple[str, float]], shuffler: object) -> None:
    """A shuffled batch gets the same advantages, shuffled."""
    order = list(range(len(batch)))
    shuffler.shuffle(order)
    straight = trrpp.advantages([r for _, r in batch], [g for g, _ in batch])
    shuffled = trrpp.advantages([batch[i][1] for i in order], [batch[i][0] for i in order])
    assert shuffled == pytest.approx(straight[order], abs=1e-4)


@pytest.mark.parametrize(
    ("probability", "advantage", "loss", "slope"),
    [(0.65, 1.0, -1.2, 0.0), (0.65, -1.0, 1.3, 1.3), (0.35, -1.0, 0.8, 0.0), (0.35, 1.0, -0.7, -0.7), (0.5, 2.0, -2.0, -2.0)],
)
def test_clipped_loss_of_worked_examples(probability: float, advantage: float, loss: float, slope: float) -> None:
    """A token sampled at probability 0.5, clip 0.2: the loss and its slope in the log-probability."""
    now = torch.tensor([math.log(probability)], dtype=torch.float64, requires_grad=True)
    then, a = torch.tensor([math.log(0.5)], dtype=torch.float64), torch.tensor([advantage], dtype=torch.float64)
    result = trrpp.policy_loss(now, then, a, 0.2)
    result.sum().backward()
    assert result.item() == pytest.approx(loss)
    assert now.grad is not None
    assert now.grad.item() == pytest.approx(slope)
    assert trrpp.is_clipped(now, then, a, 0.2).item() is (slope == 0.0)


def test_k3_and_entropy_of_worked_examples() -> None:
    """k3 of probability 0.5 against reference 0.25 is 0.5 - ln 0.5 - 1; a fair coin has entropy ln 2."""
    k3 = trrpp.k3_divergence(torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)]))
    assert k3.item() == pytest.approx(0.5 - math.log(0.5) - 1, abs=1e-6)
    assert trrpp.entropy(torch.log(torch.tensor([[0.5, 0.5]]))).item() == pytest.approx(math.log(2))


def numpy_loss(logits: np.ndarray, tokens: np.ndarray, old: np.ndarray, ref: np.ndarray, advantage: np.ndarray) -> float:
    """The whole loss written out token by token in plain numpy: clip 0.2, KL weight 0.1, entropy weight 0.05."""
    total = 0.0
    for row, token, then, base, a in zip(logits, tokens, old, ref, advantage, strict=True):
        p = np.exp(row - row.max())
        p /= p.sum()
        ratio = p[token] / np.exp(then)
        surrogate = ratio * a
        if a > 0 and ratio > 1.2:
            surrogate = 1.2 * a
        if a < 0 and ratio < 0.8:
            surrogate = 0.8 * a
        quotient = np.exp(base) / p[token]
        total += -surrogate + 0.1 * (quotient - np.log(quotient) - 1) - 0.05 * float(-(p * np.log(p)).sum())
    return total / len(tokens)


def slopes(function: Callable[[np.ndarray], float], at: np.ndarray, width: float = 1e-6) -> np.ndarray:
    """Central finite differences."""
    result = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += width
        down[place] -= width
        result[place] = (function(up) - function(down)) / (2 * width)
    return result


@pytest.mark.parametrize("seed", range(5))
def test_loss_and_gradient_equal_an_independent_reference(seed: int) -> None:
    """Loss and gradient in the logits equal plain numpy and finite differences, in float64, with clipped and free tokens."""
    draw = np.random.default_rng(seed)
    logits, tokens, advantage = draw.normal(size=(12, 6)), draw.integers(0, 6, 12), draw.normal(size=12)
    straight = np.log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))[np.arange(12), tokens]
    old, ref = straight + draw.normal(scale=0.4, size=12), straight + draw.normal(scale=0.4, size=12)
    variable = torch.tensor(logits, requires_grad=True)
    distribution = variable.log_softmax(-1)
    logprobs = distribution.gather(-1, torch.tensor(tokens)[:, None])[:, 0]
    losses = trrpp.policy_loss(logprobs, torch.tensor(old), torch.tensor(advantage), 0.2)
    losses = losses + 0.1 * trrpp.k3_divergence(logprobs, torch.tensor(ref)) - 0.05 * trrpp.entropy(distribution)
    losses.mean().backward()
    assert losses.mean().item() == pytest.approx(numpy_loss(logits, tokens, old, ref, advantage), abs=1e-12)
    assert variable.grad is not None
    expected = slopes(lambda at: numpy_loss(at, tokens, old, ref, advantage), logits)
    np.testing.assert_allclose(variable.grad.numpy(), expected, atol=1e-8)
