"""A whole run in one event loop: all seven roles and inference over an in-process bus, with real parts everywhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from services.challenger.service import build as challenger
from services.critic.service import build as critic
from services.gate.service import build as gate
from services.inference.service import build as inference
from services.learner.service import build as learner
from services.planner.service import build as planner
from services.solver.service import build as solver
from services.verifier.service import build as verifier
from shared.bus.inprocess import InProcessBus
from shared.domains import load_domain
from shared.engine.durable import DurableEngine
from shared.flow import FLOW
from shared.handling import Service
from shared.messages import Fact, Role, RunStarted, TaskSeeded, digest, named
from shared.runtime import Runtime
from shared.store import PolicyStore

BUILDERS: dict[Role, Callable[[RunStarted, DurableEngine], Service]] = {
    Role.CHALLENGER: challenger,
    Role.CRITIC: critic,
    Role.PLANNER: planner,
    Role.SOLVER: solver,
    Role.VERIFIER: verifier,
    Role.LEARNER: learner,
    Role.GATE: gate,
    Role.INFERENCE: inference,
}


async def start(bus: InProcessBus, folder: Path, model: Path, config: Mapping[str, dict[str, Any]]) -> RunStarted:
    """Publishes what the console publishes: the run's first fact and its seed tasks."""
    store = PolicyStore(folder / "policies")
    seed = int(config["run"]["seed"])
    first = RunStarted(seed=seed, config=dict(config), base_policy=store.add_folder(model), store=str(store.root))
    run = named(first, digest("run", seed))
    seeds = load_domain(config["domain"]).seeds(int(config["domain"]["seeds"]), seed)
    await bus.publish([run])
    await bus.publish([named(TaskSeeded(task=t, key=k, lineage=f"seed.{i}"), run, i) for i, (t, k) in enumerate(seeds)])
    return run


async def serve_role(bus: InProcessBus, role: Role, run: RunStarted) -> None:
    """One role until it is cancelled, put together as its process does it."""
    engine = DurableEngine(bus, role)
    service = BUILDERS[role](run, engine)
    speaks = FLOW[role].speaks
    listeners = (engine.observe,) if speaks else ()
    try:
        await Runtime(role, service, bus, listeners=listeners, wants=engine.types if speaks else frozenset()).run()
    finally:
        getattr(service, "close", lambda: None)()


async def said_so_often(bus: InProcessBus, kind: type[Fact], count: int) -> None:
    """Waits until `count` facts of a type are in the log."""
    seen = after = 0
    while seen < count:
        page = await bus.read(after, [kind])
        seen, after = seen + len(page.facts), page.upto
        await bus.news(after, 0.5)


async def run_roles(bus: InProcessBus, run: RunStarted, until: type[Fact], count: int) -> None:
    """Runs all roles until `count` facts of a type are in the log."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(serve_role(bus, role, run)) for role in BUILDERS]
        await said_so_often(bus, until, count)
        for task in tasks:
            task.cancel()


async def facts_of(journal_bus: InProcessBus) -> list[Fact]:
    """The whole log."""
    facts: list[Fact] = []
    after = 0
    while True:
        page = await journal_bus.read(after)
        facts += [fact for _, fact in page.facts]
        if page.upto == after:
            return facts
        after = page.upto
