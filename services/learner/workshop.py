"""Where policies are made: the trainer, the store and the optimizer's files. Blocking; runs in a worker thread.

The optimizer's state of step n lies beside the store as ``s<n>-<policy>.pt``, complete before the step's `PolicyTrained` is
said. So a step can be done again after a kill at any moment and comes to the same policy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from services.learner.batch import TrainingSequence
from shared.messages import StepOpened, seed_from
from shared.store import PolicyStore

KEPT_OPTIMIZERS = 2
"""The state to go on from, and the one before it, in case the step is done again."""


class Trainer(Protocol):
    """What trains: `services.learner.train.Trainer`, or a plain object in tests."""

    def load(self, folder: Path) -> None:
        """Takes a policy's weights, with a fresh optimizer."""

    def load_optimizer(self, file: Path) -> None:
        """Takes an optimizer's saved state."""

    def update(self, sequences: Sequence[TrainingSequence], seed: int) -> dict[str, float]:
        """Trains one step and gives its metrics."""

    def save(self, folder: Path) -> None:
        """Writes a complete policy folder."""

    def save_optimizer(self, file: Path) -> None:
        """Writes the optimizer's state."""


class Made(NamedTuple):
    """A new policy's name and the metrics of its making."""

    policy: str
    metrics: dict[str, float]


class Workshop:
    """Makes one policy at a time. The trainer is built at the first need, since that loads the model."""

    def __init__(self, store: PolicyStore, build: Callable[[], Trainer], optimizers: Path) -> None:
        self._store = store
        self._build = build
        self._optimizers = optimizers
        self._trainer: Trainer | None = None
        self._at: tuple[int, str] | None = None
        self._busy = Lock()

    def make(self, opened: StepOpened, sequences: Sequence[TrainingSequence], *, fresh: bool) -> Made:
        """Trains the step's policy on the sequences and stores what came out.

        `fresh` starts with a new optimizer (first step, or after a rollback). Raises `FileNotFoundError` when the optimizer's
        state of the step before is gone, `BadInput` when the policy is.
        """
        with self._busy:
            trainer = self._ready(opened, fresh)
            self._at = None  # until all is done: whoever tries again starts from the files
            metrics = trainer.update(sequences, seed_from(opened.id, "minibatches"))
            policy = self._store.write(trainer.save)
            self._save_optimizer(trainer, self._file(opened.step, policy))
            self._at = (opened.step, policy)
            return Made(policy, metrics)

    def tidy(self, keep: AbstractSet[str], known: AbstractSet[str]) -> None:
        """Removes all other `known` policies, and optimizer states that no step will go on from.

        A policy that is not known may be newer than all that are: this Learner may have been frozen while another went on.
        """
        self._store.prune(keep, among=known)
        files = sorted(self._optimizers.glob("s*.pt"), key=_step_of)
        last = {_step_of(file) for file in files}
        for file in files:
            if _step_of(file) not in sorted(last)[-KEPT_OPTIMIZERS:]:
                file.unlink()

    def _ready(self, opened: StepOpened, fresh: bool) -> Trainer:
        """The trainer with the step's weights and the optimizer as the step before left it."""
        if self._trainer is None:
            self._trainer = self._build()
        if fresh or self._at != (opened.step - 1, opened.policy):
            self._at = None
            self._trainer.load(self._store.path(opened.policy))
            if not fresh:
                self._trainer.load_optimizer(self._file(opened.step - 1, opened.policy))
        return self._trainer

    def _file(self, step: int, policy: str) -> Path:
        return self._optimizers / f"s{step}-{policy}.pt"

    def _save_optimizer(self, trainer: Trainer, file: Path) -> None:
        self._optimizers.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        trainer.save_optimizer(unfinished)
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        unfinished.rename(file)


def _step_of(file: Path) -> int:
    return int(file.name[1:].split("-")[0])
