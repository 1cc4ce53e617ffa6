"""A session with a real broker process, real sockets and small stand-ins for the services."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from console.child import Child, RestartPolicy, python_module
from console.recording import LOG_NAME, open_recording
from console.screen import LineScreen
from console.session import Ending, Limits, Session
from shared.bus.zeromq import ZmqBus
from shared.errors import BadInput
from shared.messages import (
    EvaluationCompleted,
    ExperienceRecorded,
    Fact,
    PolicyTrained,
    Role,
    RunEnded,
    RunStarted,
    TrainingEnded,
    WorkFailed,
    named,
)

STARTED = named(RunStarted(seed=0, config={"run": {"name": "t", "steps": 1}}, base_policy="b0", store=""), "test")
PATIENT = Limits(stall_s=30, max_fault_share=0.2, evaluations=2)
SLEEP = "import time; time.sleep(60)"


def evaluated(*temperatures: float) -> list[Fact]:
    """The facts with which a run of one step ends well."""
    trained = PolicyTrained(step=1, policy="c1", parent="b0", metrics={})
    ended = TrainingEnded(step=1, policy="c1", committed="b0", reason="all 1 steps are done")
    facts = [EvaluationCompleted(base="b0", final="b0", temperature=t, counts=()) for t in temperatures]
    return [named(trained, STARTED), named(ended, STARTED), *(named(fact, STARTED, i) for i, fact in enumerate(facts))]


class Stage:
    """A session in the making, its stand-in service, and a second client of its bus."""

    def __init__(self, folder: Path, code: str, limits: Limits) -> None:
        address = f"ipc://{folder / 'bus'}"
        self.broker = Child(
            "bus", python_module("services.bus", "--bus", address, "--log", str(folder / LOG_NAME)), folder / "b.log", {}
        )
        self.service = Child("solver", [sys.executable, "-S", "-c", code], folder / "s.log", {})
        self.service.policy = RestartPolicy(max_restarts=1)
        self.folder = folder
        self.other = ZmqBus(address)
        self.said = StringIO()
        screen = LineScreen(Console(file=self.said, width=200))
        self.session = Session(ZmqBus(address), self.broker, [self.service], screen, limits)

    async def play(self, facts: Sequence[Fact]) -> Ending:
        """Runs the session while somebody publishes the facts."""
        running = asyncio.create_task(self.session.run([STARTED]))
        await self.other.publish(facts)
        return await running

    def last_words(self) -> list[RunEnded]:
        """The ends that the log tells of."""
        with open_recording(self.folder) as recording:
            return [fact for _, _, fact in recording.facts([RunEnded]) if isinstance(fact, RunEnded)]


@asynccontextmanager
async def stage(folder: Path, code: str = SLEEP, limits: Limits = PATIENT) -> AsyncIterator[Stage]:
    """A stage whose extra client is closed."""
    made = Stage(folder, code, limits)
    try:
        yield made
    finally:
        await made.other.close()


async def test_a_run_ends_by_itself_when_every_temperature_is_evaluated(tmp_path: Path) -> None:
    """The last evaluation ends the run: the last fact is published, status 0, no process left."""
    async with stage(tmp_path) as made:
        ending = await made.play(evaluated(1.0, 0.0))
        assert ending == Ending(0, "all 1 steps are done")
        assert [(end.ok, end.reason) for end in made.last_words()] == [(True, "all 1 steps are done")]
        assert not made.service.running


async def test_no_progress_stops_the_run_and_names_who_is_busy(tmp_path: Path) -> None:
    """Without a new fact for `stall_s` the run stops with status 3, telling which service has not finished what."""
    async with stage(tmp_path, limits=Limits(0.8, 0.2, 2)) as made:
        ending = await made.play(evaluated(1.0))
        assert ending.status == 3
        assert ending.reason.startswith("no new fact for 0.8 s (run.stall_s); still open: ")
        assert "gate: TrainingEnded (fact " in ending.reason
        assert [end.ok for end in made.last_words()] == [False]


async def test_a_service_that_keeps_dying_stops_the_run(tmp_path: Path) -> None:
    """A service that cannot be kept alive is the root cause: status 3 with its last words."""
    async with stage(tmp_path, code="raise SystemExit('out of memory')") as made:
        ending = await made.play([])
        assert ending.status == 3
        assert "solver was lost more than 1 times" in ending.reason
        assert "out of memory" in ending.reason


async def test_a_service_that_refuses_its_input_ends_the_run_as_bad_input(tmp_path: Path) -> None:
    """Status 2 of a service is the user's mistake and comes out as one line."""
    async with stage(tmp_path, code="import sys; print('no prompt set x', file=sys.stderr); sys.exit(2)") as made:
        with pytest.raises(BadInput, match=r"^no prompt set x$"):
            await made.play([])


async def test_too_many_faults_stop_the_run(tmp_path: Path) -> None:
    """When faults of ours spoil more than the allowed share of the work, the run stops and tells the last one."""
    earned = ExperienceRecorded(step=1, role=Role.SOLVER, sample="", reward=0.5, parts={})
    failed = WorkFailed(role=Role.VERIFIER, work="w", work_type="AnswerProposed", reason="boom")
    good = [named(earned, STARTED, index) for index in range(15)]
    bad = [named(failed, STARTED, index) for index in range(5)]
    async with stage(tmp_path) as made:
        ending = await made.play([*good, *bad])
        assert ending.status == 3
        assert ending.reason.startswith("faults spoil 25% of the work, run.max_fault_share allows 20%")
        assert ending.reason.endswith("boom")


async def test_a_step_that_the_learner_gives_up_stops_the_run_at_once(tmp_path: Path) -> None:
    """Nothing can follow then, so nobody waits for the run to stall."""
    failed = WorkFailed(role=Role.LEARNER, work="w", work_type="StepOpened", reason="no memory", lineage="s1")
    async with stage(tmp_path) as made:
        assert await made.play([named(failed, STARTED)]) == Ending(3, "the learner gave up on StepOpened s1: no memory")


async def test_training_that_fails_stops_the_run_with_its_reason(tmp_path: Path) -> None:
    """When training ends before its last step, the learner's reason is the run's."""
    ended = TrainingEnded(step=1, policy="b0", committed="b0", reason="stopped on a fault: half was lost")
    async with stage(tmp_path) as made:
        assert await made.play([named(ended, STARTED)]) == Ending(3, "stopped on a fault: half was lost")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_ends_the_run_cleanly_without_a_last_word(tmp_path: Path, number: signal.Signals, status: int) -> None:
    """Ctrl-C and SIGTERM stop everything; the log has no end, so that the run can go on."""
    async with stage(tmp_path) as made:
        running = asyncio.create_task(made.session.run([STARTED]))
        await made.other.publish(evaluated(1.0))
        os.kill(os.getpid(), number)
        assert (await running).status == status
        assert not any(one.alive for one in made.session.health())
        assert made.last_words() == []


async def test_a_killed_broker_is_started_again_and_the_run_goes_on(tmp_path: Path) -> None:
    """SIGKILL of the broker loses nothing: it is restarted, and the run ends as if nothing had been."""
    async with stage(tmp_path) as made:
        running = asyncio.create_task(made.session.run([STARTED]))
        await made.other.publish(evaluated(1.0))
        assert made.broker.pid
        os.kill(made.broker.pid, signal.SIGKILL)
        await made.other.publish(evaluated(1.0, 0.0))
        assert (await running).status == 0
        assert "bus died by SIGKILL; starting it again" in made.said.getvalue()


async def test_a_run_that_goes_on_ends_again(tmp_path: Path) -> None:
    """A run that stopped on a fault and goes on ends a second time, and both ends are in the log."""
    async with stage(tmp_path, limits=Limits(0.8, 0.2, 2)) as made:
        assert (await made.play(evaluated(1.0))).status == 3
    async with stage(tmp_path) as again:
        assert (await again.play(evaluated(1.0, 0.0))).status == 0
        assert [end.ok for end in again.last_words()] == [False, True]
