"""Cutting, packing and padding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.learner.batch import TrainingSequence, collate, pack, split


def sequence(prompt: int, completion: int, advantage: float = 1.0) -> TrainingSequence:
    """A sequence of these lengths with ids 1, 2, 3, ..."""
    ids = np.arange(1, prompt + completion + 1, dtype=np.int32)
    logprobs = np.full(completion, -0.5, np.float32)
    return TrainingSequence(ids[:prompt], ids[prompt:], logprobs, advantage, "solver")


LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=25)


@given(LENGTHS, st.integers(1, 6), st.integers(0, 2**62))
def test_split_deals_every_sequence_once_and_repeats(lengths: list[tuple[int, int]], parts: int, seed: int) -> None:
    """Minibatches are a partition, nearly equal in size, and the same for the same seed."""
    sequences = [sequence(*length) for length in lengths]
    dealt = split(sequences, parts, seed)
    assert sorted(map(id, sequences)) == sorted(id(s) for part in dealt for s in part)
    assert all(dealt)
    assert not dealt or max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert [[id(s) for s in part] for part in dealt] == [[id(s) for s in part] for part in split(sequences, parts, seed)]


@given(LENGTHS, st.integers(1, 200))
def test_pack_keeps_to_the_bound(lengths: list[tuple[int, int]], bound: int) -> None:
    """Every sequence lies in one micro-batch, whose padded size keeps to the bound unless it is a single long row."""
    sequences = [sequence(*length) for length in lengths]
    packed = pack(sequences, bound)
    assert sorted(map(id, sequences)) == sorted(id(s) for rows in packed for s in rows)
    assert all(len(rows) == 1 or len(rows) * max(s.length for s in rows) <= bound for rows in packed)


def test_collate_pads_right_and_finds_the_completions() -> None:
    """Ids are followed by zeros, the mask marks real tokens, and the flat arrays name completion tokens only."""
    batch = collate([sequence(2, 1, 0.5), sequence(1, 3, -1.0)])
    assert batch.ids.tolist() == [[1, 2, 3, 0], [1, 2, 3, 4]]
    assert batch.mask.tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch.rows.tolist() == [0, 1, 1, 1]
    assert batch.columns.tolist() == [2, 1, 2, 3]
    assert batch.advantages.tolist() == [0.5, -1.0, -1.0, -1.0]
    assert len(batch.logprobs) == 4
