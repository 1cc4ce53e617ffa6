"""A run of one step, small enough for seconds, and what it said in a form that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from console.runfile import load_run_file
from shared.bus.inprocess import InProcessBus
from shared.codec import encode
from shared.eventlog.memory import MemoryJournal
from shared.messages import EvaluationCompleted, Fact, RunStarted
from tests.loop.in_memory import facts_of, run_roles, start

SMALL = (
    "run.steps=1", "domain.seeds=20", "learner.num_challenges=4", "learner.num_assignments=3", "learner.threads=1",
    "gate.max_pairs=16", "gate.min_pairs_per_kind=1", "gate.block=8", "gate.test_tasks=6", "gate.test_temperatures=[1.0]",
)  # fmt: skip
ROOT = Path(__file__).parents[2]


def small_config(*settings: str) -> dict[str, dict[str, Any]]:
    """The shipped run file, cut down to one small step."""
    return load_run_file(ROOT / "runs" / "tiny.toml", [*SMALL, *settings]).describe()


async def one_step(folder: Path, model: Path, *settings: str) -> list[Fact]:
    """The whole log of a run with one step."""
    bus = InProcessBus(MemoryJournal())
    run = await start(bus, folder, model, small_config(*settings))
    await run_roles(bus, run, EvaluationCompleted, 1)
    facts = await facts_of(bus)
    await bus.close()
    return facts


def said(facts: Sequence[Fact]) -> dict[str, bytes]:
    """What a run said, by id; where its store lies is no part of it."""
    plain = [msgspec.structs.replace(fact, store="") if isinstance(fact, RunStarted) else fact for fact in facts]
    return {fact.id: encode(fact) for fact in plain}
