"""Inference as a service: every request goes to the one worker thread, every outcome becomes a fact."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from services.inference.config import InferenceConfig
from services.inference.logic import fact_of
from services.inference.worker import Worker
from shared.config import read_section
from shared.engine.batch import Sampler, folder_loader
from shared.engine.port import Engine
from shared.messages import RunStarted, SampleCompleted, SampleFailed, SampleRequested
from shared.store import PolicyStore


class InferenceService:
    """Answers requests as they come; hundreds may be under way."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def handle(self, fact: SampleRequested) -> AsyncIterator[SampleCompleted | SampleFailed]:
        """The completion, or why there is none."""
        yield fact_of(fact, await asyncio.wrap_future(self._worker.submit(fact)))

    def close(self) -> None:
        """Stops the worker thread; requests that it has not answered fail."""
        self._worker.close()


def build(run: RunStarted, engine: Engine | None = None) -> InferenceService:
    """Inference for this run: policies come from the run's store. Raises `BadInput` for a mistake in the section."""
    config = read_section(InferenceConfig, run.config.get("inference", {}), "inference")
    load = folder_loader(PolicyStore(Path(run.store)).path, dtype=config.dtype, device=config.device)
    make = partial(
        Sampler,
        load,
        max_rows=config.max_rows,
        policies_in_memory=config.policies_in_memory,
        threads=config.threads,
    )
    return InferenceService(Worker(make))
