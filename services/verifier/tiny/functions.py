"""Small functions of one whole number: ``def f(x):``, assignments, one return. They are interpreted here and never executed.

The language has no state, clock, randomness, loop or call, so a function runs twice alike and ends by construction. A key is a
reference function; its outputs on fixed inputs are the tests.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from textwrap import dedent
from typing import NamedTuple

from services.verifier.config import VerifierConfig
from services.verifier.grades import (
    COMPILE_ERROR,
    PASSED,
    RUNTIME_ERROR,
    USABLE,
    WRONG_ANSWER,
    Check,
    Grade,
    no_verdict,
    unusable,
)
from services.verifier.tiny.arithmetic import INTEGER_OPERATORS, Faulted, OutsideLanguage, compute, parse, require

INPUTS = (-7, -4, -1, 0, 1, 2, 3, 6, 11, 17, 28, 50)
"""Both signs, small and large, and different remainders by every divisor up to 12: different functions differ on some."""

_FENCE = re.compile(r"```(?:python)?\s*\n(.*?)```", re.DOTALL)


class Function(NamedTuple):
    """A function of the language: its parameter, its assignments as (name, expression), and what it returns."""

    parameter: str
    assignments: tuple[tuple[str, ast.expr], ...]
    result: ast.expr


def read_function(text: str, bounds: VerifierConfig) -> Function:
    """The function ``f`` that `text` defines, a Markdown fence around it allowed. Raises `OutsideLanguage`."""
    fenced = _FENCE.search(text) if len(text) <= bounds.max_characters else None
    tree = parse(dedent(fenced[1] if fenced else text).strip(), bounds)
    match tree.body:
        case [ast.FunctionDef(name="f", decorator_list=[], body=[*statements, ast.Return(value=ast.expr() as result)]) as node]:
            parameter = _only_parameter(node.args)
        case _:
            raise OutsideLanguage("not one function f that ends with a return")
    assignments = tuple(_assignment(statement) for statement in statements)
    for expression in (*(expression for _, expression in assignments), result):
        require(expression, INTEGER_OPERATORS)
    return Function(parameter, assignments, result)


def _only_parameter(arguments: ast.arguments) -> str:
    match arguments:
        case ast.arguments(posonlyargs=[], args=[ast.arg(arg=name)], vararg=None, kwonlyargs=[], kwarg=None, defaults=[]):
            return str(name)
    raise OutsideLanguage("f must have exactly one parameter and no default")


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            return name, ast.BinOp(ast.Name(name, ast.Load()), op, value)
    raise OutsideLanguage(f"{type(statement).__name__} is no assignment to one name")


def run(function: Function, argument: int, bounds: VerifierConfig) -> int:
    """What the function returns. Raises `Faulted`: division by zero, a name without value, a number beyond the bounds."""
    names = {function.parameter: Fraction(argument)}
    for name, expression in function.assignments:
        names[name] = compute(expression, names, bounds)
    return int(compute(function.result, names, bounds))


def outputs(function: Function, bounds: VerifierConfig) -> tuple[int, ...]:
    """What the function returns on `INPUTS`. Raises `Faulted`."""
    return tuple(run(function, argument, bounds) for argument in INPUTS)


def check_function(check: str, bounds: VerifierConfig) -> Check:
    """A ``code`` key is a function that works on every test input and that a stub returning its argument would fail."""
    try:
        expected = outputs(read_function(check, bounds), bounds)
    except (OutsideLanguage, Faulted) as error:
        return unusable(str(error))
    return unusable("it returns its argument unchanged: a stub would pass") if expected == INPUTS else USABLE


def grade_function(check: str, answer: str, bounds: VerifierConfig) -> Grade:
    """Whether the answer's function returns what the reference returns on every test input."""
    try:
        expected = outputs(read_function(check, bounds), bounds)
    except (OutsideLanguage, Faulted) as error:
        return no_verdict(f"unusable key: {error}")
    try:
        return PASSED if outputs(read_function(answer, bounds), bounds) == expected else WRONG_ANSWER
    except OutsideLanguage:
        return COMPILE_ERROR
    except Faulted:
        return RUNTIME_ERROR
