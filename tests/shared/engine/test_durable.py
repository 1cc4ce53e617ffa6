"""Sampling over the bus asks once, ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shared.bus.inprocess import InProcessBus
from shared.engine.durable import DurableEngine, request_of
from shared.engine.port import SampleFault
from shared.eventlog.memory import MemoryJournal
from shared.messages import (
    Fact,
    Role,
    SampleCompleted,
    SampleFailed,
    SampleRequested,
    Sampling,
    StepOpened,
    Turn,
    named,
    seed_from,
)
from shared.prompts import Prompt

PROMPT = Prompt((Turn("user", "14 + 9?"),), "t1")
CAUSE = named(StepOpened(step=1, policy="p", num_challenges=1, num_assignments=1, lineage="s1"), "start")


@asynccontextmanager
async def log() -> AsyncIterator[InProcessBus]:
    """An empty log in memory."""
    bus = InProcessBus(MemoryJournal())
    yield bus
    await bus.close()


@asynccontextmanager
async def heard(bus: InProcessBus, *engines: DurableEngine) -> AsyncIterator[None]:
    """Shows the engines all answers from the first fact of the log on, as the runtime does."""

    async def follow() -> None:
        seen = 0
        while True:
            page = await bus.read(seen, DurableEngine.types)
            for _, fact in page.facts:
                for engine in engines:
                    engine.observe(fact)
            seen = page.upto
            await bus.news(seen, 5)

    task = asyncio.create_task(follow())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def model(bus: InProcessBus, paid: list[str]) -> AsyncIterator[None]:
    """Stands in for inference: answers every request once and notes which."""

    async def work() -> None:
        seen = 0
        while True:
            page = await bus.read(seen, [SampleRequested])
            for _, fact in page.facts:
                assert isinstance(fact, SampleRequested)
                paid.append(fact.id)
                await bus.publish([named(answer(fact), fact)])
            seen = page.upto
            await bus.news(seen, 5)

    task = asyncio.create_task(work())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def answer(request: SampleRequested) -> SampleCompleted:
    """A completion whose text is the request's seed."""
    return SampleCompleted(
        request=request.id, role=request.role, policy=request.policy, prompt_ids=(1,), completion_ids=(2,), logprobs=(-0.5,),
        text=str(request.seed), finish="stop",
    )  # fmt: skip


async def ask(engine: DurableEngine, index: int = 0, role: Role = Role.SOLVER, cause: Fact = CAUSE) -> SampleCompleted:
    """One sample, which must come within five seconds."""
    async with asyncio.timeout(5):
        return await engine.sample(cause, PROMPT, Sampling(), role=role, policy="p", index=index)


async def test_a_request_is_named_after_its_cause_and_seeded_by_its_name() -> None:
    """Id, cause and lineage follow from the fact and the index, the seed from the id."""
    request = request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p", index=3)
    assert (request.cause, request.lineage, request.seed) == (CAUSE.id, "s1", seed_from(request.id))
    assert request.id != request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p", index=4).id


async def test_samples_come_back_to_those_who_asked() -> None:
    """Many requests at once each get the answer to their own."""
    async with log() as bus:
        engine = DurableEngine(bus, Role.SOLVER)
        async with heard(bus, engine), model(bus, []):
            done = await asyncio.gather(*(ask(engine, index) for index in range(20)))
    wanted = [request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p", index=i) for i in range(20)]
    assert [each.request for each in done] == [each.id for each in wanted]
    assert [each.text for each in done] == [str(each.seed) for each in wanted]


async def test_a_restart_pays_nothing_twice() -> None:
    """A new engine over the same log gets the recorded completion; the model sees each request once."""
    paid: list[str] = []
    async with log() as bus, model(bus, paid):
        first, second = DurableEngine(bus, Role.SOLVER), DurableEngine(bus, Role.SOLVER)
        async with heard(bus, first):
            before = await asyncio.gather(*(ask(first, index) for index in range(5)))
        async with heard(bus, second):
            after = await asyncio.gather(*(ask(second, index) for index in range(5)))
        head = (await bus.read(0)).upto
    assert before == after
    assert len(paid) == 5
    assert head == 10


async def test_asking_again_after_a_failed_try_gives_the_same_answer() -> None:
    """A handler that is tried again gets its completion at once, without a word on the bus."""
    async with log() as bus, model(bus, []):
        engine = DurableEngine(bus, Role.SOLVER)
        async with heard(bus, engine):
            before = await ask(engine)
        assert await ask(engine) == before


async def test_a_cancelled_request_is_answered_later() -> None:
    """Whoever stops waiting leaves the request standing; the next who asks gets its answer."""
    async with log() as bus:
        engine = DurableEngine(bus, Role.SOLVER)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await engine.sample(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p")
        async with heard(bus, engine), model(bus, []):
            assert (await ask(engine)).finish == "stop"


async def test_a_failure_is_a_fault_with_the_reason() -> None:
    """What inference could not do is raised, also to the next who asks."""
    async with log() as bus:
        engine = DurableEngine(bus, Role.SOLVER)
        request = request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p")
        engine.observe(SampleFailed(request=request.id, reason="policy p: no such folder"))
        for _ in range(2):
            with pytest.raises(SampleFault, match="policy p: no such folder"):
                await ask(engine)


async def test_memory_is_bounded_and_what_was_let_go_is_found_in_the_log() -> None:
    """With room for two answers the first of five is still answered, from the log and not by the model."""
    paid: list[str] = []
    async with log() as bus, model(bus, paid):
        engine = DurableEngine(bus, Role.SOLVER, remembered=2, patience_s=0.02)
        async with heard(bus, engine):
            before = [await ask(engine, index) for index in range(5)]
            assert len(engine._answers) == 2
            assert await ask(engine, 0) == before[0]
    assert len(paid) == 5


async def test_other_roles_completions_pass_by() -> None:
    """An engine keeps nothing of what other roles asked for."""
    async with log() as bus:
        solver, critic = DurableEngine(bus, Role.SOLVER), DurableEngine(bus, Role.CRITIC)
        async with heard(bus, solver, critic), model(bus, []):
            await asyncio.gather(*(ask(solver, index) for index in range(5)))
        assert not critic._answers


async def test_two_roles_asking_under_one_name_is_said() -> None:
    """The second role to ask for the same cause and index gets a fault instead of the other's text."""
    async with log() as bus:
        solver, critic = DurableEngine(bus, Role.SOLVER), DurableEngine(bus, Role.CRITIC)
        async with model(bus, []):
            async with heard(bus, solver):
                await ask(solver)
            with pytest.raises(SampleFault, match="solver and critic both asked"):
                asking = asyncio.create_task(ask(critic, role=Role.CRITIC))
                await asyncio.sleep(0.02)
                async with heard(bus, critic):
                    await asking


async def test_the_first_answer_stands() -> None:
    """A process that was frozen may answer a second time, and otherwise: what the role was told first it is told again."""
    request = request_of(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p")
    completed = SampleCompleted(
        request=request.id, role=Role.SOLVER, policy="p", prompt_ids=(), completion_ids=(), logprobs=(), text="23", finish=""
    )
    async with log() as bus:
        engine = DurableEngine(bus, Role.SOLVER)
        for fact in (completed, SampleFailed(request=request.id, reason="no such policy")):
            engine.observe(named(fact, request))
        assert (await engine.sample(CAUSE, PROMPT, Sampling(), role=Role.SOLVER, policy="p")).text == "23"
