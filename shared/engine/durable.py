"""Sampling over the bus: ask once, ever.

A request is named after the fact it is for, so asking again, in the same process or after a restart, publishes nothing new: the
log takes an id once, and the answer that is in the log is the answer. Answers are heard through `observe`, which the runtime
calls in log order from the first fact on; so a recording answers exactly like a model.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import msgspec

from shared.bus.port import Bus
from shared.engine.port import SampleFault
from shared.messages import Fact, Role, SampleCompleted, SampleFailed, SampleRequested, Sampling, named, seed_from
from shared.prompts import Prompt

Answer = SampleCompleted | SampleFailed


def request_of(cause: Fact, prompt: Prompt, sampling: Sampling, *, role: Role, policy: str, index: int = 0) -> SampleRequested:
    """The `index`-th request for text that follows from `cause`, named, and with a seed that follows from its name."""
    draft = SampleRequested(role=role, policy=policy, turns=prompt.turns, sampling=sampling, seed=0, template=prompt.template)
    request = named(draft, cause, index)
    return msgspec.structs.replace(request, seed=seed_from(request.id))


class DurableEngine:
    """Implements `shared.engine.port.Engine` for one role."""

    types: frozenset[type[Fact]] = frozenset({SampleCompleted, SampleFailed})
    """What `observe` must be shown."""

    def __init__(self, bus: Bus, role: Role, *, remembered: int = 2048, patience_s: float = 20.0) -> None:
        """Keeps the last `remembered` answers at hand; older ones are sought in the log after `patience_s` of waiting."""
        self._bus = bus
        self._role = role
        self._remembered = remembered
        self._patience_s = patience_s
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._forgot = False
        self._searched_at = float("-inf")

    def observe(self, fact: Fact) -> None:
        """Takes note of an answer and wakes whoever waits for it; the first stands. Other roles' completions pass by."""
        if not isinstance(fact, SampleCompleted | SampleFailed):
            return
        waiter = self._waiting.pop(fact.request, None)
        if waiter is None and isinstance(fact, SampleCompleted) and fact.role != self._role:
            return
        first = self._answers.setdefault(fact.request, fact)
        if len(self._answers) > self._remembered:
            self._answers.popitem(last=False)
            self._forgot = True
        if waiter is not None:
            waiter.set_result(first)

    async def sample(
        self, cause: Fact, prompt: Prompt, sampling: Sampling, *, role: Role, policy: str, index: int = 0
    ) -> SampleCompleted:
        """The completion of `prompt` by `policy`: the one in the log, or else the one that inference now makes.

        Raises `SampleFault` when inference reports a failure, and when two roles asked under one name (a mistake of ours).
        """
        request = request_of(cause, prompt, sampling, role=role, policy=policy, index=index)
        answer = self._answers.get(request.id) or await self._ask(request)
        if isinstance(answer, SampleFailed):
            raise SampleFault(answer.reason)
        if answer.role != role:
            raise SampleFault(f"{answer.role} and {role} both asked for sample {index} of {type(cause).__name__} {cause.id}")
        return answer

    async def _ask(self, request: SampleRequested) -> Answer:
        waiter = self._waiting.setdefault(request.id, asyncio.get_running_loop().create_future())
        await self._bus.publish([request])
        while not waiter.done():
            await asyncio.wait([waiter], timeout=self._patience_s)
            if not waiter.done():
                await self._search_log()
        return waiter.result()

    async def _search_log(self) -> None:
        """Finds answers that were heard and let go: one walk through the log for all who wait, at most once per patience."""
        now = asyncio.get_running_loop().time()
        if not self._forgot or now - self._searched_at < self._patience_s:
            return
        self._searched_at = now
        after = 0
        while self._waiting:
            page = await self._bus.read(after, self.types)
            for _, fact in page.facts:
                if isinstance(fact, SampleCompleted | SampleFailed) and fact.request in self._waiting:
                    self.observe(fact)
            if page.upto == after:
                break
            after = page.upto
