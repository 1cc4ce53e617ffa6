"""Sequences to train on, and how they are cut into minibatches and packed into micro-batches. Numbers only, no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class TrainingSequence(NamedTuple):
    """One sampled completion with what it earned.

    ``logprobs`` are those recorded at sampling time (nats), one for each completion token. ``advantage`` is the
    standardised reward, the same for every token of the completion.
    """

    prompt_ids: NDArray[np.int32]
    completion_ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    advantage: float
    role: str

    @property
    def length(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt_ids) + len(self.completion_ids)


class MicroBatch(NamedTuple):
    """Right-padded rows for one forward pass, and where its completion tokens are.

    Token ``i`` of the flat arrays is ``ids[rows[i], columns[i]]``; its probability is read from the logits one column earlier.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    logprobs: NDArray[np.float32]
    advantages: NDArray[np.float32]


def split(sequences: Sequence[TrainingSequence], parts: int, seed: int) -> list[list[TrainingSequence]]:
    """The sequences shuffled by `seed` and dealt into `parts` lists of nearly equal length; no empty list."""
    order = np.random.default_rng(seed).permutation(len(sequences))
    return [[sequences[i] for i in piece] for piece in np.array_split(order, parts) if len(piece)]


def pack(sequences: Sequence[TrainingSequence], max_tokens: int) -> list[list[TrainingSequence]]:
    """Rows of similar length together, each list at most `max_tokens` once padded; a longer sequence goes alone."""
    packed: list[list[TrainingSequence]] = []
    for sequence in sorted(sequences, key=lambda s: s.length):
        if packed and sequence.length * (len(packed[-1]) + 1) <= max_tokens:
            packed[-1].append(sequence)
        else:
            packed.append([sequence])
    return packed


def collate(sequences: Sequence[TrainingSequence]) -> MicroBatch:
    """Right-padded arrays of the sequences. Padding is id 0 and masked out."""
    width = max(s.length for s in sequences)
    ids = np.zeros((len(sequences), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, s in enumerate(sequences):
        ids[row, : s.length] = np.concatenate([s.prompt_ids, s.completion_ids])
        mask[row, : s.length] = 1
    lengths = [len(s.completion_ids) for s in sequences]
    return MicroBatch(
        ids,
        mask,
        rows=np.repeat(np.arange(len(sequences)), lengths),
        columns=np.concatenate([np.arange(len(s.prompt_ids), s.length) for s in sequences]),
        logprobs=np.concatenate([s.logprobs for s in sequences]).astype(np.float32),
        advantages=np.repeat([s.advantage for s in sequences], lengths).astype(np.float32),
    )
