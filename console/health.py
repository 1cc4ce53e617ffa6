"""When a run is in trouble: no progress, too many faults, or a fault that nothing can follow. Pure judgements, and the question
who is busy."""

from __future__ import annotations

from collections.abc import Iterable

from console.view import RunView
from shared.awake import AwakeClock
from shared.bus.port import Bus
from shared.flow import FLOW, UPKEEP
from shared.messages import Fact, Role, TrainingEnded, WorkFailed
from shared.roster import role_of

_LONGEST_LOOK_S = 10.0
"""Between two looks at the log no more time than this counts; it takes as long when the broker is being restarted."""


class RunStopped(Exception):
    """The run cannot go on; the message is the root cause."""


class StallWatch:
    """Measures how long the log has not grown, in time in which this process was awake."""

    def __init__(self, limit_s: float) -> None:
        self._clock = AwakeClock(_LONGEST_LOOK_S)
        self._limit_s = limit_s
        self._facts = -1
        self._since = 0.0

    def stalled(self, facts: int, at: float) -> bool:
        """Whether the log, now `facts` long, has not grown for the limit at time `at` (seconds on a steady clock)."""
        awake = self._clock.at(at)
        if facts != self._facts:
            self._facts, self._since = facts, awake
        return awake - self._since >= self._limit_s


def check_faults(view: RunView, limit: float) -> None:
    """Raises `RunStopped` when faults of ours spoil more than the share `limit` of the work."""
    if view.fault_share > limit:
        share = f"faults spoil {view.fault_share:.0%} of the work, run.max_fault_share allows {limit:.0%}"
        raise RunStopped(f"{share}; the last one: {view.last_fault}")


def check_failure(fact: Fact) -> None:
    """Raises `RunStopped` for a work given up without which nothing can follow: the Learner's, and the final evaluation."""
    if isinstance(fact, WorkFailed) and (
        fact.role is Role.LEARNER or (fact.role is Role.GATE and fact.work_type == TrainingEnded.__name__)
    ):
        raise RunStopped(f"the {fact.role} gave up on {fact.work_type} {fact.lineage}: {fact.reason}")


async def busy(bus: Bus, processes: Iterable[str]) -> str:
    """Who has not finished what, from the cursors of `processes` and of roles without one.

    The newest fact comes first: whoever works on it is what the others wait for. Such as ``inference: SampleRequested s3.a2``.
    """
    names = {*processes}
    names |= {str(role) for role in FLOW if role is not Role.CONSOLE and not any(role_of(name) is role for name in names)}
    waiting: list[tuple[int, str]] = []
    for name in names:
        role = role_of(name)
        if role is None or role not in FLOW:
            continue
        found = await _first_after(bus, await bus.cursor(name), FLOW[role].takes)
        if found:
            seq, fact = found
            what = "work that it took over" if type(fact) in UPKEEP else f"{type(fact).__name__} {fact.lineage}".rstrip()
            waiting.append((seq, f"{name}: {what} (fact {seq})"))
    return "; ".join(text for _, text in sorted(waiting, reverse=True)) if waiting else "no service has work"


async def _first_after(bus: Bus, seq: int, types: frozenset[type[Fact]]) -> tuple[int, Fact] | None:
    """The first fact of these types above `seq`, or the fact right there when it is one by which work changed hands."""
    page = await bus.read(seq, UPKEEP, limit=1)
    if page.facts and page.facts[0][0] == seq + 1:
        return page.facts[0]
    while True:
        page = await bus.read(seq, types, limit=1)
        if page.facts:
            return page.facts[0]
        if page.upto <= seq:
            return None
        seq = page.upto
