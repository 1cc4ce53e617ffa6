"""Numbers: exact values of expressions (keys), strict reading of numeric answers, and the comparison.

Both sides are fractions, so 1/3 is never 0.333333. An answer must be one number and nothing that changes it: what the reader
does not understand to its end is *unparsed* and wrong, rather than cut down to the part that it did understand.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from fractions import Fraction

from services.verifier.config import VerifierConfig
from services.verifier.grades import DIFFERENT, EQUAL, UNPARSED_ANSWER, USABLE, Check, Grade, no_verdict, unusable
from services.verifier.tiny.arithmetic import OPERATORS, Faulted, OutsideLanguage, compute, parse, require

_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "⁄": "/"})
_EXPRESSION = re.compile(r"[0-9+\-*/%(). ]+")
_OPERATOR = re.compile(r"\d\s*\)*\s*[-+*/%]")

_LATEX_LAYOUT = re.compile(r"\\[()\[\]]|\\!|\\,|\\;|\\ |\\left|\\right|\*\*|\$|\u200b|\u2060|\ufeff")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{(-?\d+)\}\{(\d+)\}")
_LATEX_UNIT = re.compile(r"\\(?:text|mathrm|textbf)\{([^{}]*)\}")
_LABEL = re.compile(r"[^\W\d_](?:[^\W\d_]|[ ',()])*[=:]\s*")
_INTEGER = r"\d+|\d{1,3}(?:,\d{3})+"
_NUMBER = re.compile(
    rf"""(?P<sign>[-+]?)\s?[€£]?\s?(?P<inner>-?)
    (?: (?P<whole>\d+)\s(?P<part>\d+)/(?P<parts>\d+)        # mixed: 2 2/3
      | (?P<top>\d+)\s?/\s?(?P<below>\d+)                   # fraction
      | (?P<integer>{_INTEGER})(?P<decimals>\.\d+)?         # 1,234.50
      | (?P<bare>\.\d+) )                                   # .5
    (?P<unit>\s?(?:%|°?[^\W\d_]+[²³]?|/\s?[^\W\d_]+|[€£])(?:[ /-][^\W\d_]+[²³]?){{0,5}})?
    \s?\.?""",
    re.VERBOSE,
)
_CHANGES_VALUE = {
    *("x", "y", "z", "n", "i", "e", "k", "a", "b", "pi", "or", "and", "to", "plus", "minus", "times", "over", "point", "half"),
    *("dozen", "hundred", "thousand", "million", "billion", "trillion", "squared", "cubed", "factorial", "percentage"),
}
"""Words after a number that make another number of it, or of which one cannot tell; all other words count as its unit."""


def evaluate(expression: str, bounds: VerifierConfig) -> Fraction:
    """The exact value of ``+ - * / // %`` over numbers and parentheses. Raises `OutsideLanguage` or `Faulted`."""
    text = " ".join(expression.translate(_SIGNS).split())
    if not _EXPRESSION.fullmatch(text):
        raise OutsideLanguage("only digits, a point, + - * / // % and parentheses are allowed")
    tree = parse(text, bounds)
    match tree.body:
        case [ast.Expr(value=value)]:
            require(value, OPERATORS)
            return compute(value, {}, bounds)
    raise OutsideLanguage("not one expression")


def read_number(answer: str, bounds: VerifierConfig) -> Fraction:
    """The number that an answer states. Raises `OutsideLanguage` unless the whole text is one number.

    Understood besides the number: the last ``\\boxed{}``, ``\\frac{a}{b}``, LaTeX and Markdown layout, a label of words
    before ``=`` or ``:``, a currency sign, and a percent sign or up to six words after it (the unit; "50%" is 50).
    """
    if len(answer) > bounds.max_characters:
        raise OutsideLanguage(f"longer than {bounds.max_characters} characters")
    text = _plain(answer)
    if label := _LABEL.match(text):
        text = text[label.end() :]
    match = _NUMBER.fullmatch(text)
    if not match or (match["sign"] and match["inner"]) or _unit_changes_value(match["unit"] or ""):
        raise OutsideLanguage("not one number")
    try:
        value = _value(match)
    except (ZeroDivisionError, ValueError) as error:
        raise OutsideLanguage(str(error)) from error
    return -value if "-" in (match["sign"], match["inner"]) else value


def _plain(answer: str) -> str:
    """The answer without layout, and with plain digits, signs and blanks."""
    text = re.sub(r"(?<=\d)(?=[¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])", " ", _last_box(answer))
    text = unicodedata.normalize("NFKC", text.replace("²", "^2").replace("³", "^3")).translate(_SIGNS)
    text = text.replace("\\%", "%").replace("\\$", "$")
    text = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_UNIT.sub(r" \1", text))
    text = _LATEX_LAYOUT.sub("", text)
    return " ".join(text.replace("^2", "²").replace("^3", "³").split())


def _last_box(answer: str) -> str:
    """What stands in the last ``\\boxed{...}``, braces balanced; without one, or with an unclosed one, the answer itself."""
    start = answer.rfind("\\boxed{")
    if start < 0:
        return answer
    begin = start + len("\\boxed{")
    depth = 1
    for place in range(begin, len(answer)):
        depth += {"{": 1, "}": -1}.get(answer[place], 0)
        if not depth:
            return answer[begin:place]
    return answer


def _unit_changes_value(unit: str) -> bool:
    return any(word in _CHANGES_VALUE for word in re.findall(r"[^\W\d_]+", unit.lower()))


def _value(match: re.Match[str]) -> Fraction:
    if match["whole"]:
        return int(match["whole"]) + Fraction(int(match["part"]), int(match["parts"]))
    if match["top"]:
        return Fraction(int(match["top"]), int(match["below"]))
    return Fraction(match["bare"] or match["integer"].replace(",", "") + (match["decimals"] or ""))


def check_words(check: str, bounds: VerifierConfig) -> Check:
    """A ``words`` key is an expression with an operator, whose value is a whole number from 0 to the bound."""
    try:
        value = evaluate(check, bounds)
    except (OutsideLanguage, Faulted) as error:
        return unusable(str(error))
    if not _OPERATOR.search(check.translate(_SIGNS)):
        return unusable("a bare number: the key must be worked out from the question's numbers")
    if value.denominator != 1 or not 0 <= value <= bounds.max_words_answer:
        return unusable(f"its value is no whole number from 0 to {bounds.max_words_answer}")
    return USABLE


def check_math(check: str, bounds: VerifierConfig) -> Check:
    """A ``math`` key is a number or an expression with any rational value."""
    try:
        key_value(check, bounds)
    except (OutsideLanguage, Faulted) as error:
        return unusable(str(error))
    return USABLE


def key_value(check: str, bounds: VerifierConfig) -> Fraction:
    """A key's number: an expression, or a literal such as ``1,080``. Raises `OutsideLanguage` or `Faulted`."""
    try:
        return evaluate(check, bounds)
    except OutsideLanguage:
        return read_number(check, bounds)


def grade_number(check: str, answer: str, bounds: VerifierConfig) -> Grade:
    """Whether the answer states exactly the key's number."""
    try:
        expected = key_value(check, bounds)
    except (OutsideLanguage, Faulted) as error:
        return no_verdict(f"unusable key: {error}")
    try:
        return EQUAL if read_number(answer, bounds) == expected else DIFFERENT
    except OutsideLanguage:
        return UNPARSED_ANSWER
