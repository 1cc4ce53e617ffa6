"""What keys mean, as bytes of a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.replay.keys import Given, Keys
from console.replay.orders import ORDERS, STOP


@pytest.mark.parametrize(
    ("typed", "orders"),
    [
        (b" ", [("toggle", 1)]),
        (b"nn", [("step", 1), ("step", 1)]),
        (b"+-=_", [("faster", 1), ("slower", 1), ("faster", 1), ("slower", 1)]),
        (b"\x1b[C\x1b[D\x1bOA\x1bOB", [("faster", 1), ("slower", 1), ("faster", 1), ("slower", 1)]),
        (b"l", [("loop", None)]),
        (b"q", [(STOP, 1)]),
        (b"g120\r", [("seek", 120)]),
        (b"N1x2\x7f\n", [("step", 1)]),
        (b"g\r", []),
        (b"g12qn", [("step", 1)]),
        (b"g12\x1b[Cn3\r", [("seek", 123)]),
        (b"xyz\t\x00\xff7", []),
        (b"\x1b[15~n\x1b[1;5Cn", [("step", 1), ("step", 1)]),
        (b"\x1bn", [("step", 1)]),
    ],
)
def test_keys_are_orders(typed: bytes, orders: list[tuple[str, float | None]]):
    """However they arrive: all at once, or byte by byte."""
    assert Keys().feed(typed) == orders
    keys = Keys()
    assert [order for byte in typed for order in keys.feed(bytes([byte]))] == orders


def test_a_number_that_is_asked_for_is_shown_while_it_is_typed():
    """The question with the digits; Enter answers it, a lone Escape takes it back, an arrow does neither."""
    keys = Keys()
    assert keys.prompt == ""
    keys.feed(b"g1")
    assert keys.prompt == "go to fact: 1_"
    keys.feed(b"2\x1b[A")
    assert keys.prompt == "go to fact: 12_"
    assert keys.feed(b"\x1b") == []
    assert keys.prompt == "go to fact: 12_"
    assert keys.feed(b"") == []
    assert keys.prompt == ""
    keys.feed(b"N")
    assert keys.prompt == "how many facts: _"
    assert keys.feed(b"5\r") == [Given("step", 5.0)]


@given(st.lists(st.binary(max_size=8), max_size=20))
def test_whatever_is_typed_gives_orders_that_exist(pieces: list[bytes]):
    """A cat on the keyboard raises nothing."""
    keys = Keys()
    for piece in pieces:
        for order in keys.feed(piece):
            assert order.command in {*ORDERS, STOP}
