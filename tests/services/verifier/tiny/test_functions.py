"""Tests of the interpreted functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.verifier.config import VerifierConfig
from services.verifier.tiny.arithmetic import Faulted, OutsideLanguage
from services.verifier.tiny.functions import INPUTS, check_function, grade_function, outputs, read_function, run
from shared.messages import Verdict

BOUNDS = VerifierConfig()
REFERENCE = "def f(x):\n    x += 3\n    x *= 2\n    return x"


@pytest.mark.parametrize(
    "answer",
    [
        REFERENCE,
        "def f(x): return (x + 3) * 2",
        "def f(n):\n  y = n + 3\n  z = y * 2\n  return z",
        "\n  def f(x):\n      return 2 * x + 6",
        "```python\n" + REFERENCE + "\n```",
        "def f(x: int) -> int:\n    return 2 * x + 6",
        "def f(x): x -= -3; x = x * 4 // 2; return x",
    ],
)
def test_other_ways_to_the_same_function_pass(answer: str):
    """What a function returns counts, not how it is written."""
    assert grade_function(REFERENCE, answer, BOUNDS) == (Verdict.CORRECT, "passed")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("def f(x): return x", "wrong_answer"),
        ("def f(x): return 2 * x + 7", "wrong_answer"),
        ("def f(x): return 6", "wrong_answer"),
        ("def f(x): pass", "compile_error"),
        ("def f(x): return", "compile_error"),
        ("def f(x):\n    x += 3", "compile_error"),
        ("def f(x):\n    return 2 * x + 6\n    return 0", "compile_error"),
        ("def g(x): return 2 * x + 6", "compile_error"),
        ("def f(x, y): return 2 * x + 6", "compile_error"),
        ("def f(x=1): return 2 * x + 6", "compile_error"),
        ("def f(*x): return 6", "compile_error"),
        ("@cache\ndef f(x): return 2 * x + 6", "compile_error"),
        ("lambda x: 2 * x + 6", "compile_error"),
        ("2 * x + 6", "compile_error"),
        ("def f(x)\n return x", "compile_error"),
        ("def f(x): return x ** 2", "compile_error"),
        ("def f(x): return x / 1", "compile_error"),
        ("def f(x): return x * 2.0 + 6", "compile_error"),
        ("def f(x): return True", "compile_error"),
        ("def f(x): return 2 * x + 6 if x else 6", "compile_error"),
        ("import os\ndef f(x): return 2 * x + 6", "compile_error"),
        ("def f(x): return __import__('os').getpid()", "compile_error"),
        ("def f(x): x.y = 3; return x", "compile_error"),
        ("def f(x):\n    while x: x -= 1\n    return x", "compile_error"),
        ("def f(x): return y", "runtime_error"),
        ("def f(x): return 6 // x", "runtime_error"),
        ("def f(x): return 5 % (x - 3)", "runtime_error"),
        ("def f(x): x = x * x; x = x * x; x = x * x; x = x * x; return x", "runtime_error"),
    ],
)
def test_everything_else_is_wrong_and_says_why(answer: str, reason: str):
    """Outside the small language is a compile error, a fault on some input a runtime error."""
    assert grade_function(REFERENCE, answer, BOUNDS) == (Verdict.WRONG, reason)


def test_nothing_is_executed(tmp_path):
    """Model text that would write a file if it ran does not write it."""
    mark = tmp_path / "mark"
    for text in (f"open({str(mark)!r}, 'w')\n{REFERENCE}", f"def f(x=open({str(mark)!r}, 'w')): return x"):
        assert grade_function(REFERENCE, text, BOUNDS).reason == "compile_error"
    assert not mark.exists()


@pytest.mark.parametrize(
    ("check", "usable"),
    [
        (REFERENCE, True),
        ("def f(x): return 7", True),
        ("def f(x): return x", False),
        ("def f(x):\n    x += 3\n    x -= 3\n    return x", False),
        ("def f(x): return 6 // x", False),
        ("def f(x): return x * 99999999999", False),
        ("def f(x): pass", False),
        ("14 + 9", False),
        ("", False),
    ],
)
def test_usable_keys(check: str, usable: bool):
    """A reference works on every test input and is not the identity, which a stub would match."""
    assert check_function(check, BOUNDS).usable is usable


def test_a_broken_key_gives_no_verdict():
    """An answer is not wrong because its key is broken."""
    assert grade_function("def f(x): return y", REFERENCE, BOUNDS).verdict is Verdict.NO_VERDICT


def test_the_bounds_hold():
    """Too long and too many parts are refused; the message does not depend on the text."""
    for text in ("def f(x): return x" + " + 1" * 2000, "def f(x): return x" + "+1" * 300):
        with pytest.raises(OutsideLanguage):
            read_function(text, BOUNDS)
    with pytest.raises(Faulted):
        run(read_function("def f(x): return x * 1000", BOUNDS), 10**12, BOUNDS)


@given(
    st.lists(st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), st.integers(1, 12)), min_size=1, max_size=5),
)
def test_the_interpreter_agrees_with_python(steps: list[tuple[str, int]]):
    """On straight-line functions the results are Python's own."""
    source = "def f(x):\n" + "".join(f"    x {op}= {n}\n" for op, n in steps) + "    return x"
    space: dict[str, object] = {}
    exec(source, space)  # written by this test, not by a model
    expected = tuple(space["f"](x) for x in INPUTS)  # type: ignore[operator]
    assert outputs(read_function(source, BOUNDS), BOUNDS) == expected


@given(st.tuples(st.integers(-9, 9), st.integers(-50, 50)), st.tuples(st.integers(-9, 9), st.integers(-50, 50)))
def test_different_lines_differ_on_some_input(one: tuple[int, int], other: tuple[int, int]):
    """The test inputs tell any two functions a * x + b apart."""

    def source(line: tuple[int, int]) -> str:
        return f"def f(x): return {line[0]} * x + {line[1]}"

    passed = grade_function(source(one), source(other), BOUNDS).verdict is Verdict.CORRECT
    assert passed == (one == other)


@given(st.text(max_size=80))
def test_any_text_as_an_answer_gets_a_verdict(text: str):
    """No text makes the grader raise."""
    assert grade_function(REFERENCE, text, BOUNDS).verdict is Verdict.WRONG
    assert grade_function(REFERENCE, "def f(x): " + text, BOUNDS).verdict in {Verdict.WRONG, Verdict.CORRECT}
