"""An engine without a model: a function of role, prompt and seed answers. For tests and for trying out a role by hand."""

from __future__ import annotations

from collections.abc import Callable

from shared.engine.durable import request_of
from shared.messages import Fact, Role, SampleCompleted, SampleRequested, Sampling, named
from shared.prompts import Prompt

Reply = Callable[[Role, Prompt, int], str]
"""The text that answers a prompt. May raise `shared.engine.port.SampleFault`."""


class ScriptedEngine:
    """Implements `shared.engine.port.Engine`. A token is a character, its id the code point, its log-probability 0."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.calls: list[SampleRequested] = []
        """Every request so far, in order, repeated ones too."""

    async def sample(
        self, cause: Fact, prompt: Prompt, sampling: Sampling, *, role: Role, policy: str, index: int = 0
    ) -> SampleCompleted:
        """What the script answers, under the name that the durable engine would give it."""
        request = request_of(cause, prompt, sampling, role=role, policy=policy, index=index)
        self.calls.append(request)
        text = self._reply(role, prompt, request.seed)
        completion = SampleCompleted(
            request=request.id,
            role=role,
            policy=policy,
            prompt_ids=tuple(ord(c) for turn in prompt.turns for c in turn.content),
            completion_ids=tuple(map(ord, text)),
            logprobs=(0.0,) * len(text),
            text=text,
            finish="stop",
        )
        return named(completion, request)
