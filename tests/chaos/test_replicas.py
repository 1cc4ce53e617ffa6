"""Several processes of one role share its work: the facts are those of a single one, also when one dies for good or freezes."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from shared.bus.address import bus_address_for
from shared.bus.port import BusClosed
from shared.bus.wire import Status
from shared.bus.zeromq import ZmqBus
from shared.messages import (
    AnswerProposed,
    CandidateNominated,
    EvaluationCompleted,
    Fact,
    PolicyTrained,
    ReplicaJoined,
    ReplicaLeft,
    RunEnded,
    SampleCompleted,
    StepClosed,
)
from tests.chaos.by_hand import ByHand
from tests.chaos.run_process import RunProcess, differences, said_in

pytestmark = pytest.mark.slow

THREE = "run.replicas={ solver = 3, critic = 2, verifier = 2, learner = 2, gate = 2, inference = 2 }"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fact]:
    """The facts of a run with one process for each role."""
    with RunProcess(tmp_path_factory.mktemp("alone") / "run") as run:
        assert run.end() == 0, run.output()
        return run.said()


async def last_status(run: RunProcess) -> Status:
    """What the broker said of itself last, before the run ended."""
    bus = ZmqBus(bus_address_for(run.folder))
    status: Status | None = None
    while run.process.poll() is None:
        with suppress(TimeoutError, BusClosed):
            async with asyncio.timeout(2):
                status = await bus.status()
        await asyncio.sleep(0.1)
    await bus.close()
    assert status
    return status


async def test_replicas_say_what_one_process_says_and_do_nothing_twice(alone: dict[str, Fact], tmp_path: Path) -> None:
    """With two or three processes of six roles the facts are the same, byte for byte, and none was published again."""
    with RunProcess(tmp_path / "run", "--set", THREE) as run:
        status = await last_status(run)
        assert run.end() == 0, run.output()
        assert differences(alone, run.said()) == []
        assert (run.count(ReplicaJoined), run.count(ReplicaLeft)) == (15, 0)
        assert status.repeated == 0


def without_the_end(facts: dict[str, Fact]) -> dict[str, Fact]:
    """The facts but for the console's last one, which nobody gives by hand."""
    return {name: fact for name, fact in facts.items() if not isinstance(fact, RunEnded)}


async def test_the_work_of_a_replica_that_dies_for_good_is_taken_over(alone: dict[str, Fact], tmp_path: Path) -> None:
    """One of two Solvers, inferences, Learners and gates each is killed in the midst of its work, and nobody starts it again.

    Nobody supervises here: `python -m services.NAME` by hand is all it takes.
    """
    async with ByHand(tmp_path / "run", leave_s=1.5) as run:
        run.start(solver=2, inference=2, learner=2, gate=2)
        await run.wait_for(SampleCompleted, 5)
        run.signal("inference-1", signal.SIGKILL)
        await run.wait_for(AnswerProposed, 3)
        run.signal("solver-2", signal.SIGKILL)
        await run.wait_for(StepClosed)
        run.signal("learner-1", signal.SIGKILL)
        await run.wait_for(PolicyTrained)
        await run.wait_for(CandidateNominated)
        run.signal("gate-1", signal.SIGKILL)
        await run.wait_for(EvaluationCompleted)
        assert (await run.count(ReplicaJoined), await run.count(ReplicaLeft)) == (12, 4)
        said = said_in(run.folder)
    assert differences(without_the_end(alone), said) == []


async def test_a_frozen_replica_is_replaced_and_joins_again(alone: dict[str, Fact], tmp_path: Path) -> None:
    """Processes that are frozen for longer than the bus waits are declared gone. When they go on, the Learner and inference
    in the midst of work that others have done meanwhile, they notice it, join again, and spoil nothing."""
    frozen = ("solver-1", "learner-1", "inference-2", "challenger")
    async with ByHand(tmp_path / "run", leave_s=1.5) as run:
        run.start(solver=2, inference=2, learner=2)
        await run.wait_for(StepClosed)
        for name in frozen:
            run.signal(name, signal.SIGSTOP)
        await run.wait_for(ReplicaLeft, len(frozen))
        await run.wait_for(PolicyTrained)
        for name in frozen:
            run.signal(name, signal.SIGCONT)
        await run.wait_for(ReplicaJoined, 11 + len(frozen))
        await run.wait_for(EvaluationCompleted)
        said = said_in(run.folder)
    assert differences(without_the_end(alone), said) == []


async def test_replicas_may_come_later(alone: dict[str, Fact], tmp_path: Path) -> None:
    """A process that joins in the midst of the run takes its share from there on; the facts are the same."""
    async with ByHand(tmp_path / "run", leave_s=5.0) as run:
        run.start()
        await run.wait_for(AnswerProposed, 3)
        run.add("solver", os.uname().nodename)
        run.add("critic", "critic-b")
        await run.wait_for(EvaluationCompleted)
        assert await run.bus.cursor("critic-b") > 0
        said = said_in(run.folder)
    assert differences(without_the_end(alone), said) == []
