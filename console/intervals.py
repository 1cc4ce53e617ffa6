"""Confidence intervals for proportions, single and paired. Pure arithmetic."""

from __future__ import annotations

import math
from typing import NamedTuple

Z_95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""


class Interval(NamedTuple):
    """A two-sided interval."""

    low: float
    high: float


def wilson(successes: int, total: int, z: float = Z_95) -> Interval:
    """Wilson's score interval for one proportion (E. B. Wilson 1927, JASA 22:209-212). `total` must be above 0."""
    share = successes / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return Interval(max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))


def paired_difference(both: int, first_only: int, second_only: int, neither: int, z: float = Z_95) -> Interval:
    """Interval for the first proportion minus the second, both measured on the same tasks.

    Newcombe's square-and-add interval for paired data with continuity-corrected phi: method 10 of R. G. Newcombe, "Improved
    confidence intervals for the difference between binomial proportions based on paired data", Statistics in Medicine 17
    (1998) 2635-2650. It stays inside [-1, 1] and keeps its coverage where few tasks are discordant, where Wald's does not.
    """
    total = both + first_only + second_only + neither
    first, second = (both + first_only) / total, (both + second_only) / total
    low1, high1 = wilson(both + first_only, total, z)
    low2, high2 = wilson(both + second_only, total, z)
    phi = _phi(both, first_only, second_only, neither)
    below = _third_side(first - low1, high2 - second, phi)
    above = _third_side(high1 - first, second - low2, phi)
    return Interval(first - second - below, first - second + above)


def _phi(both: int, first_only: int, second_only: int, neither: int) -> float:
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if margins == 0:
        return 0.0
    product = float(both * neither - first_only * second_only)
    if product > 0:
        product = max(product - (both + first_only + second_only + neither) / 2, 0.0)
    return product / math.sqrt(margins)


def _third_side(one: float, other: float, phi: float) -> float:
    """The law of cosines; rounding must not make the square negative."""
    return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))
