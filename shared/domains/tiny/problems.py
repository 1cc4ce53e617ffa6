"""The tiny world's problems: short stories with numbers (``words``) and small functions to write (``code``).

A problem is a start and a list of steps; everything said about it (question, plan, key) is written from those. Numbers are
small on purpose: a model of a million parameters has to know the sums by heart.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

NAMES = {
    "Mia": "She", "Ben": "He", "Ana": "She", "Tom": "He", "Lea": "She", "Sam": "He", "Eva": "She", "Max": "He",
    "Ida": "She", "Leo": "He", "Zoe": "She", "Jan": "He", "Amy": "She", "Kai": "He", "Liv": "She", "Ned": "He",
}  # fmt: skip
ITEMS = ("pens", "caps", "cards", "coins", "books", "shells", "stamps", "apples", "stones", "balls", "keys", "rings")

PLUS = ("{who} buys {n} more.", "{who} finds {n} more.", "{who} gets {n} from a friend.")
MINUS = ("{who} gives {n} away.", "{who} loses {n}.", "{who} sells {n}.")
PACK = "{who} buys {a} boxes with {n} in each."
ASK = "How many {items} does {name} have now?"
LEADS = ("Write f(x):", "Make f(x):")
CODE_PHRASES = {
    "add": ("add {n}", "increase it by {n}"),
    "subtract": ("subtract {n}", "take away {n}"),
    "multiply": ("multiply by {n}", "make it {n} times as big"),
}

MAX_TOTAL = 60
MAX_OPERAND = 12
LEVELS = (1, 2, 3, 4)
KINDS = ("words", "code")


@dataclass(frozen=True)
class Step:
    """One change: ``add``, ``subtract`` or ``multiply`` by `n`; ``pack`` adds `a` boxes of `n` (words only)."""

    op: str
    n: int
    a: int = 1

    @property
    def change(self) -> int:
        """What a words step adds to the total."""
        return -self.n if self.op == "subtract" else self.a * self.n


@dataclass(frozen=True)
class Problem:
    """One problem of the tiny world. `start` is 0 for code, where the argument takes its place."""

    kind: str
    steps: tuple[Step, ...]
    start: int = 0
    name: str = ""
    items: str = ""
    wording: int = 0
    """Chooses among the phrases, so that a problem has one fixed text."""

    @property
    def level(self) -> int:
        """The number of steps."""
        return len(self.steps)

    @property
    def totals(self) -> list[int]:
        """Words: the running total after each step."""
        totals, total = [], self.start
        for step in self.steps:
            total += step.change
            totals.append(total)
        return totals

    def question(self) -> str:
        """What a solver reads."""
        phrases = random.Random(self.wording)
        if self.kind == "code":
            parts = [phrases.choice(CODE_PHRASES[step.op]).format(n=step.n) for step in self.steps]
            return f"{phrases.choice(LEADS)} {', then '.join(parts)}."
        who = NAMES[self.name]
        sentences = [f"{self.name} has {self.start} {self.items}."]
        for step in self.steps:
            phrase = PACK if step.op == "pack" else phrases.choice(PLUS if step.op == "add" else MINUS)
            sentences.append(phrase.format(who=who, n=step.n, a=step.a))
        return " ".join([*sentences, ASK.format(items=self.items, name=self.name)])

    def plan(self) -> str:
        """The steps in plain order, one short phrase each."""
        start = "start x" if self.kind == "code" else f"start {self.start}"
        return "; ".join([start, *(plan_step(step) for step in self.steps)])

    def key(self) -> str:
        """The executable key: an expression (words) or a reference function (code)."""
        if self.kind == "code":
            return statements(self.steps)
        terms = [f"{'-' if s.op == 'subtract' else '+'} {f'{s.a} * {s.n}' if s.op == 'pack' else s.n}" for s in self.steps]
        return " ".join([str(self.start), *terms])


def plan_step(step: Step) -> str:
    """One step as a plan says it."""
    return f"add {step.a} times {step.n}" if step.op == "pack" else f"{step.op} {step.n}"


def statements(steps: tuple[Step, ...]) -> str:
    """A function that does one step per line."""
    sign = {"add": "+=", "subtract": "-=", "multiply": "*="}
    lines = [f"    x {sign[step.op]} {step.n}" for step in steps]
    return "\n".join(["def f(x):", *lines, "    return x"])


def draw_problem(rng: random.Random, kind: str, level: int) -> Problem:
    """A well-posed problem: in words no total is negative or above `MAX_TOTAL`."""
    if kind == "code":
        steps = tuple(_code_step(rng) for _ in range(level))
        return Problem("code", steps, wording=rng.randrange(1 << 16))
    while True:
        start = rng.randint(2, 40)
        steps = tuple(_words_step(rng) for _ in range(level))
        name = rng.choice(list(NAMES))
        problem = Problem("words", steps, start, name, rng.choice(ITEMS), wording=rng.randrange(1 << 16))
        if all(0 <= total <= MAX_TOTAL for total in problem.totals):
            return problem


def _code_step(rng: random.Random) -> Step:
    op = rng.choice(("add", "subtract", "multiply"))
    return Step(op, rng.randint(2, 5) if op == "multiply" else rng.randint(1, MAX_OPERAND))


def _words_step(rng: random.Random) -> Step:
    op = rng.choices(("add", "subtract", "pack"), (4, 4, 2))[0]
    if op == "pack":
        return Step("pack", rng.randint(2, 6), rng.randint(2, 5))
    return Step(op, rng.randint(1, MAX_OPERAND))
