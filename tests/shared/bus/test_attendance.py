"""Who is there, by beats and roster. Pure."""

from __future__ import annotations

import pytest

from shared.awake import AwakeClock
from shared.bus.attendance import FORGET_S, GRACE_S, Attendance
from shared.bus.wire import Beat
from shared.messages import ReplicaJoined, ReplicaLeft, Role


def beat(name: str) -> Beat:
    """A sign of life."""
    return Beat(name, "solver", 0.25)


def joined(name: str) -> ReplicaJoined:
    """A member."""
    return ReplicaJoined(role=Role.SOLVER, replica=name)


def attended(*beating: str, members: tuple[str, ...] = (), seconds: float = 0.0, leave_s: float = 10.0) -> Attendance:
    """After so many seconds from 0 in which the broker looked five times a second and these beat twice a second."""
    attendance = Attendance(0.0, leave_s)
    for name in members:
        attendance.fold(joined(name), 0.0)
    for tick in range(round(seconds * 5)):
        if tick % 2 == 0:
            for name in beating:
                attendance.beat(beat(name), tick / 5)
        attendance.absent(tick / 5)
    return attendance


def absent(attendance: Attendance, now: float) -> list[str]:
    """The names of those absent."""
    return [member.replica for member, _ in attendance.absent(now)]


def test_members_that_are_silent_for_too_long_have_left() -> None:
    """Who beats stays; who joined and never beat, or stopped, has left after `leave_s`."""
    assert absent(attended("a", members=("a", "b"), seconds=9.8), 9.8) == []
    assert absent(attended("a", members=("a", "b"), seconds=10.4), 10.4) == ["b"]


def test_who_left_is_not_told_of_again() -> None:
    """The fact of the parting ends the membership."""
    attendance = attended(members=("b",), seconds=12)
    attendance.fold(ReplicaLeft(role=Role.SOLVER, replica="b", handled=0, reason=""), 12.0)
    assert absent(attendance, 12.2) == []


def test_after_a_restart_of_the_broker_members_have_a_while() -> None:
    """Members recovered from the log are given the grace on top, unless they beat and stop again."""
    attendance = Attendance(0.0, 10.0)
    attendance.fold(joined("a"), 0.0, recovered=True)
    times = [tick / 5 for tick in range(round((GRACE_S + 10) * 5) + 2)]
    gone = [now for now in times if absent(attendance, now)]
    assert gone == times[-1:]
    heard_once = Attendance(0.0, 10.0)
    heard_once.fold(joined("a"), 0.0, recovered=True)
    heard_once.beat(beat("a"), 0.1)
    assert next(now for now in times if absent(heard_once, now)) == pytest.approx(10.2)


def test_a_stall_of_the_broker_makes_nobody_absent() -> None:
    """When the broker was frozen, or the machine slept, for an hour, only a moment of it counts."""
    attendance = attended("a", members=("a",), seconds=5)
    assert absent(attendance, 3600.0) == []
    (peer,) = attendance.peers(3600.1)
    assert peer.silent_s < 2.0


def test_peers_are_told_with_their_silence_and_lag() -> None:
    """Everybody who beats is told of, members or not, until long after the last beat."""
    attendance = attended("a", "b", seconds=4)
    peers = attendance.peers(4.5)
    assert [(peer.name, peer.role, peer.lag_s) for peer in peers] == [("a", "solver", 0.25), ("b", "solver", 0.25)]
    assert all(0.4 < peer.silent_s < 1.2 for peer in peers)
    for second in range(5, int(FORGET_S) + 10):
        last = attendance.peers(float(second))
    assert last == []


def test_an_awake_clock_counts_only_a_little_of_a_gap() -> None:
    """Looks close together add up, a long gap counts as one second, and a clock that goes back as nothing."""
    clock = AwakeClock()
    assert [clock.at(now) for now in (50.0, 50.5, 51.0)] == [0.0, 0.5, 1.0]
    assert clock.at(500.0) == 2.0
    assert clock.at(499.0) == 2.0
