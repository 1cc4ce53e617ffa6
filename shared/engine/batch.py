"""The sampler: continuous batching over several policies, the same tokens whatever the company.

Requests wait in one line. Between decode steps as many as fit are admitted, strictly in turn, so that none starves; then every
policy that has rows takes one step. A policy's model is loaded when its first request comes up and stays in memory until
another needs the room. One thread owns a `Sampler`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from shared.engine.rows import PolicyRows, Row
from shared.engine.weights import load_model, load_tokenizer
from shared.errors import BadInput
from shared.messages import Sampling, Turn

Load = Callable[[str], tuple[Any, Any]]
"""Model and tokenizer of a policy by its name."""


class SampleJob(NamedTuple):
    """One completion to make. `key` is the caller's name for it, different for all jobs under way."""

    key: str
    policy: str
    turns: tuple[Turn, ...]
    sampling: Sampling
    seed: int


class Completion(NamedTuple):
    """What a model wrote. Log-probabilities are natural, of each token under the distribution it was drawn from."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    finish: str


class Failure(NamedTuple):
    """Why there is no completion."""

    reason: str


Outcome = Completion | Failure


def folder_loader(path: Callable[[str], Path], *, dtype: str = "float32", device: str = "cpu") -> Load:
    """Loads policies from the folders that `path` finds for their names."""

    def load(policy: str) -> tuple[Any, Any]:
        folder = path(policy)
        return load_model(folder, dtype=dtype, device=device), load_tokenizer(folder)

    return load


class Sampler:
    """Requests in by `submit`, outcomes out of `step`. On a CPU it needs one thread for the promise to hold bit for bit."""

    def __init__(self, load: Load, *, max_rows: int = 128, policies_in_memory: int = 4, threads: int = 1) -> None:
        """`max_rows` are answered at a time, over all policies. Sets the number of torch threads of the process."""
        torch.set_num_threads(threads)
        self._load = load
        self._max_rows = max_rows
        self._policies_in_memory = policies_in_memory
        self._waiting: deque[SampleJob] = deque()
        self._policies: OrderedDict[str, PolicyRows] = OrderedDict()
        self._refused: list[tuple[str, Outcome]] = []

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._waiting or self._refused or any(self._policies.values()))

    def submit(self, job: SampleJob) -> None:
        """Puts a request at the end of the line."""
        self._waiting.append(job)

    def step(self) -> list[tuple[str, Outcome]]:
        """Admits what fits, draws one token for every row, and gives the outcomes reached, by job key."""
        self._admit()
        done, self._refused = self._refused, []
        for name, policy in list(self._policies.items()):
            if policy:
                done += self._guarded(name, policy, policy.step)
        return done

    def run(self, jobs: Iterable[SampleJob]) -> list[Outcome]:
        """All outcomes, in the order of the jobs. For callers that have nothing else to do meanwhile."""
        keys = []
        for job in jobs:
            keys.append(job.key)
            self.submit(job)
        outcomes: dict[str, Outcome] = {}
        while self.busy:
            outcomes.update(self.step())
        return [outcomes[key] for key in keys]

    def _admit(self) -> None:
        """Reads the prompts of the requests at the front of the line that fit."""
        fresh: dict[str, list[Row]] = {}
        self._take_in_turn(fresh)
        for name, rows in fresh.items():
            policy = self._policies[name]
            self._refused += self._guarded(name, policy, partial(_admitted, policy, rows))

    def _take_in_turn(self, fresh: dict[str, list[Row]]) -> None:
        """Moves requests from the line to `fresh` until one does not fit. Those behind it wait, so it gets its turn."""
        room = self._max_rows - sum(len(policy) for policy in self._policies.values())
        while self._waiting and room > 0:
            policy = self._policy(self._waiting[0].policy, keep=fresh)
            if policy is None:
                break
            job = self._waiting.popleft()
            row = policy if isinstance(policy, Failure) else _row(job, policy)
            if isinstance(row, Failure):
                self._refused.append((job.key, row))
            else:
                fresh.setdefault(job.policy, []).append(row)
                room -= 1

    def _policy(self, name: str, keep: Iterable[str]) -> PolicyRows | Failure | None:
        """The policy, loaded if need be; None while there is no room for it; a failure when it cannot be loaded."""
        if name not in self._policies:
            if len(self._policies) >= self._policies_in_memory:
                idle = [other for other, rows in self._policies.items() if not rows and other not in keep]
                if not idle:
                    return None
                del self._policies[idle[0]]
            try:
                self._policies[name] = PolicyRows(*self._load(name))
            except BadInput as error:
                return Failure(f"policy {name}: {error}")
            except Exception as error:
                return Failure(f"policy {name} cannot be loaded: {type(error).__name__}: {error}")
        self._policies.move_to_end(name)
        return self._policies[name]

    def _guarded(self, name: str, policy: PolicyRows, work: Callable[[], list[Row]]) -> list[tuple[str, Outcome]]:
        """Outcomes of the rows that `work` ends. When it raises, all rows of this policy fail with the reason, no others."""
        try:
            return [(row.key, _completion(row, policy)) for row in work()]
        except Exception as error:
            failure = Failure(f"policy {name}: {type(error).__name__}: {error}")
            failed: list[tuple[str, Outcome]] = [(key, failure) for key in policy.keys]
            policy.drop()
            return failed


def _admitted(policy: PolicyRows, rows: list[Row]) -> list[Row]:
    """Admits the rows; none of them ends by that."""
    policy.admit(rows)
    return []


def _row(job: SampleJob, policy: PolicyRows) -> Row | Failure:
    """The request as a row, or why it cannot be one."""
    try:
        prompt = policy.text.render(job.turns)
    except Exception as error:
        return Failure(f"the prompt cannot be rendered: {type(error).__name__}: {error}")
    room = policy.context - job.sampling.max_tokens
    if not prompt or job.sampling.max_tokens < 1:
        return Failure(f"nothing to do: {len(prompt)} prompt tokens, {job.sampling.max_tokens} tokens to write")
    if len(prompt) > room:
        wanted = f"{len(prompt)} prompt tokens and {job.sampling.max_tokens} to write"
        return Failure(f"{wanted} do not fit the context of {policy.context}; shorten the prompt or lower max_tokens")
    return Row(job.key, prompt, job.sampling, job.seed)


def _completion(row: Row, policy: PolicyRows) -> Completion:
    text = policy.text.decode(row.ids)
    return Completion(tuple(row.prompt), tuple(row.ids), tuple(row.logprobs), text, row.finish)
