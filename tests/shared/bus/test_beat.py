"""Heartbeats over real sockets: what a broker process hears of processes that work, are busy, stuck or frozen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.child import Child
from shared.bus.beat import EVERY_S, Heart
from shared.bus.rollcall import RollCall
from shared.bus.wire import Peer
from shared.bus.zeromq import ZmqBus
from shared.messages import ReplicaLeft, Role, RunStarted, named
from tests.shared.bus.conftest import BrokerProcess


@pytest.fixture
def roll(broker: BrokerProcess) -> Iterator[RollCall]:
    """Somebody who asks."""
    made = RollCall(broker.address)
    yield made
    made.close()


def heard(roll: RollCall, until: Callable[[dict[str, Peer]], bool], timeout_s: float = 10.0) -> dict[str, Peer]:
    """Asks until the answer is as wanted."""
    deadline = time.monotonic() + timeout_s
    while True:
        roll.ask()
        time.sleep(0.1)
        peers = {peer.name: peer for peer in roll.heard() or ()}
        if until(peers):
            return peers
        assert time.monotonic() < deadline, peers


async def on_a_thread(roll: RollCall, until: Callable[[dict[str, Peer]], bool]) -> dict[str, Peer]:
    """The same, while the event loop goes round."""
    return await asyncio.to_thread(heard, roll, until)


async def test_a_process_is_heard_of_and_then_no_more(broker: BrokerProcess, roll: RollCall) -> None:
    """A beat comes about twice a second; after `stop` the silence grows."""
    heart = Heart(broker.address, "solver-2", "solver")
    heart.start(asyncio.get_running_loop())
    peer = (await on_a_thread(roll, lambda peers: "solver-2" in peers))["solver-2"]
    assert peer.role == "solver"
    assert peer.lag_s < EVERY_S
    heart.stop()
    await on_a_thread(roll, lambda peers: peers["solver-2"].silent_s > 2 * EVERY_S)


async def test_a_stuck_event_loop_still_beats_and_says_so(broker: BrokerProcess, roll: RollCall) -> None:
    """While the loop is blocked the thread goes on, and tells for how long."""
    heart = Heart(broker.address, "gate", "gate")
    heart.start(asyncio.get_running_loop())
    peer = heard(roll, lambda peers: "gate" in peers and peers["gate"].lag_s > 1.2)["gate"]
    assert peer.silent_s < 2 * EVERY_S + 0.5
    await on_a_thread(roll, lambda peers: peers["gate"].lag_s < 0.5)
    heart.stop()


async def test_a_restarted_broker_hears_of_everybody_again(broker: BrokerProcess, roll: RollCall) -> None:
    """The heart needs no help when the broker dies: it goes on beating to the next one."""
    heart = Heart(broker.address, "critic", "critic")
    heart.start(asyncio.get_running_loop())
    await on_a_thread(roll, lambda peers: "critic" in peers)
    broker.kill()
    broker.start()
    await on_a_thread(roll, lambda peers: "critic" in peers)
    heart.stop()


def service(folder: Path, broker: BrokerProcess, name: str) -> Child:
    """A planner process that waits for a run, or works in one."""
    command = [sys.executable, "-m", "services.planner", "--bus", broker.address, "--replica", name]
    return Child(name, command, folder / f"{name}.log", {"OMP_NUM_THREADS": "1"})


def test_a_frozen_process_is_silent(broker: BrokerProcess, roll: RollCall, tmp_path: Path) -> None:
    """SIGSTOP stops the beats of a real service, SIGCONT lets them go on."""
    planner = service(tmp_path, broker, "planner")
    planner.start()
    try:
        heard(roll, lambda peers: "planner" in peers)
        assert planner.pid
        os.kill(planner.pid, signal.SIGSTOP)
        heard(roll, lambda peers: peers["planner"].silent_s > 3 * EVERY_S)
        os.kill(planner.pid, signal.SIGCONT)
        peer = heard(roll, lambda peers: peers["planner"].silent_s < EVERY_S)["planner"]
        assert peer.lag_s < 2.0, "the time in which it was frozen is no lag of its loop"
    finally:
        planner.kill()


def test_busy_processors_are_no_false_alarm(broker: BrokerProcess, roll: RollCall, tmp_path: Path) -> None:
    """With four times as many busy processes as processors no beat is later than half of what would alarm anybody."""
    burn = [Child(f"b{i}", [sys.executable, "-S", "-c", "while True: pass"], tmp_path / "b.log", {}) for i in range(8)]
    planner = service(tmp_path, broker, "planner")
    planner.start()
    try:
        heard(roll, lambda peers: "planner" in peers)
        for child in burn:
            child.start()
        deadline, worst = time.monotonic() + 4, 0.0
        while time.monotonic() < deadline:
            worst = max(worst, heard(roll, bool)["planner"].silent_s)
        assert worst < 2.0
    finally:
        for child in (planner, *burn):
            child.kill()


RUN = named(RunStarted(seed=0, config={}, base_policy="b", store=""), "test")


async def test_the_broker_says_who_left(tmp_path: Path) -> None:
    """A member that is killed for good leaves the roster after the time given, with its cursor and a reason."""
    broker = BrokerProcess(tmp_path)
    broker.options += ["--leave", "1"]
    broker.start()
    bus = ZmqBus(broker.address)
    await bus.publish([RUN])
    doomed, other = service(tmp_path, broker, "planner-1"), service(tmp_path, broker, "planner-2")
    try:
        for child in (doomed, other):
            child.start()
        async with asyncio.timeout(20):
            while await bus.cursor("planner-1") < 2:  # noqa: ASYNC110 - a cursor rings no bell
                await asyncio.sleep(0.1)
            doomed.kill()
            while not (page := await bus.read(0, [ReplicaLeft])).facts:
                await bus.news(page.upto, 0.5)
        (left,) = [fact for _, fact in page.facts if isinstance(fact, ReplicaLeft)]
        assert (left.role, left.replica, left.handled) == (Role.PLANNER, "planner-1", await bus.cursor("planner-1"))
        assert left.reason == "not heard of for 1 s"
    finally:
        doomed.kill()
        other.kill()
        await bus.close()
        broker.kill()
