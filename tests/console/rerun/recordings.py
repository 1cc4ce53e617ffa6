"""Small recordings for tests: written from facts, or a real one changed, and a role run again on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from console.rerun.again import Rerun, Wishes
from console.rerun.result import Result
from console.rerun.role import build_of
from shared.codec import decode, encode
from shared.eventlog.entry import entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.reader import LogReader
from shared.eventlog.schema import HANDLED_FROM
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    Fact,
    Key,
    Purpose,
    Role,
    RunStarted,
    Task,
    TaskSeeded,
    Verdict,
    named,
)
from shared.serve import Build

HISTORIES = Path(__file__).parents[2] / "replay" / "histories"
COMMIT = HISTORIES / "commit" / "log.sqlite"
"""A real run of two steps that ends with a commit."""


def write(path: Path, facts: Iterable[Fact], cursors: Mapping[str, int] | None = None, context: int = 0) -> Path:
    """A log of these facts; the first `context` of them are seen and not worked on."""
    path.parent.mkdir(exist_ok=True)
    meta = {HANDLED_FROM: str(context)} if context else {}
    write_log(
        path, ((1_000_000 * seq, entry_of(encode(fact))) for seq, fact in enumerate(facts)), meta=meta, cursors=cursors or {}
    )
    return path


def facts_of(log: Path) -> list[Fact]:
    """All facts of a log."""
    with closing(LogReader(log)) as reader:
        return [decode(row.payload) for row in reader.rows()]


def marks_of(log: Path) -> dict[str, int]:
    """The subscribers' marks in a log."""
    with closing(LogReader(log)) as reader:
        return reader.cursors()


def changed(log: Path, path: Path, change: Callable[[Fact], Fact]) -> Path:
    """A copy of a log in which every fact has gone through `change`."""
    return write(path, map(change, facts_of(log)), marks_of(log))


def again(
    log: Path, role: Role, *settings: str, build: Build | None = None, live: bool = False, model: Path | None = None
) -> Result:
    """A re-run of a role."""
    with closing(LogReader(log)) as reader:
        rerun = Rerun(reader, role, build or build_of(role), Wishes(settings, live, model))
        rerun.play()
        return rerun.result()


RUN = named(RunStarted(seed=1, config={}, base_policy="p0", store="nowhere"), "run")
TASKS = [Task(id=f"t{i}", question=f"{i} + 1?", kind="words") for i in range(4)]


def seeded() -> list[Fact]:
    """A run's beginning: keys for the Verifier."""
    return [RUN, *(named(TaskSeeded(task=task, key=Key(f"{i} + 1")), RUN, i) for i, task in enumerate(TASKS))]


def answer(number: int, task: int = 0, value: str = "1") -> AnswerProposed:
    """An answer to a seeded task, with an identity of its own."""
    fact = AnswerProposed(
        purpose=Purpose.SOLVE, task=TASKS[task], attempt=number, answer=value, sample="s", format=1.0, lineage=f"s1.a{number}"
    )
    return named(fact, RUN, number)


def grade(fact: AnswerProposed, verdict: Verdict = Verdict.CORRECT, reason: str = "equal") -> AnswerGraded:
    """What the Verifier says of an answer."""
    graded = AnswerGraded(
        purpose=fact.purpose, task=fact.task, attempt=fact.attempt, verdict=verdict, reason=reason, sample=fact.sample,
        format=fact.format,
    )  # fmt: skip
    return named(graded, fact)
