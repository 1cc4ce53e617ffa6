"""The Challenger's knobs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from shared.messages import Sampling


class ChallengerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[challenger]`` section of a run file."""

    prompts: str = "terse"
    """Prompt set: ``terse`` for the tiny model, ``plain`` for ordinary instruct models; a folder of ``prompts/``."""
    temperature: Annotated[float, Meta(ge=0.0, le=5.0)] = 1.0
    """Sampling temperature; training data wants 1."""
    max_tokens: Annotated[int, Meta(ge=1, le=32_768)] = 128
    """Longest reply."""
    stop: tuple[str, ...] = ("</check>",)
    """A reply ends right after the first of these."""

    @property
    def sampling(self) -> Sampling:
        """The settings as the engine takes them."""
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens, stop=self.stop)
