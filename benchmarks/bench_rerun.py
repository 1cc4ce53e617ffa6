"""How fast is a re-run, and does its memory stay flat? The Solver and the Verifier, again, on a long recording.

``python benchmarks/bench_rerun.py [--facts N]`` first lets the two real roles work, wave after wave, on plans that it makes up
and with a scripted model, and writes all that is said into one log: a seventh of the facts are completions of 40 tokens. Then
`sagepace rerun` runs in a process of its own, with every role's share of the log, and is timed from start to end.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from services.solver.service import build as solver
from services.verifier.service import build as verifier
from shared.bus.inprocess import InProcessBus
from shared.engine.durable import DurableEngine
from shared.eventlog.memory import MemoryJournal
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import (
    ExperienceRecorded,
    Fact,
    Key,
    PlanJudged,
    Role,
    RunStarted,
    SampleCompleted,
    SampleRequested,
    Task,
    TaskSeeded,
    named,
)
from shared.runtime import Runtime

ROOT = Path(__file__).resolve().parents[1]
WAVE = 200
"""Plans put to the Solver at a time; each gives 20 facts more."""
TASKS = [Task(id=f"t{i}", question=f"Ann has {i} pens and buys 3 more. How many has she?", kind="words") for i in range(50)]
TOKENS = tuple(range(40))
BUILDERS = {Role.SOLVER: solver, Role.VERIFIER: verifier}


def beginning() -> list[Fact]:
    """The run's first facts."""
    run = named(RunStarted(seed=1, config={}, base_policy="p0", store="nowhere"), "bench")
    return [run, *(named(TaskSeeded(task=task, key=Key(f"{i} + 3")), run, i) for i, task in enumerate(TASKS))]


def plan(number: int, cause: Fact) -> PlanJudged:
    """A plan for the Solver to follow."""
    fact = PlanJudged(
        step=1, slot=number, policy="p0", task=TASKS[number % len(TASKS)], plan="add both", plan_sample="x", plan_format=1.0,
        quality=0.9, sample="y", format=1.0, lineage=f"s1.a{number}",
    )  # fmt: skip
    return named(fact, cause, number)


def completion(request: SampleRequested) -> SampleCompleted:
    """What the scripted model answers; right every other time."""
    text = f"<answer>{request.seed % 2 * 3 + int(request.turns[-1].content.split(' has ')[1].split()[0])}</answer>"
    fact = SampleCompleted(
        request=request.id, role=request.role, policy="p0", prompt_ids=TOKENS, completion_ids=TOKENS,
        logprobs=tuple(-1 / (n + 3) for n in TOKENS), text=text, finish="stop",
    )  # fmt: skip
    return named(fact, request)


async def serve(bus: InProcessBus, role: Role, run: RunStarted) -> None:
    """One real role on the bus."""
    engine = DurableEngine(bus, role)
    listeners = (engine.observe,) if role is Role.SOLVER else ()
    wants = engine.types if role is Role.SOLVER else frozenset()
    await Runtime(role, BUILDERS[role](run, engine), bus, listeners=listeners, wants=wants).run()


async def wave(first: list[Fact], start: int) -> MemoryJournal:
    """All that is said about one wave of plans, behind the first facts."""
    journal = MemoryJournal()
    bus = InProcessBus(journal)
    run = first[0]
    assert isinstance(run, RunStarted)
    await bus.publish(first)
    await bus.publish([plan(number, run) for number in range(start, start + WAVE)])
    tasks = [asyncio.create_task(serve(bus, role, run)) for role in BUILDERS]
    seen, earned = 0, 0
    while earned < 4 * WAVE:
        page = await bus.read(seen, [SampleRequested, ExperienceRecorded])
        seen = page.upto
        earned += sum(isinstance(fact, ExperienceRecorded) for _, fact in page.facts)
        await bus.publish([completion(fact) for _, fact in page.facts if isinstance(fact, SampleRequested)])
        if not page.facts:
            await bus.news(seen, 1.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return journal


def record(path: Path, facts: int) -> int:
    """Writes a log of at least so many facts; how many they are."""
    journal, first, start = SqliteJournal(path), beginning(), 0
    while journal.head < facts:
        said = asyncio.run(wave(first, start)).entries
        journal.append(said)  # the first facts again and again: the log takes an id once
        start += WAVE
    head = journal.head
    journal.append([], dict.fromkeys(BUILDERS, head))
    journal.close()
    return head


def cpu_seconds() -> float:
    """Processor time of all processes that were run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder: Path, role: Role) -> list[str]:
    """One row of the table: the re-run of a role as a process."""
    command = [sys.executable, "-m", "console", "rerun", str(folder), "--service", role, "--json"]
    began, worked = time.perf_counter(), cpu_seconds()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    seconds, worked = time.perf_counter() - began, cpu_seconds() - worked
    result = msgspec.json.decode(done.stdout)
    assert done.returncode == 0, done.stderr.decode()
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        str(role), f"{result['facts']:,}", f"{result['same']:,}", f"{seconds:.1f}", f"{worked:.1f}",
        f"{result['facts'] / seconds:,.0f}", f"{result['same'] / seconds:,.0f}", f"{peak_mb:.0f}",
    ]  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--facts", type=int, default=60_000, help="length of the recording [%(default)s]")
    options = parser.parse_args()
    table = Table("role", "facts in the log", "compared", "seconds", "CPU s", "facts/s", "compared/s", "peak MB")
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder) / "log.sqlite", options.facts)
        for role in BUILDERS:
            table.add_row(*timed(Path(folder), role))
    Console().print(table)


if __name__ == "__main__":
    main()
