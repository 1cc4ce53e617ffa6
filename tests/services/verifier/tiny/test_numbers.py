"""Tests of exact expressions and strict reading of numbers."""

from __future__ import annotations

import time
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.verifier.config import VerifierConfig
from services.verifier.tiny.arithmetic import Faulted, OutsideLanguage
from services.verifier.tiny.numbers import check_math, check_words, evaluate, grade_number, read_number
from shared.messages import Verdict

BOUNDS = VerifierConfig()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 + 4 * 2", 11),
        ("(3 + 4) * 2", 14),
        ("10 / 4", Fraction(5, 2)),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("-(-5)", 5),
        ("3 ×\n 4 − 2", 10),
    ],
)
def test_expressions_are_exact(text: str, value: Fraction):
    """Fractions, never floating point; floor and remainder as in Python."""
    assert evaluate(text, BOUNDS) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "2 ** 3",
        "1e5",
        "f(2)",
        "1(2)",
        "1, 2",
        "1; 2",
        "3 = 3",
        "1 < 2",
        "(1",
        "True",
        "0.1234567890123456",
        "1" * 3000,
    ],
)
def test_what_is_no_expression_is_refused(text: str):
    """No power, no call, no name, no second expression, nothing long."""
    with pytest.raises(OutsideLanguage):
        evaluate(text, BOUNDS)


@pytest.mark.parametrize("text", ["1 / 0", "1 % 0", "9999999 * 9999999", "1 / 9999999999999"])
def test_what_cannot_be_computed_is_a_fault(text: str):
    """Division by zero, and numbers beyond the bounds."""
    with pytest.raises(Faulted):
        evaluate(text, BOUNDS)


def test_deep_expressions_end_quickly():
    """Depth is refused by size, not by a crash."""
    for text in ("(" * 990 + "1" + ")" * 990, "-" * 1999 + "1", "1" + "+1" * 999):
        started = time.perf_counter()
        with pytest.raises(OutsideLanguage):
            evaluate(text, BOUNDS)
        assert time.perf_counter() - started < 0.5


def test_the_largest_allowed_tree_can_be_computed():
    """No bound that the config allows runs into the interpreter's recursion limit."""
    widest = VerifierConfig(max_nodes=1_000)
    assert evaluate("1" + "+1" * 330, widest) == 331
    assert evaluate("-" * 490 + "1", widest) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("−5", -5),
        ("+5.", 5),
        (".5", Fraction(1, 2)),
        ("1,080", 1080),
        ("$1,080.50", Fraction(2161, 2)),
        ("-$5", -5),
        ("$-5", -5),
        ("50%", 50),
        ("50\\%", 50),
        ("72 clips", 72),
        ("5cm", 5),
        ("12 km/h", 12),
        ("5 dollars per hour", 5),
        ("3/4", Fraction(3, 4)),
        ("2 2/3", Fraction(8, 3)),
        ("2½", Fraction(5, 2)),
        ("\\frac{1}{2}", Fraction(1, 2)),
        ("\\boxed{7}", 7),
        ("first \\boxed{3}, no: \\boxed{\\dfrac{1}{2}}", Fraction(1, 2)),
        ("x = 5", 5),
        ("The total = 72 clips.", 72),
        ("Answer: **12**", 12),
        ("\\(5\\text{ cm}\\)", 5),
        ("10\\,000", 10000),
        ("５", 5),
    ],
)
def test_one_number_with_its_trimmings_is_read(text: str, value: Fraction):
    """Layout, a label, a currency sign and a unit do not change a number."""
    assert read_number(text, BOUNDS) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "five", "half", "x", "7 7", "5 or 6", "12 apples and 3", "3 + 4 = 7", "x = y = 5", "-x = 5", "x != 5", "2x = 4"),
        *("5x", "5!", "5 thousand", "5 squared", "5 and a half", "1e3", "1,23", "0.333...", "5..", "--5", "5/0", "3:4", "(5"),
        *("1_000", "9" * 5000, "5 " + "word " * 9),
    ],
)
def test_anything_else_is_unparsed(text: str):
    """What would need guessing is refused rather than cut down to its first number."""
    with pytest.raises(OutsideLanguage):
        read_number(text, BOUNDS)


@given(st.text(max_size=60))
def test_reading_any_text_gives_a_number_or_the_one_refusal(text: str):
    """No text makes the reader raise anything else."""
    for read in (read_number, evaluate):
        with suppress(OutsideLanguage, Faulted):
            assert isinstance(read(text, BOUNDS), Fraction)


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**4))
def test_every_fraction_reads_back(top: int, below: int):
    """A fraction's own text, and an integer with separators, mean themselves."""
    assert read_number(f"{top}/{below}", BOUNDS) == Fraction(top, below)
    assert read_number(f"{top:,}", BOUNDS) == top


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        ("23", Verdict.CORRECT, "equal"),
        ("23.0 pens", Verdict.CORRECT, "equal"),
        ("24", Verdict.WRONG, "different"),
        ("many", Verdict.WRONG, "unparsed_answer"),
    ],
)
def test_grading_a_number(answer: str, verdict: Verdict, reason: str):
    """Exactly the key's number is right."""
    assert grade_number("14 + 9", answer, BOUNDS) == (verdict, reason)


def test_a_cut_off_decimal_is_not_a_third():
    """0.333333 is another number than 1/3."""
    assert grade_number("1 / 3", "0.333333", BOUNDS).verdict is Verdict.WRONG
    assert grade_number("1 / 3", "1/3", BOUNDS).verdict is Verdict.CORRECT


def test_a_key_that_cannot_be_read_gives_no_verdict():
    """An answer is not wrong because its key is broken."""
    assert grade_number("14 +", "23", BOUNDS).verdict is Verdict.NO_VERDICT


@pytest.mark.parametrize("check", ["14 + 9", "2 * (3 + 4)", "12 / 4", "999 - 999", "(5) - 5"])
def test_usable_words_keys(check: str):
    """An expression with an operator and a whole value from 0 to 999."""
    assert check_words(check, BOUNDS).usable


@pytest.mark.parametrize("check", ["23", "-5", "(23)", "+7", "5 / 2", "3 - 4", "999 + 1", "14 + x", "1 / 0", ""])
def test_unusable_words_keys(check: str):
    """A bare number was not worked out; fractions, negatives and large values have no place in a story."""
    assert not check_words(check, BOUNDS).usable


@pytest.mark.parametrize(("check", "usable"), [("72", True), ("1,080", True), ("5 / 2", True), ("-3", True), ("x", False)])
def test_math_keys_may_be_any_rational(check: str, usable: bool):
    """A literal number or an expression."""
    assert check_math(check, BOUNDS).usable is usable


@pytest.mark.parametrize("check", ["7919 / 3", "1234567 - 1", "5 / 0"])
def test_reasons_never_quote_a_key(check: str):
    """The reason is public."""
    assert not set(check.split()) & set(check_words(check, BOUNDS).reason.split())
