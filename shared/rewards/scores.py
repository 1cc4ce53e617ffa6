"""From the Critic's ``<score>`` to a quality in [0, 1].

Only the tag counts: a fallback to "the last number in the text" can be gamed. An unreadable score is *no score*, never a number
made up, unless the rules ask for the paper's 0.5.
"""

from __future__ import annotations

import re

from shared.rewards.rules import SageRules
from shared.rewards.tags import last_body

_NUMBER = r"\d{1,6}(?:\.\d{1,12})?"
_FRACTION = re.compile(rf"({_NUMBER})\s*/\s*({_NUMBER})")
_DECIMAL = re.compile(r"\d{1,6}\.\d{1,12}")
_INTEGER = re.compile(r"\d{1,6}")
HALF = 0.5


def quality_from(reply: str, rules: SageRules) -> float | None:
    """The quality that a Critic's reply states, or None (0.5 under ``unreadable_score = "half"``) when it states none.

    The tag holds one number and nothing else, read as a fraction, a decimal or an integer, in that order.
    """
    quality = _read(last_body(reply, "score") or "", literal=rules.norm == "literal")
    if quality is None and rules.unreadable_score == "half":
        return HALF
    return quality


def _read(body: str, *, literal: bool) -> float | None:
    if fraction := _FRACTION.fullmatch(body):
        below = float(fraction[2])
        return _share(float(fraction[1]) / below, literal=literal) if below else None
    if _DECIMAL.fullmatch(body):
        value = float(body)
        return _share(value, literal=literal) if value <= 1 else _ten(value)
    if _INTEGER.fullmatch(body):
        return _share(float(body), literal=True) if literal else _ten(float(body))
    return None


def _share(value: float, *, literal: bool) -> float | None:
    """A value meant on the scale [0, 1]; the literal formula also reads values above 1 as one of ten."""
    if 0.0 <= value <= 1.0:
        return value
    return _ten(value) if literal else None


def _ten(value: float) -> float | None:
    """A value meant on the scale 1 to 10."""
    return (value - 1.0) / 9.0 if 1.0 <= value <= 10.0 else None
