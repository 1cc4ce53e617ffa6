"""The real model instead of the recorded answers: where does it say something else today?"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from console.rerun.excerpt import ANSWERS, Excerpt, decoded
from console.rerun.loop import Outside
from console.rerun.result import Live
from console.rerun.weights import Weights
from services.inference.service import build
from shared.eventlog.entry import Row
from shared.messages import Fact, RunStarted, SampleCompleted, SampleFailed, SampleRequested, digest, named

_ANSWERS = frozenset(kind.__name__ for kind in ANSWERS)


class Departure(NamedTuple):
    """The first answer that is not the recorded one, token for token; `seq` is the recorded one's place."""

    seq: int
    recorded: Fact
    live: Fact


class LiveAnswers:
    """Implements `console.rerun.bus.Answers` by the run's own sampler. Close it."""

    def __init__(self, run: RunStarted, weights: Weights, excerpt: Excerpt, outside: Outside) -> None:
        """Policies come from `weights`; requests of those that are not there are left to the recording."""
        self.asked = 0
        self.equal = 0
        """Answers whose tokens are the recorded ones."""
        self.left = 0
        """Requests left to the recording, since their policy is gone."""
        self.departure: Departure | None = None
        self.wake: Callable[[], None] = lambda: None
        """Called whenever an answer is there."""
        self._service = build(msgspec.structs.replace(run, store=str(weights.store.root)))
        self._weights = weights
        self._excerpt = excerpt
        self._outside = outside
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._placed: dict[str, Fact] = {}
        self._unplaced: deque[Fact] = deque()

    def ask(self, request: SampleRequested) -> None:
        """Puts the request to the sampler, if its policy is there."""
        if not self._weights.has(request.policy):
            self.left += 1
            return
        self.asked += 1
        task = asyncio.create_task(self._answer(request))
        self._under_way[request.id] = task
        self._outside.track(task)

    def awaited(self, row: Row) -> bool:
        """Whether the sampler is still at the request that this recorded fact answers."""
        return row.type in _ANSWERS and row.cause in self._under_way

    def instead_of(self, row: Row) -> Fact | None:
        """The live answer in the place of the recorded one, once compared with it."""
        live = self._placed.pop(row.cause, None) if row.type in _ANSWERS else None
        if live is not None:
            recorded = decoded(row)
            if _tokens(live) is not None and _tokens(live) == _tokens(recorded):
                self.equal += 1
            elif self.departure is None:
                self.departure = Departure(row.seq, recorded, live)
        return live

    def unplaced(self) -> Fact | None:
        """An answer to a request that the recording does not answer."""
        return self._unplaced.popleft() if self._unplaced else None

    def summary(self) -> Live:
        """What the model said, counted, and where it first departed."""
        counts = Live(self.asked, self.equal, self.left)
        if self.departure is None:
            return counts
        seq, recorded, live = self.departure
        return msgspec.structs.replace(counts, departure_seq=seq, recorded=recorded, live=live)

    def close(self) -> None:
        """Stops the sampler's thread."""
        self._service.close()

    async def _answer(self, request: SampleRequested) -> None:
        answer = named(await self._outcome(request), request)
        if any(self._excerpt.find(digest(request.id, name, 0)) for name in sorted(_ANSWERS)):
            self._placed[request.id] = answer
        else:
            self._unplaced.append(answer)
        del self._under_way[request.id]
        self.wake()

    async def _outcome(self, request: SampleRequested) -> SampleCompleted | SampleFailed:
        """What inference says, as it would in a run, also when it breaks over the request."""
        self._service.observe(request)
        try:
            (outcome,) = [outcome async for outcome in self._service.handle(request)]
        except Exception as error:
            outcome = self._service.given_up(request, f"{type(error).__name__}: {error}")
        self._service.observe(outcome)
        return outcome


def _tokens(answer: Fact) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    return (answer.prompt_ids, answer.completion_ids) if isinstance(answer, SampleCompleted) else None
