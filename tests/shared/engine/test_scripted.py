"""The engine without a model."""

from __future__ import annotations

from shared.engine.durable import request_of
from shared.engine.scripted import ScriptedEngine
from shared.messages import Role, Sampling, StepOpened, Turn, named
from shared.prompts import Prompt

PROMPT = Prompt((Turn("user", "14 + 9?"),), "t1")
CAUSE = named(StepOpened(step=1, policy="p", num_challenges=1, num_assignments=1), "start")


async def test_the_script_answers_role_prompt_and_seed() -> None:
    """The reply's characters are the tokens, and names are those of the durable engine."""
    engine = ScriptedEngine(lambda role, prompt, seed: f"{role}:{prompt.turns[0].content}:{seed}")
    done = await engine.sample(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p", index=2)
    request = request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p", index=2)
    assert done.text == f"solver:14 + 9?:{request.seed}"
    assert (done.request, done.cause) == (request.id, request.id)
    assert "".join(map(chr, done.completion_ids)) == done.text
    assert len(done.logprobs) == len(done.completion_ids)
    assert engine.calls == [request]


async def test_asking_again_gives_the_same_completion() -> None:
    """The engine is deterministic, and counts every call."""
    engine = ScriptedEngine(lambda role, prompt, seed: str(seed))
    answers = [await engine.sample(CAUSE, PROMPT, Sampling(), role=Role.CRITIC, policy="p") for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(engine.calls) == 2
