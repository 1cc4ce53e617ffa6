"""Tests of the knobs and the two gates."""

from __future__ import annotations

import msgspec
import pytest

from shared.rewards.rules import SageRules, attemptable, plan_passes


def test_a_quality_at_the_threshold_passes_whatever_rounding_did():
    """(8.2 - 1) / 9 is 0.8 on paper and less in floating point; so is (4.6 - 1) / 9 for 0.4."""
    assert (8.2 - 1) / 9 < 0.8
    assert (4.6 - 1) / 9 < 0.4
    assert attemptable(usable=True, duplicate=False, quality=(8.2 - 1) / 9, rules=SageRules(alpha=0.8))
    assert plan_passes((4.6 - 1) / 9, SageRules(beta=0.4))
    assert not plan_passes(0.3999, SageRules(beta=0.4))


@pytest.mark.parametrize(
    ("usable", "duplicate", "quality"), [(False, False, 1.0), (True, True, 1.0), (True, False, 0.69), (True, False, None)]
)
def test_what_is_not_attempted(usable: bool, duplicate: bool, quality: float | None):
    """An unusable key, a known question, a low quality and a missing score each suffice."""
    assert not attemptable(usable=usable, duplicate=duplicate, quality=quality, rules=SageRules())


def test_a_plan_without_a_score_is_not_shown():
    """No score is not a good score."""
    assert not plan_passes(None, SageRules())


@pytest.mark.parametrize("wrong", [{"alpah": 0.7}, {"alpha": 1.2}, {"norm": "linear"}, {"solve_attempts": 0}])
def test_unknown_keys_and_values_out_of_range_are_refused(wrong: dict[str, object]):
    """A run file's mistake never becomes a default."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, SageRules)
