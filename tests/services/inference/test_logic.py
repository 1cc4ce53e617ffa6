"""From request to job and from outcome to fact."""

from __future__ import annotations

from services.inference.logic import fact_of, job_of
from shared.engine.batch import Completion, Failure
from shared.messages import Role, SampleCompleted, SampleFailed, SampleRequested, Sampling, Turn

REQUEST = SampleRequested(
    id="r1", role=Role.SOLVER, policy="p", turns=(Turn("user", "1 + 1?"),), sampling=Sampling(), seed=7, template="t"
)


def test_a_job_carries_what_the_request_asks() -> None:
    """Policy, turns, sampling and seed go to the sampler under the caller's name."""
    assert job_of(REQUEST, "k") == ("k", "p", REQUEST.turns, REQUEST.sampling, 7)


def test_a_completion_names_its_request_role_and_policy() -> None:
    """Ids, log-probabilities, text and finish are passed on as they are."""
    fact = fact_of(REQUEST, Completion((1, 2), (3,), (-0.5,), "2", "stop"))
    assert fact == SampleCompleted(
        request="r1", role=Role.SOLVER, policy="p", prompt_ids=(1, 2), completion_ids=(3,), logprobs=(-0.5,), text="2",
        finish="stop",
    )  # fmt: skip


def test_a_failure_names_its_request_and_reason() -> None:
    """A failure of the engine is said, not hidden."""
    assert fact_of(REQUEST, Failure("no room")) == SampleFailed(request="r1", reason="no room")
