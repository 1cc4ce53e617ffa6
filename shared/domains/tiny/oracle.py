"""Reads a question of the tiny world back into its problem. For *measuring* only (wrong keys in the pool); no reward sees it.

It is written from the wording rules alone and shares no code with the graders, so a fault there cannot hide here.
"""

from __future__ import annotations

import re

from shared.domains.tiny.problems import CODE_PHRASES, ITEMS, LEADS, NAMES, Problem, Step

_START = re.compile(rf"^({'|'.join(NAMES)}) has (\d+) ({'|'.join(ITEMS)})\.(.*) How many (\w+) does (\w+) have now\?$")
_WORDS_STEPS = (
    ("add", re.compile(r"^(She|He) (?:buys|finds) (\d+) more$")),
    ("add", re.compile(r"^(She|He) gets (\d+) from a friend$")),
    ("subtract", re.compile(r"^(She|He) gives (\d+) away$")),
    ("subtract", re.compile(r"^(She|He) (?:loses|sells) (\d+)$")),
)
_PACK = re.compile(r"^(She|He) buys (\d+) boxes with (\d+) in each$")
_CODE = re.compile(rf"^(?:{'|'.join(re.escape(lead) for lead in LEADS)}) (.*)\.$")
_CODE_STEPS = [
    (op, re.compile("^" + re.escape(phrase).replace(r"\{n\}", r"(\d+)") + "$"))
    for op, phrases in CODE_PHRASES.items()
    for phrase in phrases
]


def read_question(question: str) -> Problem | None:
    """The problem that a well-posed question states; None when it is ill-posed (also when a total is ever negative)."""
    return _read_code(question) if _CODE.match(question) else _read_words(question)


def _read_code(question: str) -> Problem | None:
    match = _CODE.match(question)
    steps = []
    for part in match.group(1).split(", then ") if match else ():
        found = [(op, pattern.match(part)) for op, pattern in _CODE_STEPS]
        hits = [Step(op, int(hit.group(1))) for op, hit in found if hit]
        if len(hits) != 1:
            return None
        steps.append(hits[0])
    return Problem("code", tuple(steps)) if steps else None


def _read_words(question: str) -> Problem | None:
    match = _START.match(question)
    if not match:
        return None
    name, start, items, middle, asked_items, asked_name = match.groups()
    sentences = [sentence.strip() for sentence in middle.split(".") if sentence.strip()]
    steps = [_words_step(sentence, NAMES[name]) for sentence in sentences]
    if asked_items != items or asked_name != name or not steps:
        return None
    known = tuple(step for step in steps if step is not None)
    problem = Problem("words", known, int(start), name, items)
    return problem if len(known) == len(steps) and min(problem.totals) >= 0 else None


def _words_step(sentence: str, who: str) -> Step | None:
    pack = _PACK.match(sentence)
    if pack:
        return Step("pack", int(pack.group(3)), int(pack.group(2))) if pack.group(1) == who else None
    for op, pattern in _WORDS_STEPS:
        match = pattern.match(sentence)
        if match and match.group(1) == who:
            return Step(op, int(match.group(2)))
    return None


def key_is_right(question: str, kind: str, check: str) -> bool | None:
    """Whether a key gives the answer that the question has; None when the question is ill-posed (it has none)."""
    problem = read_question(question)
    if problem is None or problem.kind != kind:
        return None
    try:
        if kind == "words":
            return _value_of_chain(check) == problem.totals[-1]
        return [_run(check, x) for x in range(-20, 60)] == [_apply(problem, x) for x in range(-20, 60)]
    except (ValueError, IndexError):
        return False


def _apply(problem: Problem, x: int) -> int:
    for step in problem.steps:
        x = x * step.n if step.op == "multiply" else x + step.change
    return x


def _value_of_chain(check: str) -> int:
    """The value of ``a + b * c - d`` read from left to right with products first."""
    total = 0
    for sign, term in re.findall(r"([+-]?)\s*(\d+(?:\s*\*\s*\d+)?)", check):
        product = 1
        for factor in term.split("*"):
            product *= int(factor)
        total += -product if sign == "-" else product
    return total


def _run(check: str, x: int) -> int:
    """Runs a one-step-per-line function as text."""
    for line in check.strip().splitlines()[1:-1]:
        sign, n = re.findall(r"^ {4}x ([+*-])= (\d+)$", line)[0]
        x = x + int(n) if sign == "+" else x - int(n) if sign == "-" else x * int(n)
    return x
