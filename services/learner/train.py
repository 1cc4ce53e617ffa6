"""The model, its optimizer and one update: the only file of the Learner that touches torch besides the algorithm's formulas.

One `update` is one joint step over the sequences of all roles: minibatches by seed, micro-batches by size, gradients added up
so that a minibatch counts as a whole. With the same threads, weights and sequences the result is the same bit for bit.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from services.learner.algorithms import trrpp
from services.learner.batch import MicroBatch, TrainingSequence, collate, pack, split
from services.learner.config import LearnerConfig
from shared.engine.weights import load_model

BETAS = (0.9, 0.98)
WEIGHT_FILES = (".safetensors", ".bin", ".gguf", ".pt", ".index.json")

Totals = defaultdict[str, float]
"""Sums over the tokens of an update, by name."""


class Scores(NamedTuple):
    """What the model says of the completion tokens of a micro-batch."""

    logprobs: Tensor
    entropy: Tensor


class Trainer:
    """Holds the working policy. Not safe for two threads at once."""

    def __init__(self, base: Path, config: LearnerConfig) -> None:
        """Starts from the policy in `base`, which is also what the divergence is measured from."""
        torch.set_num_threads(config.threads)
        self._base = base
        self._config = config
        self._model = load_model(base)
        self._reference = load_model(base).requires_grad_(False) if config.kl > 0 else None
        self._reset_optimizer()

    def _reset_optimizer(self) -> None:
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=0.0, betas=BETAS, weight_decay=0.0)
        self._steps = 0

    # ------------------------------------------------------------------------------------------------------- files

    def load(self, folder: Path) -> None:
        """Takes the weights of a policy; the optimizer starts afresh."""
        self._model = load_model(folder)
        self._reset_optimizer()

    def save(self, folder: Path) -> None:
        """Writes a complete transformers folder: weights, configuration, and the base's tokenizer files as they are."""
        self._model.save_pretrained(folder)
        for file in sorted(self._base.iterdir()):
            if file.is_file() and not file.name.endswith(WEIGHT_FILES) and not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)

    def save_optimizer(self, file: Path) -> None:
        """Writes the optimizer's moments and the number of steps taken."""
        torch.save({"optimizer": self._optimizer.state_dict(), "steps": self._steps}, file)

    def load_optimizer(self, file: Path) -> None:
        """Takes what `save_optimizer` wrote."""
        state = torch.load(file, weights_only=True)
        self._optimizer.load_state_dict(state["optimizer"])
        self._steps = int(state["steps"])

    # ------------------------------------------------------------------------------------------------------ update

    def update(self, sequences: Sequence[TrainingSequence], seed: int) -> dict[str, float]:
        """One joint update; gives the step's metrics, all means over completion tokens unless their name says otherwise.

        ``logprob_gap`` is the mean absolute difference between recorded and recomputed log-probabilities before the first
        change: what sampling and training disagree by on the same weights.
        """
        torch.set_num_threads(self._config.threads)  # torch keeps this per thread, and steps run in worker threads
        self._steps += 1
        rate = self._config.lr * min(1.0, self._steps / max(1, self._config.warmup_steps))
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        totals: Totals = defaultdict(float)
        trainable = [s for s in sequences if len(s.completion_ids)]
        for epoch in range(self._config.epochs):
            for minibatch in split(trainable, self._config.minibatches, seed + epoch):
                self._minibatch(minibatch, totals)
        return _metrics(totals, sequences) | {"lr": rate}

    def _minibatch(self, sequences: Sequence[TrainingSequence], totals: Totals) -> None:
        self._optimizer.zero_grad()
        num_tokens = sum(len(s.completion_ids) for s in sequences)
        first = totals["updates"] == 0
        for rows in pack(sequences, self._config.micro_tokens):
            batch = collate(rows)
            scores = self._scores(self._model, batch, with_entropy_gradient=self._config.entropy > 0)
            if first:
                gap = (scores.logprobs.detach() - torch.from_numpy(batch.logprobs)).abs()
                totals["gap"] += float(gap.sum())
                totals["gap_max"] = max(totals["gap_max"], float(gap.max()))
                totals["gap_tokens"] += len(batch.rows)
            torch.autograd.backward(self._loss(batch, scores, totals) / num_tokens)
        norm = torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._config.grad_clip)
        self._optimizer.step()
        totals["updates"] += 1
        totals["grad_norm"] += float(norm)

    def _loss(self, batch: MicroBatch, scores: Scores, totals: Totals) -> Tensor:
        """The sum of the token losses; the caller divides by the minibatch's tokens."""
        recorded, advantage = torch.from_numpy(batch.logprobs), torch.from_numpy(batch.advantages)
        loss = trrpp.policy_loss(scores.logprobs, recorded, advantage, self._config.clip).sum()
        if self._reference is not None:
            with torch.no_grad():
                reference = self._scores(self._reference, batch).logprobs
            divergence = trrpp.k3_divergence(scores.logprobs, reference).sum()
            loss = loss + self._config.kl * divergence
            totals["kl"] += float(divergence.detach())
        loss = loss - self._config.entropy * scores.entropy.sum()
        logprobs = scores.logprobs.detach()
        totals["tokens"] += len(batch.rows)
        totals["loss"] += float(loss.detach())
        totals["entropy"] += float(scores.entropy.detach().sum())
        totals["ratio"] += float((logprobs - recorded).exp().sum())
        totals["clipped"] += int(trrpp.is_clipped(logprobs, recorded, advantage, self._config.clip).sum())
        return loss

    def _scores(self, model: Any, batch: MicroBatch, with_entropy_gradient: bool = False) -> Scores:
        ids = torch.from_numpy(batch.ids)
        rows, columns = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
        start = int(batch.columns.min()) - 1  # logits before the first completion token are never needed
        keep = torch.arange(start, ids.shape[1] - 1)
        mask = torch.from_numpy(batch.mask)
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=keep).logits
        distribution = (logits[rows, columns - 1 - start].float() / self._config.temperature).log_softmax(-1)
        logprobs = distribution.gather(-1, ids[rows, columns].unsqueeze(-1)).squeeze(-1)
        with torch.set_grad_enabled(with_entropy_gradient):
            return Scores(logprobs, trrpp.entropy(distribution))


def _metrics(totals: Totals, sequences: Sequence[TrainingSequence]) -> dict[str, float]:
    tokens, updates = max(1, totals["tokens"]), max(1, totals["updates"])
    by_role: defaultdict[str, list[float]] = defaultdict(list)
    for sequence in sequences:
        by_role[sequence.role].append(abs(sequence.advantage))
    return {
        "loss": totals["loss"] / tokens,
        "kl": totals["kl"] / tokens,
        "entropy": totals["entropy"] / tokens,
        "clip_share": totals["clipped"] / tokens,
        "ratio_mean": totals["ratio"] / tokens,
        "grad_norm": totals["grad_norm"] / updates,
        "logprob_gap": totals["gap"] / max(1, totals["gap_tokens"]),
        "logprob_gap_max": float(totals["gap_max"]),
        "tokens": float(sum(len(s.completion_ids) for s in sequences)),
        "sequences": float(len(sequences)),
    } | {f"advantage.{role}": sum(sizes) / len(sizes) for role, sizes in sorted(by_role.items())}
