"""Inference on a bus: every request ends in a fact, and restarts change nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from services.inference.service import InferenceService, build
from services.inference.worker import Worker
from shared.bus.inprocess import InProcessBus
from shared.engine.batch import Outcome, Sampler
from shared.errors import BadInput
from shared.eventlog.memory import MemoryJournal
from shared.messages import Role, RunStarted, SampleCompleted, SampleFailed, SampleRequested, Sampling, Turn, named
from shared.runtime import Runtime
from shared.store import PolicyStore
from tests.shared.engine.tiny_models import tiny_model, tiny_tokenizer

Answer = SampleCompleted | SampleFailed


def request(index: int, policy: str) -> SampleRequested:
    """A request of a few tokens."""
    draft = SampleRequested(
        role=Role.SOLVER, policy=policy, turns=(Turn("user", "ab" * (index + 1)),), sampling=Sampling(max_tokens=8),
        seed=index, template="t",
    )  # fmt: skip
    return named(draft, "cause", index)


def stored(root: Path) -> str:
    """A tiny policy in the store at `root`."""

    def write(folder: Path) -> None:
        tiny_model().save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)

    return PolicyStore(root).write(write)


def run_started(root: Path, **section: Any) -> RunStarted:
    """The first fact of a run with this store."""
    return RunStarted(seed=1, config={"inference": section}, base_policy="", store=str(root))


@asynccontextmanager
async def running(service: InferenceService, bus: InProcessBus) -> AsyncIterator[None]:
    """The service on the bus, stopped at the end."""
    task = asyncio.create_task(Runtime(Role.INFERENCE, service, bus).run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.to_thread(service.close)


async def answers(bus: InProcessBus, count: int) -> dict[str, Answer]:
    """The first `count` answers on the bus, by request."""
    found: dict[str, Answer] = {}
    seen = 0
    async with asyncio.timeout(20):
        while len(found) < count:
            page = await bus.read(seen, [SampleCompleted, SampleFailed])
            found |= {fact.request: fact for _, fact in page.facts if isinstance(fact, SampleCompleted | SampleFailed)}
            seen = page.upto
            await bus.news(seen, 0.1)
    return found


async def test_every_request_ends_in_a_fact(tmp_path: Path) -> None:
    """Requests to a stored policy are completed; requests to one that is not there fail with the reason."""
    policy = stored(tmp_path)
    bus = InProcessBus(MemoryJournal())
    asked = [request(i, policy if i % 3 else "p0123456789abcdef") for i in range(9)]
    async with running(build(run_started(tmp_path)), bus):
        await bus.publish(asked)
        found = await answers(bus, 9)
    await bus.close()
    for index, each in enumerate(asked):
        answer = found[each.id]
        if index % 3:
            assert isinstance(answer, SampleCompleted)
            assert (answer.role, answer.policy, answer.cause) == (Role.SOLVER, policy, each.id)
        else:
            assert isinstance(answer, SampleFailed)
            assert "is not in the store" in answer.reason


async def test_answers_do_not_depend_on_what_is_asked_together(tmp_path: Path) -> None:
    """Asked one after the other or all at once, with much room or little, the facts are identical."""
    policy = stored(tmp_path)
    asked = [request(i, policy) for i in range(6)]
    at_once, one_by_one = InProcessBus(MemoryJournal()), InProcessBus(MemoryJournal())
    async with running(build(run_started(tmp_path)), at_once):
        await at_once.publish(asked)
        together = await answers(at_once, 6)
    async with running(build(run_started(tmp_path, max_rows=1)), one_by_one):
        for count, each in enumerate(asked, start=1):
            await one_by_one.publish([each])
            apart = await answers(one_by_one, count)
    assert together == apart
    await at_once.close()
    await one_by_one.close()


async def test_a_broken_sampler_is_replaced() -> None:
    """When the sampler itself breaks those who wait get the error, and the next request gets a new sampler."""
    made = 0

    def make() -> Sampler:
        nonlocal made
        made += 1
        if made == 1:
            raise OSError("no threads left")
        return Sampler(lambda _: (tiny_model(), tiny_tokenizer()))

    service = InferenceService(Worker(make))
    service.observe(request(0, "p"))
    with pytest.raises(OSError, match="no threads left"):
        await anext(service.handle(request(0, "p")))
    assert isinstance(await anext(service.handle(request(0, "p"))), SampleCompleted)
    service.close()


async def test_what_the_log_answers_is_not_sampled_again() -> None:
    """A request whose answer was observed is passed over, though its policy is gone; others are sampled."""
    asked: list[str] = []

    def load(policy: str) -> Any:
        asked.append(policy)
        return tiny_model(), tiny_tokenizer()

    service = InferenceService(Worker(lambda: Sampler(load)))
    completed = SampleFailed(request=request(0, "gone").id, reason="any answer will do")
    for fact in (request(0, "gone"), request(1, "here"), completed):
        service.observe(fact)
    assert [given async for given in service.handle(request(0, "gone"))] == []
    assert isinstance(await anext(service.handle(request(1, "here"))), SampleCompleted)
    assert asked == ["here"]
    await asyncio.to_thread(service.close)


async def test_a_request_that_is_given_up_has_its_answer(tmp_path: Path) -> None:
    """When the sampler breaks each time, whoever asked is told so and does not wait for ever."""

    def make() -> Sampler:
        raise OSError("no threads left")

    bus = InProcessBus(MemoryJournal())
    async with running(InferenceService(Worker(make)), bus):
        await bus.publish([request(0, "p")])
        failed = (await answers(bus, 1))[request(0, "p").id]
    await bus.close()
    assert isinstance(failed, SampleFailed)
    assert "no threads left" in failed.reason


async def test_closing_leaves_nobody_waiting() -> None:
    """A request under way when the service is closed ends with an error."""

    class Endless(Sampler):
        def step(self) -> list[tuple[str, Outcome]]:
            """Works and comes to no end."""
            time.sleep(0.005)
            return []

    service = InferenceService(Worker(lambda: Endless(lambda _: (tiny_model(), tiny_tokenizer()))))
    service.observe(request(0, "p"))
    waiting = asyncio.ensure_future(anext(service.handle(request(0, "p"))))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await asyncio.to_thread(service.close)
    with pytest.raises(RuntimeError, match="stopped"):
        await waiting


def test_a_wrong_knob_is_one_line(tmp_path: Path) -> None:
    """An unknown key of the section is refused with its name."""
    with pytest.raises(BadInput, match=r"inference\.max_row: no such key; did you mean 'max_rows'"):
        build(run_started(tmp_path, max_row=3))
