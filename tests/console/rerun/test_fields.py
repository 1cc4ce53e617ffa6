"""Where two facts differ, field by field."""

from __future__ import annotations

import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from console.rerun.fields import NOTHING, FieldDifference, field_differences
from shared.messages import PolicyTrained, SampleCompleted

NUMBERS = st.dictionaries(st.text(max_size=5), st.floats() | st.floats(allow_nan=True), max_size=4)


def trained(metrics: dict[str, float]) -> PolicyTrained:
    """A policy with these metrics."""
    return PolicyTrained(step=1, policy="p", parent="q", metrics=metrics)


@given(NUMBERS)
def test_a_fact_does_not_differ_from_itself(metrics: dict[str, float]) -> None:
    """Not even where a metric is not a number."""
    assert field_differences(trained(metrics), trained(dict(metrics))) == []


@given(NUMBERS, NUMBERS)
def test_what_differs_is_named_and_what_is_equal_is_not(one: dict[str, float], other: dict[str, float]) -> None:
    """Exactly the metrics that are not the same bit for bit, or missing in one of the two, are found."""
    found = {difference.path.removeprefix("metrics.") for difference in field_differences(trained(one), trained(other))}

    def bits(metrics: dict[str, float], name: str) -> object:
        value = metrics.get(name)
        return "nan" if value is not None and math.isnan(value) else value

    assert found == {name for name in {*one, *other} if bits(one, name) != bits(other, name)}


def test_places_in_lists_are_named_and_other_lengths_are_shown_whole() -> None:
    """One token of many that changed is found by its place."""
    fact = SampleCompleted(
        request="r", role="solver", policy="p", prompt_ids=(1, 2), completion_ids=(3, 4), logprobs=(), text="a", finish="stop"
    )
    token = msgspec.structs.replace(fact, completion_ids=(3, 5))
    assert field_differences(fact, token) == [FieldDifference("completion_ids[1]", 4, 5)]
    longer = msgspec.structs.replace(fact, completion_ids=(3, 4, 5))
    assert field_differences(fact, longer) == [FieldDifference("completion_ids", (3, 4), (3, 4, 5))]
    assert field_differences(trained({"loss": 1.0}), trained({})) == [FieldDifference("metrics.loss", 1.0, NOTHING)]
