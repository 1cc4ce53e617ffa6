"""The codec: facts survive the round trip, and the wire is plain MessagePack."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any, Union

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.codec import BadFact, decode, encode
from shared.messages import FACT_TYPES, Fact, StepOpened

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3) | st.lists(st.integers(0, 9), max_size=2),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    if hint in LEAVES:
        return LEAVES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {Union, types.UnionType}:
        return st.one_of([values(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if issubclass(hint, enum.Enum):
        return st.sampled_from(list(hint))
    return st.builds(hint, **{field.name: values(field.type) for field in msgspec.structs.fields(hint)})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FACT_TYPES).flatmap(values))
def test_every_fact_survives_the_round_trip_as_plain_messagepack(fact: Fact) -> None:
    """Any fact decodes to itself, and an independent MessagePack library reads the same out of its bytes."""
    data = encode(fact)
    assert decode(data) == fact
    plain = msgpack.unpackb(data)
    assert plain["type"] == type(fact).__name__
    assert msgspec.convert(plain, Union[FACT_TYPES]) == fact  # noqa: UP007


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_fact_or_bad_fact(data: bytes) -> None:
    """Nothing but `BadFact` ever leaves the decoder."""
    try:
        decode(data)
    except BadFact:
        return


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (msgpack.packb({"type": "Nonsense"}), "Nonsense"),
        (msgpack.packb({"type": "StepOpened", "id": "a"}), "step"),
        (encode(StepOpened(step=1, policy="p", num_challenges=1, num_assignments=1)) + b"\x00", "trailing"),
        (msgpack.packb({"type": "RunStarted", "config": {"a": {"b": None}}})[:-1] + b"\x91" * 100_000, "recursion"),
    ],
)
def test_bad_bytes_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    """An unknown type, a missing field, trailing bytes and endless nesting each say what is wrong."""
    with pytest.raises(BadFact, match=reason):
        decode(data)


def test_unknown_fields_are_passed_over() -> None:
    """A fact from a newer version, which only ever adds fields, can still be read."""
    fact = StepOpened(step=1, policy="p", num_challenges=1, num_assignments=1, id="a")
    assert decode(msgpack.packb({**msgpack.unpackb(encode(fact)), "added_later": [1, 2]})) == fact
