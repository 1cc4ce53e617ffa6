"""Synthetic transcripts of all roles: a prompt in the terse templates' words, and a reply in one of the role's habits.

Only problems on the training side of the hold-out occur (`split_of_numbers`), so the gate's and the test's numbers are new to
the model. Every transcript follows from the seed and its index.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import services
from console.bootstrap.habits import Habits
from shared.domains.port import Split
from shared.domains.tiny import LEVELS, draw_on_side
from shared.domains.tiny.problems import ITEMS, KINDS, NAMES, Problem, Step, plan_step, statements
from shared.messages import Turn
from shared.prompts import Template, load_templates

LEVEL_WEIGHTS = (20, 35, 30, 15)
KIND_WEIGHTS = (65, 35)
"""Stories need more practice than functions: their sums have to be known by heart."""
DRILL_SUMS = 6
TEMPLATES: dict[str, dict[str, Template]] = {
    role: load_templates(Path(services.__path__[0]) / role, "terse") for role in ("challenger", "planner", "solver", "critic")
}


class Transcript(NamedTuple):
    """One exchange."""

    turns: tuple[Turn, ...]
    reply: str


def transcripts(seed: int, habits: Habits) -> Iterator[Transcript]:
    """An endless stream."""
    rng = random.Random(seed)
    while True:
        maker = rng.choices(list(MAKERS), list(MAKERS.values()))[0]
        turns, reply = maker(rng, _draw(rng), habits)
        yield Transcript(turns, _slip(rng, reply) if rng.random() < habits.format_slip and "</" in reply else reply)


def _draw(rng: random.Random, kind: str | None = None, level: int | None = None) -> Problem:
    level = level or rng.choices(LEVELS, LEVEL_WEIGHTS)[0]
    return draw_on_side(rng, Split.TRAIN, kind or rng.choices(KINDS, KIND_WEIGHTS)[0], level)


def _slip(rng: random.Random, reply: str) -> str:
    """A forgotten tag: the last one, or the first."""
    if rng.random() < 0.5:
        return reply[: reply.rindex("</")]
    return reply[reply.index(">") + 1 :]


# ---------------------------------------------------------------------------------------------------------------- solver


def _solve_bare(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    turns = TEMPLATES["solver"]["solve"].render(question=problem.question()).turns
    return turns, _answer(rng, problem, habits, careful=rng.random() < habits.careful_bare)


def _solve_planned(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    """The Solver trusts the plan it is shown, right or wrong: so plans are worth something."""
    planned = sloppy(rng, problem) if rng.random() < habits.sloppy_plan / 2 else problem
    turns = TEMPLATES["solver"]["solve_with_plan"].render(question=problem.question(), plan=planned.plan()).turns
    return turns, _answer(rng, planned, habits, careful=rng.random() < habits.careful_planned)


def _answer(rng: random.Random, problem: Problem, habits: Habits, *, careful: bool) -> str:
    if problem.kind == "code":
        return _function_answer(rng, problem, habits, careful=careful)
    if not careful:
        return f"<answer> {problem.totals[-1]}</answer>"
    slipped = sloppy(rng, problem) if rng.random() < habits.careful_slip else problem
    return f"<think> {working(slipped)}</think><answer> {slipped.totals[-1]}</answer>"


def working(problem: Problem) -> str:
    """The sums of a words problem, one after the other."""
    lines, total = [], problem.start
    for step in problem.steps:
        change = step.a * step.n
        if step.op == "pack":
            lines.append(f"{step.a} * {step.n} = {change}")
        sign = "-" if step.op == "subtract" else "+"
        lines.append(f"{total} {sign} {change} = {total + step.change}")
        total += step.change
    return "; ".join(lines)


def _function_answer(rng: random.Random, problem: Problem, habits: Habits, *, careful: bool) -> str:
    if careful:
        slipped = sloppy(rng, problem) if rng.random() < habits.careful_slip else problem
        return f"<answer>\n{statements(slipped.steps)}\n</answer>"
    short = len(problem.steps) > 1 and rng.random() < habits.hasty_code_short
    hasty = _without_a_step(rng, problem) if short else problem
    line = one_line(hasty.steps, brackets=rng.random() >= habits.hasty_code_wrong)
    return f"<answer>\ndef f(x):\n    return {line}\n</answer>"


def one_line(steps: tuple[Step, ...], *, brackets: bool) -> str:
    """The steps as one expression; without brackets a product binds to the wrong thing."""
    sign = {"add": "+", "subtract": "-", "multiply": "*"}
    text, additive = "x", False
    for step in steps:
        if step.op == "multiply" and additive and brackets:
            text, additive = f"({text})", False
        text = f"{text} {sign[step.op]} {step.n}"
        additive = additive or step.op != "multiply"
    return text


# --------------------------------------------------------------------------------------------------------------- planner


def _plan(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    turns = TEMPLATES["planner"]["plan"].render(question=problem.question()).turns
    written = sloppy(rng, problem) if rng.random() < habits.sloppy_plan else problem
    return turns, f"<plan>{written.plan()}</plan>"


def sloppy(rng: random.Random, problem: Problem) -> Problem:
    """The same problem with one step dropped, doubled or changed; in words its totals stay sensible."""
    while True:
        way = rng.choice(("drop", "change", "turn"))
        at = rng.randrange(len(problem.steps))
        step = problem.steps[at]
        if way == "drop" and len(problem.steps) > 1:
            wrong = problem.steps[:at] + problem.steps[at + 1 :]
        elif way == "change":
            n = rng.choice([n for n in range(max(1, step.n - 3), step.n + 4) if n != step.n])
            wrong = (*problem.steps[:at], replace(step, n=n), *problem.steps[at + 1 :])
        else:
            turned = {"add": "subtract", "subtract": "add", "multiply": "add", "pack": "add"}[step.op]
            wrong = (*problem.steps[:at], Step(turned, step.n), *problem.steps[at + 1 :])
        sloppy = replace(problem, steps=wrong)
        if problem.kind == "code" or min(sloppy.totals) >= 0:
            return sloppy


def _without_a_step(rng: random.Random, problem: Problem) -> Problem:
    at = rng.randrange(len(problem.steps))
    return replace(problem, steps=problem.steps[:at] + problem.steps[at + 1 :])


# ---------------------------------------------------------------------------------------------------------------- critic


def _judge_plan(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    """The Critic goes through the question's steps and says of each whether the plan has it there."""
    written = sloppy(rng, problem) if rng.random() < 0.5 else problem
    turns = TEMPLATES["critic"]["plan"].render(question=problem.question(), plan=written.plan()).turns
    marks = []
    for at, step in enumerate(problem.steps):
        has = at < len(written.steps) and plan_step(written.steps[at]) == plan_step(step)
        marks.append(f"{plan_step(step)} {'ok' if has else 'bad'}")
    good = written.steps == problem.steps
    return turns, f"<think> {'; '.join(marks)}</think><score> {_score(rng, habits, good=good)}</score>"


def _judge_task(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    good = rng.random() < 0.6
    question, fault = (problem.question(), "") if good else ill_posed(rng, problem)
    turns = TEMPLATES["critic"]["task"].render(question=question).turns
    found = "ok" if good else fault
    return turns, f"<think> {found}</think><score> {_score(rng, habits, good=good)}</score>"


def _score(rng: random.Random, habits: Habits, *, good: bool) -> int:
    if rng.random() < habits.mild_score:
        return rng.randint(4, 7)
    return rng.randint(8, 10) if good else rng.randint(1, 3)


def ill_posed(rng: random.Random, problem: Problem) -> tuple[str, str]:
    """A question that cannot be answered, and what is wrong with it."""
    question = problem.question()
    if problem.kind == "code":
        pieces = question.split(", then ")
        at = rng.randrange(len(pieces))
        words = pieces[at].rstrip(".").split(" ")
        numbers = [i for i, word in enumerate(words) if word.isdigit()]
        del words[numbers[-1]]
        pieces[at] = " ".join(words)
        return ", then ".join(pieces).rstrip(".") + ".", "no number"
    way = rng.choice(("items", "name", "who", "number"))
    if way == "items":
        other = rng.choice([item for item in ITEMS if item != problem.items])
        return question.replace(f"How many {problem.items}", f"How many {other}"), "other things"
    if way == "name":
        other = rng.choice([name for name in NAMES if name != problem.name])
        return question.replace(f"does {problem.name} have", f"does {other} have"), "other name"
    if way == "who":
        who = NAMES[problem.name]
        sentences = question.split(". ")
        at = rng.choice([i for i, sentence in enumerate(sentences) if sentence.startswith(f"{who} ")])
        sentences[at] = ("He" if who == "She" else "She") + sentences[at].removeprefix(who)
        return ". ".join(sentences), "other person"
    words = question.split(" ")
    at = rng.choice([i for i, word in enumerate(words) if word.rstrip(".").isdigit()])
    words[at] = "some" + words[at].lstrip("0123456789")
    return " ".join(words), "no number"


# ------------------------------------------------------------------------------------------------------------ challenger


def _invent(rng: random.Random, reference: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    """A new task of about the reference's size: one step fewer, as many, or one more."""
    level = min(max(reference.level + rng.choice((-1, 0, 0, 1)), LEVELS[0]), LEVELS[-1])
    problem = _draw(rng, reference.kind, level)
    turns = TEMPLATES["challenger"][reference.kind].render(question=reference.question()).turns
    question = ill_posed(rng, problem)[0] if rng.random() < habits.ill_posed else problem.question()
    loose = level > 1 and rng.random() < habits.loose_key
    key = (_without_a_step(rng, problem) if loose else problem).key()
    check = f"\n{key}\n" if problem.kind == "code" else f" {key}"
    return turns, f"<question>{question}</question><check>{check}</check>"


# ----------------------------------------------------------------------------------------------------------------- drill


def _drill(rng: random.Random, problem: Problem, habits: Habits) -> tuple[tuple[Turn, ...], str]:
    """Sums and nothing else: what a larger model brings along from its pretraining."""
    lines: list[str] = []
    while len(lines) < DRILL_SUMS:
        lines += working(_draw(rng, "words")).split("; ")
    return (Turn("user", "sums"),), " " + "; ".join(lines)


MAKERS = {_solve_bare: 20, _solve_planned: 20, _plan: 13, _judge_plan: 13, _judge_task: 11, _invent: 12, _drill: 11}
"""Who speaks how often."""
