"""When a run is in trouble: no progress, or too many faults. Pure judgements, and the question who is busy."""

from __future__ import annotations

from console.view import RunView
from shared.bus.port import Bus
from shared.flow import FLOW
from shared.messages import Fact, Role


class RunStopped(Exception):
    """The run cannot go on; the message is the root cause."""


class StallWatch:
    """Measures how long the log has not grown."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._facts = -1
        self._since = 0.0

    def stalled(self, facts: int, at: float) -> bool:
        """Whether the log, now `facts` long, has not grown for the limit at time `at` (seconds on a steady clock)."""
        if facts != self._facts:
            self._facts, self._since = facts, at
        return at - self._since >= self._limit_s


def check_faults(view: RunView, limit: float) -> None:
    """Raises `RunStopped` when faults of ours spoil more than the share `limit` of the work."""
    if view.fault_share > limit:
        share = f"faults spoil {view.fault_share:.0%} of the work, run.max_fault_share allows {limit:.0%}"
        raise RunStopped(f"{share}; the last one: {view.last_fault}")


async def busy(bus: Bus) -> str:
    """Who has not finished what, from the cursors: ``inference: SampleRequested s3.a2``, or that nobody has work."""
    waiting = []
    for role, port in FLOW.items():
        if role is Role.CONSOLE:
            continue
        fact = await _first_after(bus, await bus.cursor(role), port.takes)
        if fact:
            waiting.append(f"{role}: {type(fact).__name__} {fact.lineage}".rstrip())
    return "; ".join(waiting) if waiting else "no service has work"


async def _first_after(bus: Bus, seq: int, types: frozenset[type[Fact]]) -> Fact | None:
    while True:
        page = await bus.read(seq, types, limit=1)
        if page.facts:
            return page.facts[0][1]
        if page.upto <= seq:
            return None
        seq = page.upto
