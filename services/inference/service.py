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
from shared.engine.batch import Failure, Sampler, folder_loader
from shared.engine.port import Engine
from shared.messages import RunStarted, SampleCompleted, SampleFailed, SampleRequested
from shared.store import PolicyStore

SECOND_LOOK_S = 0.5
"""A failure is said only after so long, in which the log is read on."""


class InferenceService:
    """Answers requests as they come; hundreds may be under way."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._unanswered: set[str] = set()

    def observe(self, fact: SampleRequested | SampleCompleted | SampleFailed) -> None:
        """Notes which requests the log has no answer to; there are never more of them than are under way."""
        if isinstance(fact, SampleRequested):
            self._unanswered.add(fact.id)
        else:
            self._unanswered.discard(fact.request)

    async def handle(self, fact: SampleRequested) -> AsyncIterator[SampleCompleted | SampleFailed]:
        """The completion, or why there is none; nothing when the log has the answer, and the policy may be gone by now.

        A process that was frozen may learn only after it failed that another one answered, so it looks once more.
        """
        if fact.id in self._unanswered:
            outcome = await asyncio.wrap_future(self._worker.submit(fact))
            if isinstance(outcome, Failure):
                await asyncio.sleep(SECOND_LOOK_S)
            if fact.id in self._unanswered:
                yield fact_of(fact, outcome)

    def given_up(self, fact: SampleRequested, reason: str) -> SampleFailed:
        """The word that whoever asked waits for."""
        return SampleFailed(request=fact.id, reason=reason)

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
