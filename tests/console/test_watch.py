"""Who is taken to stand still, and who is not. Pure."""

from __future__ import annotations

import pytest

from console.watch import Watch
from shared.bus.wire import Peer


class Clock:
    """A supervisor that looks ten times a second, unless it is frozen, and a broker that answers twice a second."""

    def __init__(self) -> None:
        self.now = 100.0
        self.watch = Watch("bus", frozen_s=4.0, stuck_s=60.0)
        self.silent: dict[str, float] = {}
        self.lag = 0.0
        self.answers = True

    def start(self, *names: str) -> Clock:
        """Starts processes that beat from now on."""
        for name in names:
            self.watch.started(name, self.now)
            if name != "bus":
                self.silent[name] = 0.0
        return self

    def run(self, seconds: float, frozen: str = "") -> list[str]:
        """Time passes in which `frozen` does not beat; every trouble that shows, once."""
        troubles: dict[str, None] = {}
        for tick in range(round(seconds * 10)):
            self.now += 0.1
            for name in self.silent:
                self.silent[name] = self.silent[name] + 0.1 if name == frozen else 0.0
            if self.answers and tick % 5 == 0:
                peers = [Peer(name, name, silent, self.lag) for name, silent in self.silent.items()]
                self.watch.heard(peers, self.now)
            for name in ("bus", *self.silent):
                if trouble := self.watch.trouble(name, self.now):
                    troubles[f"{name} {trouble}"] = None
        return list(troubles)


def test_who_beats_is_well() -> None:
    """Nothing is said about processes that beat."""
    assert Clock().start("bus", "solver", "gate").run(300) == []


def test_silence_is_noticed_within_five_seconds() -> None:
    """A process that stops beating is in trouble after `frozen_s`, and nobody else is."""
    clock = Clock().start("bus", "solver", "gate")
    clock.run(10)
    assert clock.run(3.9, frozen="solver") == []
    (trouble,) = clock.run(0.9, frozen="solver")
    assert trouble.startswith("solver stood still: no heartbeat for 4.")


def test_a_broker_that_does_not_answer_is_in_trouble_and_nobody_else() -> None:
    """As long as the broker is silent nothing can be said of the others; after its restart nothing of before counts."""
    clock = Clock().start("bus", "solver")
    clock.run(10)
    clock.answers = False
    assert clock.run(3.5) == []
    assert all(trouble.startswith("bus stood still: no answer for 4.") for trouble in clock.run(0.9))
    clock.start("bus")
    assert clock.run(20) == []
    clock.answers = True
    clock.silent["solver"] = 30.0
    assert clock.run(1, frozen="solver") == []
    assert clock.run(10) == []


def test_a_process_has_time_to_start() -> None:
    """Before its first beat a process is given a minute, after its first beat the usual seconds."""
    clock = Clock().start("bus", "solver")
    clock.run(10)
    clock.watch.started("solver", clock.now)
    clock.silent["solver"] = 1.0
    assert clock.run(55, frozen="solver") == []
    assert clock.run(10, frozen="solver")[0].startswith("solver gave no sign of life within 60 s")


def test_a_beat_of_the_process_before_does_not_count() -> None:
    """The broker still tells of the process that died; the new one of that name is judged by its own beats."""
    clock = Clock().start("bus", "solver")
    clock.run(10)
    clock.run(2, frozen="solver")
    clock.watch.started("solver", clock.now)
    assert clock.run(20, frozen="solver") == []
    clock.run(1)
    assert clock.run(5, frozen="solver") != []


def test_a_frozen_supervisor_finds_nobody_dead() -> None:
    """Ctrl-Z for an hour, and then `fg`: the last answer is old, and still nobody is in trouble."""
    clock = Clock().start("bus", "solver")
    clock.run(10)
    clock.now += 3600
    assert clock.watch.trouble("bus", clock.now) is None
    assert clock.watch.trouble("solver", clock.now) is None
    assert clock.run(10) == []


@pytest.mark.parametrize(("lag", "count"), [(59.0, 0), (61.0, 1)])
def test_an_event_loop_that_is_stuck_is_noticed(lag: float, count: int) -> None:
    """A process that beats but whose loop has not come round for `stuck_s` is in trouble too."""
    clock = Clock().start("bus", "solver")
    clock.lag = lag
    troubles = clock.run(2)
    assert len(troubles) == count
    assert all("solver was stuck: its event loop has not come round for 61 s" in trouble for trouble in troubles)
