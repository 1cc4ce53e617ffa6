"""Drawing one token a row so that a row's draw depends on its own logits, seed and position and on nothing else.

The random numbers are counter based: the number for position p of a request with seed s is a pure function of (s, p), the
SplitMix64 output function (Steele, Lea and Flood 2014) applied twice. There is no generator whose state other rows could move.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: a bijection of 64-bit words in which every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(seeds: list[int], positions: list[int]) -> NDArray[np.float64]:
    """For each row, the number in [0, 1) that belongs to its seed and the position of the token to draw."""
    counter = np.asarray(positions, dtype=np.uint64) + np.uint64(1)
    keys = np.asarray([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds], dtype=np.uint64)
    bits = _mix(_mix(keys + _GOLDEN) + counter * _GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(logits: torch.Tensor, temperatures: list[float], numbers: NDArray[np.float64]) -> tuple[list[int], list[float]]:
    """One token a row, and its log-probability (natural) under the distribution it was drawn from.

    `logits` is rows x vocabulary. With temperature T > 0 the distribution is softmax(logits / T), drawn by inverting its
    cumulative sum in float64 at the row's number. With T = 0 the most likely token is taken, and its log-probability is that
    under softmax(logits).
    """
    scale = torch.tensor([t if t > 0 else 1.0 for t in temperatures], dtype=torch.float32, device=logits.device)
    logp = torch.log_softmax(logits.float() / scale[:, None], dim=-1)
    greedy = torch.tensor([t <= 0 for t in temperatures], device=logits.device)
    tokens = logp.argmax(dim=-1)
    if not all(t <= 0 for t in temperatures):
        cumulative = torch.cumsum(logp.double().exp(), dim=-1)
        aim = torch.from_numpy(numbers).to(logits.device)[:, None] * cumulative[:, -1:]
        drawn = torch.searchsorted(cumulative, aim, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)
        tokens = torch.where(greedy, tokens, drawn)
    chosen = logp.gather(1, tokens[:, None])[:, 0]
    return tokens.tolist(), chosen.tolist()
