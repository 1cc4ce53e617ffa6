"""Services may start in any order and at any time, before the run and long after it began: nothing is lost or said twice."""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.bus.inprocess import InProcessBus
from shared.eventlog.memory import MemoryJournal
from shared.messages import EvaluationCompleted, Fact, Role
from shared.runtime import first_fact
from tests.loop.in_memory import BUILDERS, facts_of, said_so_often, serve_role, start
from tests.loop.small_run import one_step, said, small_config

RUN_AT = 0.3
"""Seconds after which the run's first facts are there."""


def shuffled(seed: int, apart_s: float) -> dict[Role, float]:
    """Every role in some order, each so many seconds after the one before it; the first is there before the run."""
    order = random.Random(seed).sample(list(BUILDERS), len(BUILDERS))
    return {role: place * apart_s for place, role in enumerate(order)}


STARTS: dict[str, Mapping[Role, float]] = {
    "all before the run": dict.fromkeys(reversed(BUILDERS), 0.0),
    "one after another": shuffled(1, 0.4),
    "one after another, in another order": shuffled(2, 0.4),
    "a long wait for inference": dict.fromkeys(BUILDERS, 0.0) | {Role.INFERENCE: 2.0},
    "a long wait for the learner": dict.fromkeys(BUILDERS, 0.0) | {Role.LEARNER: 2.0},
}


async def appear(bus: InProcessBus, role: Role, after_s: float) -> None:
    """A role that starts late, and then waits for the run like any other."""
    await asyncio.sleep(after_s)
    await serve_role(bus, role, await first_fact(bus))


@pytest.mark.parametrize("name", STARTS)
async def test_the_facts_do_not_depend_on_when_services_start(
    name: str, log: list[Fact], tmp_path: Path, tiny_model: Path
) -> None:
    """Whoever is late finds its work in the log, and the run says what it always says, byte for byte."""
    bus = InProcessBus(MemoryJournal())
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        tasks = [group.create_task(appear(bus, role, after_s)) for role, after_s in STARTS[name].items()]
        await asyncio.sleep(RUN_AT)
        await start(bus, tmp_path, tiny_model, small_config("run.seed=5"))
        await said_so_often(bus, EvaluationCompleted, 1)
        for task in tasks:
            task.cancel()
    facts = await facts_of(bus)
    await bus.close()
    assert said(facts) == said(log)


async def test_a_service_that_starts_after_the_end_says_nothing_new(log: list[Fact], tmp_path: Path, tiny_model: Path) -> None:
    """Every role, started anew on a finished log without a cursor, does its work again and adds no fact."""
    bus = InProcessBus(MemoryJournal())
    store = tmp_path / "again"
    again = await one_step(store, tiny_model, "run.seed=5")
    await bus.publish(again)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(serve_role(bus, role, await first_fact(bus))) for role in BUILDERS]
        await all_done(bus, len(again))
        for task in tasks:
            task.cancel()
    facts = await facts_of(bus)
    await bus.close()
    assert said(facts) == said(log)


async def all_done(bus: InProcessBus, head: int) -> None:
    """Waits until every role's cursor stands at the end of the log."""
    for _ in range(600):
        if all([await bus.cursor(role) >= head for role in BUILDERS]):
            return
        await asyncio.sleep(0.1)
    raise AssertionError("a role did not come to the end of the log")
