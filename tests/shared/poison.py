"""A planner that dies over a poisoned assignment, as a process: `python -m tests.shared.poison --bus ADDRESS`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

from shared.engine.port import Engine
from shared.messages import PlanJudged, PlanMalformed, Role, RunStarted, TaskAssigned
from shared.serve import serve

POISON, SLOW_POISON = "poison", "slow poison"


class Delicate:
    """Answers all assignments but the poisoned ones."""

    async def handle(self, fact: TaskAssigned | PlanJudged) -> AsyncIterator[PlanMalformed]:
        """An answer, or death: by a signal at once, or by exit after a while in which others are finished."""
        assert isinstance(fact, TaskAssigned)
        if fact.task.question == POISON:
            os.kill(os.getpid(), signal.SIGSEGV)
        await asyncio.sleep(0.002 * (fact.slot % 7))
        if fact.task.question == SLOW_POISON:
            await asyncio.sleep(0.7)
            os._exit(1)
        yield PlanMalformed(step=1, slot=fact.slot, policy="p", task=fact.task, sample="", format=0.0, reason="delicate")


def build(run: RunStarted, engine: Engine) -> Delicate:
    """The service."""
    return Delicate()


if __name__ == "__main__":
    serve(Role.PLANNER, build)
