"""When a run is in trouble, and whom it waits for."""

from __future__ import annotations

import pytest

from console.health import RunStopped, StallWatch, busy, check_failure
from shared.bus.inprocess import InProcessBus
from shared.eventlog.memory import MemoryJournal
from shared.messages import (
    ReplicaJoined,
    ReplicaLeft,
    Role,
    RunStarted,
    SampleRequested,
    Sampling,
    Task,
    TrialRequested,
    WorkFailed,
    named,
)

RUN = named(RunStarted(seed=0, config={}, base_policy="b", store=""), "test")
TRIAL = named(TrialRequested(policy="p", task=Task("t", "?", "words"), temperature=1.0, lineage="g1.p4.base"), RUN)
REQUEST = named(SampleRequested(role=Role.SOLVER, policy="p", turns=(), sampling=Sampling(), seed=0, template="t"), TRIAL)


def test_time_in_which_the_console_was_frozen_is_no_stall() -> None:
    """The log must not have grown while somebody looked; after Ctrl-Z for an hour the count goes on where it was."""
    watch = StallWatch(40)
    assert not any(watch.stalled(5, at) for at in range(25))
    assert not watch.stalled(5, 3600.0)
    assert [watch.stalled(5, 3600.0 + second) for second in (5, 9)] == [False, True]
    assert not watch.stalled(6, 3610.0)


async def test_the_last_in_the_chain_comes_first() -> None:
    """Everybody with unfinished work is named, by the names of the processes; the newest is what the others wait for."""
    bus = InProcessBus(MemoryJournal())
    await bus.publish([RUN, TRIAL, REQUEST])
    await bus.move_cursor("learner", 3)
    await bus.move_cursor("solver-1", 3)
    await bus.move_cursor("solver-2", 1)
    text = await busy(bus, ["solver-1", "solver-2", "inference", "learner"])
    assert text == "inference: SampleRequested g1.p4.base (fact 3); solver-2: TrialRequested g1.p4.base (fact 2)"
    await bus.close()


async def test_work_that_was_taken_over_is_named_as_such() -> None:
    """A process that stands before a parting has not finished what it got by it."""
    bus = InProcessBus(MemoryJournal())
    joins = [named(ReplicaJoined(role=Role.SOLVER, replica=f"solver-{n}"), RUN, n) for n in (1, 2)]
    left = named(ReplicaLeft(role=Role.SOLVER, replica="solver-1", handled=0, reason=""), RUN)
    await bus.publish([RUN, *joins, TRIAL, left])
    await bus.move_cursor("solver-2", 4)
    await bus.move_cursor("learner", 5)
    assert await busy(bus, ["solver-2", "learner"]) == "solver-2: work that it took over (fact 5)"
    await bus.close()


@pytest.mark.parametrize(
    ("role", "work", "stops"),
    [(Role.LEARNER, "StepOpened", True), (Role.GATE, "TrainingEnded", True), (Role.GATE, "InstanceDrawn", False),
     (Role.GATE, "CandidateNominated", False), (Role.SOLVER, "TaskJudged", False)],
)  # fmt: skip
def test_only_a_work_that_nothing_can_follow_stops_the_run(role: Role, work: str, stops: bool) -> None:
    """The Learner's step and the final evaluation; a lost pair or answer is counted and left out."""
    failed = WorkFailed(role=role, work="w", work_type=work, reason="died", lineage="s1")
    if not stops:
        check_failure(failed)
        return
    with pytest.raises(RunStopped, match=f"^the {role} gave up on {work} s1: died$"):
        check_failure(failed)
