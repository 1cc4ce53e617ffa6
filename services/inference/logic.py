"""Pure: what a request asks of the sampler, and which fact its outcome becomes."""

from __future__ import annotations

from shared.engine.batch import Failure, Outcome, SampleJob
from shared.messages import SampleCompleted, SampleFailed, SampleRequested


def job_of(request: SampleRequested, key: str) -> SampleJob:
    """The sampler's job for a request, under the caller's name for it."""
    return SampleJob(key, request.policy, request.turns, request.sampling, request.seed)


def fact_of(request: SampleRequested, outcome: Outcome) -> SampleCompleted | SampleFailed:
    """What is said about a request whose outcome is known."""
    if isinstance(outcome, Failure):
        return SampleFailed(request=request.id, reason=outcome.reason)
    return SampleCompleted(
        request=request.id,
        role=request.role,
        policy=request.policy,
        prompt_ids=outcome.prompt_ids,
        completion_ids=outcome.completion_ids,
        logprobs=outcome.logprobs,
        text=outcome.text,
        finish=outcome.finish,
    )
