"""Task-Relative REINFORCE++ (TRR++): rewards to advantages within a role, advantages to a clipped policy loss.

Sources: the advantage is Absolute Zero's TRR++ (arXiv 2505.03335), ``A = (r - mean[group]) / std[group]``, with the roles as
groups as SAGE has it (arXiv 2603.15255); loss and k3 penalty are PPO's and Schulman's ("Approximating KL Divergence", 2020),
with the token mean of REINFORCE++ (arXiv 2501.03262). Where we normalise, exactly:

* statistics are taken over *sequences* (one reward each), not over tokens, with the population standard deviation;
* a group with fewer than two sequences, or whose rewards do not differ, gets advantage 0;
* the advantage is the same for every completion token, and the loss is the mean over all completion tokens of the batch.

Example: rewards 1, 0, 0, 1 of one role have mean 0.5 and deviation 0.5: advantages +1, -1, -1, +1. A token sampled at
probability 0.5 that now has 0.65 has ratio 1.3; at clip 0.2 and A = +1 its loss is -1.2 with no gradient, at A = -1 it is +1.3.

The loss uses the tensors' own methods, so that this file imports no model library.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-8
"""Added to the standard deviation."""
MIN_STD = 1e-6
"""Rewards closer together than this do not differ: rounding must not be blown up to advantages of size one."""


def advantages(rewards: Sequence[float], groups: Sequence[Hashable]) -> NDArray[np.float64]:
    """``(r - mean) / (std + EPSILON)`` within each group, population deviation, one number for each sequence."""
    values = np.asarray(rewards, dtype=np.float64)
    result = np.zeros_like(values)
    for group in set(groups):
        chosen = np.array([g == group for g in groups])
        deviation = values[chosen].std()
        if deviation >= MIN_STD:
            result[chosen] = (values[chosen] - values[chosen].mean()) / (deviation + EPSILON)
    return result


def policy_loss(logprobs: Tensor, recorded: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's pessimistic surrogate for each token: ``-min(ratio * A, clamp(ratio, 1 - clip, 1 + clip) * A)``.

    `recorded` are the log-probabilities at sampling time, the only ones a ratio may be taken against.
    """
    ratio = (logprobs - recorded).exp()
    return -(ratio * advantage).minimum(ratio.clamp(1 - clip, 1 + clip) * advantage)


def is_clipped(logprobs: Tensor, recorded: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Where the clipped branch decides, so that the token has no policy gradient."""
    ratio = (logprobs - recorded).exp()
    return ((ratio > 1 + clip) & (advantage > 0)) | ((ratio < 1 - clip) & (advantage < 0))


def k3_divergence(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Schulman's k3 for each token, ``exp(d) - d - 1`` with ``d = reference - logprobs``: never negative, in nats."""
    difference = reference - logprobs
    return difference.exp() - difference - 1


def entropy(distribution: Tensor) -> Tensor:
    """Entropy in nats of each row of log-probabilities over the vocabulary."""
    return -(distribution.exp() * distribution).sum(-1)
