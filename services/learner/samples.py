"""The tokens of the current step's completions, and how they meet their rewards. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.learner.algorithms import trrpp
from services.learner.batch import TrainingSequence
from services.learner.config import LearnerConfig
from shared.messages import ExperienceRecorded, SampleCompleted


class Tokens(NamedTuple):
    """A completion in compact form."""

    prompt_ids: NDArray[np.int32]
    completion_ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]


class Samples:
    """Completions by id. Cleared when a step opens, since its samples come later; so it holds one step's at most."""

    def __init__(self) -> None:
        self._tokens: dict[str, Tokens] = {}

    def keep(self, fact: SampleCompleted) -> None:
        """Remembers a completion's tokens, unless its lineage says that it is a trial of the gate."""
        if not fact.lineage or fact.lineage.startswith("s"):
            prompt, completion = np.array(fact.prompt_ids, np.int32), np.array(fact.completion_ids, np.int32)
            self._tokens[fact.id] = Tokens(prompt, completion, np.array(fact.logprobs, np.float32))

    def clear(self) -> None:
        """Forgets everything."""
        self._tokens.clear()

    def sequences(self, experiences: Sequence[ExperienceRecorded], config: LearnerConfig) -> list[TrainingSequence]:
        """The experiences of the trained roles with their tokens and advantages, in the same order.

        Raises `LookupError` when an experience names a sample that was not seen: a fault, never to be passed over.
        """
        trained = [fact for fact in experiences if fact.role in config.roles]
        groups = [_group(fact, config) for fact in trained]
        advantages = trrpp.advantages([fact.reward for fact in trained], groups)
        return [
            TrainingSequence(*self._of(fact), float(advantage), str(fact.role))
            for fact, advantage in zip(trained, advantages, strict=True)
        ]

    def _of(self, fact: ExperienceRecorded) -> Tokens:
        if fact.sample not in self._tokens:
            raise LookupError(f"no completion with id {fact.sample} came before the {fact.role}'s experience {fact.lineage}")
        return self._tokens[fact.sample]


def _group(fact: ExperienceRecorded, config: LearnerConfig) -> Hashable:
    return tuple(getattr(fact, statistic) for statistic in config.statistics)
