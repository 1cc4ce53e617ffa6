"""Trains the tiny model on the bootstrap corpus: a small Llama, Muon for its matrices, AdamW for the rest.

The model architecture is ``llama`` on purpose: for some others AutoTokenizer silently replaces a tokenizer of one's own.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from console.bootstrap.corpus import Transcript, transcripts
from console.bootstrap.habits import Habits
from console.bootstrap.tokenizer import build_tokenizer

VOCABULARY_SAMPLE = 8000
"""Transcripts read for the vocabulary; far more than it takes to see every word."""
POOL = 512
"""Transcripts sorted by length before they are cut into batches, so that little is padding."""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long and how hard to train. The defaults made models/tiny."""

    steps: int = 7000
    batch: int = 32
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 384
    matrix_lr: float = 0.01
    other_lr: float = 2e-3
    warm_up: int = 100
    decay_share: float = 0.4
    """Share of the steps at the end over which the learning rate falls to zero; decisive for how exact the model becomes."""
    prompt_weight: float = 0.3
    """Weight of the prompt's tokens in the loss: reading questions teaches the words too."""
    threads: int = 1


def pretrain(folder: Path, seed: int, recipe: Recipe, habits: Habits, report: Callable[[str], None]) -> None:
    """Trains from nothing and writes a complete transformers folder."""
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(seed)
    tokenizer = vocabulary(seed, habits)
    model = new_model(tokenizer, recipe)
    optimizers = make_optimizers(model, recipe)
    started, seen = time.monotonic(), 0
    for step, batch in enumerate(itertools.islice(batches(tokenizer, seed, recipe, habits), recipe.steps)):
        loss = _train_step(model, batch, optimizers, _schedule(step, recipe))
        seen += int(batch["weights"].gt(0).sum())
        if (step + 1) % 250 == 0:
            speed = seen / (time.monotonic() - started)
            report(f"step {step + 1}/{recipe.steps}  loss {loss:.4f}  {speed:,.0f} tokens/s")
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def vocabulary(seed: int, habits: Habits) -> PreTrainedTokenizerFast:
    """The tokenizer for this corpus."""
    sample = itertools.islice(transcripts(seed, habits), VOCABULARY_SAMPLE)
    return build_tokenizer(text for transcript in sample for text in (transcript.turns[0].content + "\n", transcript.reply))


def new_model(tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> Any:
    """An untrained Llama."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.feed_forward,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return LlamaForCausalLM(config)


def make_optimizers(model: Any, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name and "lm_head" not in name]
    rest = [p for name, p in model.named_parameters() if not (p.ndim == 2 and "embed" not in name and "lm_head" not in name)]
    return [
        torch.optim.Muon(inner, lr=recipe.matrix_lr, weight_decay=0.0),
        torch.optim.AdamW(rest, lr=recipe.other_lr, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def batches(tokenizer: PreTrainedTokenizerFast, seed: int, recipe: Recipe, habits: Habits) -> Iterator[dict[str, torch.Tensor]]:
    """Padded batches of about equal length, in seeded order."""
    rng = random.Random(seed)
    stream = transcripts(seed + 1, habits)
    while True:
        rows = sorted((encode(tokenizer, t) for t in itertools.islice(stream, POOL)), key=lambda row: len(row[0]))
        cuts = [rows[i : i + recipe.batch] for i in range(0, POOL, recipe.batch)]
        rng.shuffle(cuts)
        for cut in cuts:
            yield collate(cut, tokenizer.pad_token_id, recipe.prompt_weight)


def encode(tokenizer: PreTrainedTokenizerFast, transcript: Transcript) -> tuple[list[int], int]:
    """Ids of prompt, reply and end, and the prompt's length: just what inference shows the model."""
    turns = [{"role": turn.role, "content": turn.content} for turn in transcript.turns]
    prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply_ids = tokenizer(transcript.reply, add_special_tokens=False)["input_ids"]
    return [*prompt_ids, *reply_ids, tokenizer.eos_token_id], len(prompt_ids)


def collate(rows: list[tuple[list[int], int]], pad: int, prompt_weight: float) -> dict[str, torch.Tensor]:
    """Right-padded ids and the weight of each token in the loss."""
    width = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), width), pad)
    weights = torch.zeros(len(rows), width)
    for row, (tokens, prompt) in enumerate(rows):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        weights[row, :prompt] = prompt_weight
        weights[row, prompt : len(tokens)] = 1.0
    weights[:, 0] = 0.0
    return {"ids": ids, "weights": weights}


def _train_step(model: Any, batch: dict[str, torch.Tensor], optimizers: list[torch.optim.Optimizer], scale: float) -> float:
    logits = model(input_ids=batch["ids"]).logits[:, :-1]
    losses = cross_entropy(logits.flatten(0, 1), batch["ids"][:, 1:].flatten(), reduction="none")
    weights = batch["weights"][:, 1:].flatten()
    loss = (losses * weights).sum() / weights.sum()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group.setdefault("full_lr", group["lr"])
            group["lr"] = group["full_lr"] * scale
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


def _schedule(step: int, recipe: Recipe) -> float:
    """Trapezoid: a short rise, a plateau, a straight fall to zero."""
    rise = (step + 1) / recipe.warm_up
    fall = (recipe.steps - step) / (recipe.steps * recipe.decay_share)
    return min(1.0, rise, fall)
