"""A request's answer is the same, bit for bit, whatever else goes on."""

from __future__ import annotations

import random
import struct

import pytest
import torch

from shared.engine.batch import Completion, Outcome, SampleJob, Sampler
from tests.shared.engine.tiny_models import job, many_jobs, tiny_model, tiny_tokenizer


def sampler(max_rows: int = 128, policies_in_memory: int = 4) -> Sampler:
    """Policies p, q and r with weights of their own; r with as many key heads as query heads."""
    weights = {"p": tiny_model(0), "q": tiny_model(1), "r": tiny_model(2, kv_heads=4)}
    return Sampler(lambda name: (weights[name], tiny_tokenizer()), max_rows=max_rows, policies_in_memory=policies_in_memory)


def alone(jobs: list[SampleJob]) -> dict[str, Outcome]:
    """Each request answered by a sampler of its own."""
    return {each.key: sampler().run([each])[0] for each in jobs}


def in_company(jobs: list[SampleJob], seed: int) -> dict[str, Outcome]:
    """The requests in random order, arriving at random times, with random room."""
    rnd = random.Random(seed)
    waiting = rnd.sample(jobs, k=len(jobs))
    subject = sampler(max_rows=rnd.choice([2, 5, 16, 128]))
    outcomes: dict[str, Outcome] = {}
    while waiting or subject.busy:
        for _ in range(min(len(waiting), rnd.choice([0, 0, 1, 4]))):
            subject.submit(waiting.pop())
        outcomes.update(subject.step())
    return outcomes


def bits(outcome: Outcome) -> tuple[object, ...]:
    """Everything in an outcome, log-probabilities as bytes."""
    assert isinstance(outcome, Completion)
    return (*outcome[:2], struct.pack(f"{len(outcome.logprobs)}d", *outcome.logprobs), *outcome[3:])


@pytest.fixture(scope="module")
def jobs() -> list[SampleJob]:
    """Requests to three policies."""
    return many_jobs(24, seed=5, policies=("p", "q", "r"))


@pytest.fixture(scope="module")
def lonely(jobs: list[SampleJob]) -> dict[str, Outcome]:
    """Their outcomes without any company."""
    return alone(jobs)


@pytest.mark.parametrize("seed", range(6))
def test_company_order_and_arrival_change_no_bit(jobs: list[SampleJob], lonely: dict[str, Outcome], seed: int) -> None:
    """Tokens and log-probabilities are those of the request alone, with three policies under way at once."""
    together = in_company(jobs, seed)
    assert {key: bits(value) for key, value in together.items()} == {key: bits(value) for key, value in lonely.items()}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 9, 65])
def test_equal_requests_get_equal_answers_in_any_number(count: int) -> None:
    """The same request in every row of a batch gives one answer, whatever the size of the batch."""
    reference = sampler().run([job(seed=9)])[0]
    outcomes = sampler().run([job(key=str(i), seed=9) for i in range(count)])
    assert {bits(outcome) for outcome in outcomes} == {bits(reference)}


def test_a_prompt_longer_than_one_block_of_keys_is_no_exception() -> None:
    """Attention works in blocks of 512 keys; a request that crosses into the second block keeps its bits in company."""
    long = job(key="long", text="ab 1 + " * 84, max_tokens=60, seed=3)
    reference = sampler().run([long])[0]
    outcome = sampler().run([*many_jobs(9, seed=2), long])[-1]
    assert isinstance(reference, Completion)
    assert len(reference.prompt_ids) > 490
    assert len(reference.completion_ids) > 30
    assert bits(outcome) == bits(reference)


def test_memory_for_one_policy_gives_the_same_answers(jobs: list[SampleJob], lonely: dict[str, Outcome]) -> None:
    """Policies that must take turns in memory answer as if they were all there."""
    outcomes = sampler(policies_in_memory=1).run(jobs)
    assert [bits(outcome) for outcome in outcomes] == [bits(lonely[each.key]) for each in jobs]


@pytest.mark.parametrize(("width", "outputs"), [(128, 336), (128, 384), (384, 128), (576, 1536), (1536, 576)])
def test_a_row_gives_the_same_bits_beside_any_number_of_others(width: int, outputs: int) -> None:
    """What importing `shared` sets for MKL holds on this processor: a product does not depend on the size of its batch."""
    chance = torch.Generator().manual_seed(0)
    rows = torch.randn(128, width, generator=chance)
    weights = torch.randn(outputs, width, generator=chance)
    together = torch.nn.functional.linear(rows, weights)
    for count in range(1, 129):
        assert torch.equal(torch.nn.functional.linear(rows[:count], weights), together[:count])
