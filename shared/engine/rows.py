"""One policy's rows: prompts are read in, then all rows take one token a step, each row as if it were alone.

A row's numbers do not depend on its company, bit for bit, because every operation on it has the same shape of work whatever
else is going on: prompts are read in pieces of `PIECE` tokens, attention looks at a multiple of `SPAN` keys, the last prompt
token goes through the same one-token pass as all later ones, which never has fewer than `GROUP` rows (matrix libraries switch
kernels for one to three rows; a piece of a single prompt has 32). tests/shared/engine/test_invariance.py holds it to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from shared.engine.cache import RowCache
from shared.engine.draw import draw, uniforms
from shared.engine.text import Text
from shared.errors import BadInput
from shared.messages import Sampling

PIECE = 32
SPAN = 64
GROUP = 8


@dataclass(slots=True)
class Row:
    """A request that is being answered."""

    key: str
    prompt: list[int]
    sampling: Sampling
    seed: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = ""
    """Empty while the row is alive, then ``stop`` or ``length``."""

    @property
    def position(self) -> int:
        """Where the newest token stands, whose successor is drawn next."""
        return len(self.prompt) + len(self.ids) - 1

    @property
    def newest(self) -> int:
        """The newest token."""
        return self.ids[-1] if self.ids else self.prompt[-1]


class PolicyRows:
    """A model with the rows that it is answering."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Raises `BadInput` when a layer of the model does not look at all earlier tokens."""
        self._model = model
        self._device = model.device
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        self.context: int = config.max_position_embeddings
        window = getattr(config, "sliding_window", None)
        if kinds != {"full_attention"} or (window and window < self.context and not hasattr(config, "layer_types")):
            raise BadInput(f"model type {config.model_type} has layers other than full attention; use one without them")
        self.text = Text(tokenizer, config, getattr(model, "generation_config", None))
        self._cache = RowCache()
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def keys(self) -> list[str]:
        """Which requests are being answered."""
        return [row.key for row in self._rows]

    def drop(self) -> None:
        """Forgets all rows and gives their memory back."""
        self._rows = []
        self._cache.clear()

    @torch.inference_mode()
    def admit(self, rows: list[Row]) -> None:
        """Reads the prompts of new rows, all but the last token of each, and puts them beside the others.

        Equal prompts are read once and copied: several attempts at one task usually come together.
        """
        leaders = list({tuple(row.prompt): row for row in sorted(rows, key=lambda row: -len(row.prompt))}.values())
        leading = {id(row) for row in leaders}
        followers = [row for row in rows if id(row) not in leading]
        first = len(self._rows)
        longest = max(len(row.prompt) + row.sampling.max_tokens for row in rows)
        self._cache.reserve(first + len(rows) + 2 * GROUP, _up(longest, SPAN))
        self._rows += leaders + followers
        for start in range(0, len(leaders[0].prompt) - 1, PIECE):
            self._read(first, start, [row.prompt[start : start + PIECE] for row in leaders if len(row.prompt) - 1 > start])
        places = {tuple(row.prompt): first + index for index, row in enumerate(leaders)}
        sources = [places[tuple(row.prompt)] for row in followers]
        targets = list(range(first + len(leaders), first + len(rows)))
        self._cache.move(sources, targets, len(leaders[0].prompt))

    def _read(self, first: int, start: int, pieces: list[list[int]]) -> None:
        """One pass over a piece of each prompt. What lies beyond a prompt's end is written over before it is looked at."""
        count = len(pieces)
        padded = [piece + [0] * (PIECE - len(piece)) for piece in pieces]
        span = _up(start + PIECE, SPAN)
        stands = torch.arange(start, start + PIECE, device=self._device)
        mask = self._mask(stands[None, :], span)
        self._cache.aim(slice(first, first + count), stands.expand(count, -1), span)
        self._model.base_model(
            input_ids=torch.tensor(padded, device=self._device),
            attention_mask=mask.expand(count, 1, PIECE, span),
            position_ids=stands.clamp(max=self.context - 1).expand(count, -1),
            cache=self._cache,
            use_cache=True,
        )

    @torch.inference_mode()
    def step(self) -> list[Row]:
        """Draws one token for every row. Gives the rows that ended with it, which then are no longer here."""
        rows = self._rows
        logits = self._forward(rows)
        numbers = uniforms([row.seed for row in rows], [len(row.ids) for row in rows])
        tokens, logprobs = draw(logits, [row.sampling.temperature for row in rows], numbers)
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            row.ids.append(token)
            row.logprobs.append(logprob)
            if token in self.text.ends or self.text.stopped(row.ids, row.sampling.stop):
                row.finish = "stop"
            elif len(row.ids) >= row.sampling.max_tokens:
                row.finish = "length"
        return self._close_ranks()

    def _forward(self, rows: list[Row]) -> torch.Tensor:
        count = _up(len(rows), GROUP)
        padding = [0] * (count - len(rows))
        tokens = torch.tensor([row.newest for row in rows] + padding, device=self._device)[:, None]
        stands = torch.tensor([row.position for row in rows] + padding, device=self._device)[:, None]
        span = _up(max(row.position for row in rows) + 1, SPAN)
        self._cache.aim(slice(0, count), stands, span)
        out = self._model(
            input_ids=tokens, attention_mask=self._mask(stands, span), position_ids=stands, cache=self._cache, use_cache=True
        )
        logits: torch.Tensor = out.logits[: len(rows), -1]
        return logits

    def _mask(self, stands: torch.Tensor, span: int) -> torch.Tensor:
        """What each token may look at, itself and what is before it, as numbers to add: rows x 1 x tokens x keys."""
        hidden = torch.arange(span, device=self._device) > stands[:, :, None]
        mask = torch.zeros(hidden.shape, dtype=self._model.dtype, device=self._device)
        return mask.masked_fill_(hidden, float("-inf"))[:, None]

    def _close_ranks(self) -> list[Row]:
        """Takes ended rows out; rows from the back fill the gaps, so that the live ones always come first."""
        ended = [row for row in self._rows if row.finish]
        if ended:
            alive = len(self._rows) - len(ended)
            gaps = [i for i, row in enumerate(self._rows[:alive]) if row.finish]
            movers = [i for i, row in enumerate(self._rows) if i >= alive and not row.finish]
            self._cache.move(movers, gaps, max(row.position for row in self._rows))
            for gap, mover in zip(gaps, movers, strict=True):
                self._rows[gap] = self._rows[mover]
            del self._rows[alive:]
            if not self._rows:
                self._cache.clear()
        return ended


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
