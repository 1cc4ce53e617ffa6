"""The key-value cache of one policy's rows: each row at its own position, all rows starting at position 0.

A transformers `Cache` appends the same number of tokens to every row. Here each row is written where it stands, so rows of
different ages share one forward pass without padding on the left, and a row's keys lie where they would lie if it were alone.
Rows are numbered 0, 1, 2, ... and the live ones always come first; what lies beyond a row's own position is never looked at.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache


class RowCache(Cache):  # type: ignore[misc]
    """Keys and values of all layers, rows x heads x length x size. Grows in powers of two and shrinks by `clear` only."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._rows = 0
        self._length = 0
        self._window = slice(0, 0)
        self._positions = torch.zeros(0, dtype=torch.long)
        self._span = 0

    def reserve(self, rows: int, length: int) -> None:
        """Makes room for `rows` rows of `length` tokens; what is there stays."""
        rows, length = max(_power_of_two(rows), self._rows), max(_power_of_two(length), self._length)
        if (rows, length) != (self._rows, self._length):
            self._rows, self._length = rows, length
            self._keys = [self._grown(old) for old in self._keys]
            self._values = [self._grown(old) for old in self._values]

    def aim(self, window: slice, positions: torch.Tensor, span: int) -> None:
        """Says what the next forward pass is about: these rows, their next tokens at `positions`, looking at `span` keys.

        `positions` is rows x tokens; several tokens of a row are consecutive, and then all rows stand at the same position.
        """
        self._window, self._positions, self._span = window, positions, span

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Called by each layer's attention: stores the new tokens and gives the keys and values of the rows in aim."""
        if layer_idx == len(self._keys):
            self._keys.append(self._zeros(key_states))
            self._values.append(self._zeros(value_states))
        keys, values = self._keys[layer_idx][self._window], self._values[layer_idx][self._window]
        if key_states.shape[2] == 1:
            rows = torch.arange(keys.shape[0], device=keys.device)
            keys[rows, :, self._positions[:, 0]] = key_states[:, :, 0]
            values[rows, :, self._positions[:, 0]] = value_states[:, :, 0]
        else:
            start = int(self._positions[0, 0])
            keys[:, :, start : start + key_states.shape[2]] = key_states
            values[:, :, start : start + key_states.shape[2]] = value_states
        return keys[:, :, : self._span], values[:, :, : self._span]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Number of keys in sight; callers give positions themselves and do not rely on it."""
        return self._span

    def move(self, sources: list[int], targets: list[int], length: int) -> None:
        """Copies the first `length` tokens of rows to other rows."""
        if sources:
            for store in (*self._keys, *self._values):
                store[targets, :, :length] = store[sources, :, :length]

    def clear(self) -> None:
        """Gives all memory back."""
        self._keys, self._values = [], []
        self._rows = self._length = 0

    def _zeros(self, like: torch.Tensor) -> torch.Tensor:
        """Zeros, not whatever was in memory: a masked key counts for nothing only when it is finite."""
        return torch.zeros((self._rows, like.shape[1], self._length, like.shape[3]), dtype=like.dtype, device=like.device)

    def _grown(self, old: torch.Tensor) -> torch.Tensor:
        new = self._zeros(old)
        new[: old.shape[0], :, : old.shape[2]] = old
        return new


def _power_of_two(number: int) -> int:
    return 1 << max(3, (number - 1).bit_length())
