"""How a role asks the model for text. Adapters: `shared.engine.scripted` (tests) and `shared.engine.durable` (over the bus)."""

from __future__ import annotations

from typing import Protocol

from shared.messages import Fact, Role, SampleCompleted, Sampling
from shared.prompts import Prompt


class SampleFault(Exception):
    """The engine could not answer; a fault of ours, not the model's."""


class Engine(Protocol):
    """One durable completion at a time.

    Asking again with the same cause and index, after a restart say, gives the recorded completion and costs nothing.
    """

    async def sample(
        self, cause: Fact, prompt: Prompt, sampling: Sampling, *, role: Role, policy: str, index: int = 0
    ) -> SampleCompleted:
        """The completion of `prompt` by `policy`. Raises `SampleFault` when the engine reports a failure."""
