"""Exact arithmetic over Python's syntax trees: what expressions (mathematics) and functions have in common.

Nothing is executed. Text becomes a tree, every node must be on a language's list, and `compute` walks it with fractions. No
power, no call, no loop: the work is bounded by the size of the tree, the numbers by `max_magnitude`.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction

from services.verifier.config import VerifierConfig

Operator = Callable[[Fraction, Fraction], Fraction | int]

INTEGER_OPERATORS: Mapping[type[ast.operator], Operator] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
OPERATORS: Mapping[type[ast.operator], Operator] = {**INTEGER_OPERATORS, ast.Div: operator.truediv}
SIGNS: Mapping[type[ast.unaryop], int] = {ast.USub: -1, ast.UAdd: 1}

MAX_DECIMAL_DIGITS = 15
"""Python keeps a decimal literal as a float; up to 15 digits its shortest text is the literal again, so it stays exact."""


class OutsideLanguage(Exception):
    """The text is no expression or function of the small language; the message says where it leaves it."""


class Faulted(Exception):
    """Computing failed: a division by zero, an unknown name, or a number beyond the bounds."""


def parse(text: str, bounds: VerifierConfig) -> ast.Module:
    """The syntax tree of `text`. Raises `OutsideLanguage` when it is too long, too big or no Python at all."""
    if len(text) > bounds.max_characters:
        raise OutsideLanguage(f"longer than {bounds.max_characters} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise OutsideLanguage("no valid syntax") from error
    if sum(1 for _ in ast.walk(tree)) > bounds.max_nodes:
        raise OutsideLanguage(f"more than {bounds.max_nodes} parts")
    return tree


def require(node: ast.AST, operators: Mapping[type[ast.operator], Operator]) -> None:
    """Raises `OutsideLanguage` unless `node` is an arithmetic expression over numbers, names and these operators."""
    match node:
        case ast.Constant(value=bool()):
            raise OutsideLanguage("a truth value is no number")
        case ast.Constant(value=int()) | ast.Name():
            return
        case ast.Constant(value=float() as value) if ast.Div in operators:
            if sum(letter.isdigit() for letter in repr(value)) > MAX_DECIMAL_DIGITS:
                raise OutsideLanguage(f"a decimal with more than {MAX_DECIMAL_DIGITS} digits")
        case ast.UnaryOp() if type(node.op) in SIGNS:
            require(node.operand, operators)
        case ast.BinOp() if type(node.op) in operators:
            require(node.left, operators)
            require(node.right, operators)
        case _:
            raise OutsideLanguage(f"{_name_of(node)} is not allowed")


def _name_of(node: ast.AST) -> str:
    inner = getattr(node, "op", node)
    return type(inner).__name__


def compute(node: ast.expr, names: Mapping[str, Fraction], bounds: VerifierConfig) -> Fraction:
    """The value of an expression that `require` let pass. Raises `Faulted`."""
    match node:
        case ast.Constant():
            return _bounded(Fraction(repr(node.value)), bounds)
        case ast.Name():
            if node.id not in names:
                raise Faulted("a name without a value")
            return names[node.id]
        case ast.UnaryOp():
            return SIGNS[type(node.op)] * compute(node.operand, names, bounds)
        case ast.BinOp():
            left, right = compute(node.left, names, bounds), compute(node.right, names, bounds)
            try:
                return _bounded(Fraction(OPERATORS[type(node.op)](left, right)), bounds)
            except ZeroDivisionError as error:
                raise Faulted("division by zero") from error
        case _:
            raise OutsideLanguage(f"{_name_of(node)} is not allowed")


def _bounded(value: Fraction, bounds: VerifierConfig) -> Fraction:
    if max(abs(value.numerator), value.denominator) > bounds.max_magnitude:
        raise Faulted(f"a number beyond {bounds.max_magnitude}")
    return value
