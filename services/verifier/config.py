"""The Verifier's knobs: bounds on what it reads and computes, so that no text can cost more than a moment."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class VerifierConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[verifier]`` section of a run file."""

    max_characters: Annotated[int, Meta(ge=16, le=100_000)] = 2_000
    """Longer keys and answers are refused unread."""
    max_nodes: Annotated[int, Meta(ge=8, le=1_000)] = 400
    """Most nodes of a syntax tree; with no loops in either language this also bounds the work."""
    max_magnitude: Annotated[int, Meta(ge=1_000, le=10**18)] = 10**12
    """Largest absolute value, numerator or denominator, on the way to a result."""
    max_words_answer: Annotated[int, Meta(ge=1, le=10**12)] = 999
    """Largest answer a ``words`` key may have; the smallest is 0."""
