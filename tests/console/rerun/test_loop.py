"""The loop of a re-run: no timer fires, threads are waited for, and rest is noticed exactly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from console.rerun.loop import Outside, StillLoop


def run(work: Coroutine[Any, Any, str], rested: list[float], wake: asyncio.Event) -> str:
    """Runs `work` on a still loop; at the first rest `wake` is set."""

    def at_rest() -> bool:
        if wake.is_set():
            return False
        rested.append(time.monotonic())
        wake.set()
        return True

    with asyncio.Runner(loop_factory=lambda: StillLoop(Outside(), at_rest)) as runner:
        return runner.run(work)


def test_rest_comes_at_once_though_a_timer_is_set() -> None:
    """A deadline of an hour neither fires nor is waited for."""
    wake, rested = asyncio.Event(), list[float]()

    async def work() -> str:
        began = time.monotonic()
        async with asyncio.timeout(3600):
            await wake.wait()
        assert time.monotonic() - began < 5
        return "woken"

    assert run(work(), rested, wake) == "woken"
    assert len(rested) == 1


def test_no_timer_fires_however_long_it_takes() -> None:
    """Time stands still: what takes longer than a deadline is not late."""
    wake = asyncio.Event()

    async def work() -> str:
        async with asyncio.timeout(0.01):
            time.sleep(0.05)  # noqa: ASYNC251 - real time is to pass
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().time() == 0.0
        return "in time"

    assert run(work(), [], wake) == "in time"


def test_a_thread_at_work_is_no_rest() -> None:
    """What a role does in a worker thread is waited for; only then the loop rests."""
    wake, rested = asyncio.Event(), list[float]()

    async def work() -> str:
        ended = await asyncio.to_thread(lambda: time.sleep(0.1) or time.monotonic())
        assert not rested
        await wake.wait()
        assert rested[0] >= ended
        return "done"

    assert run(work(), rested, wake) == "done"


def test_what_a_rest_raises_ends_the_loop() -> None:
    """A loop that can never go on fails loudly instead of hanging."""

    def at_rest() -> bool:
        raise AssertionError("stuck")

    with (
        pytest.raises(AssertionError, match="stuck"),
        asyncio.Runner(loop_factory=lambda: StillLoop(Outside(), at_rest)) as runner,
    ):
        runner.run(asyncio.Event().wait())
