"""Every retry policy of the system, by name."""

from __future__ import annotations

import time
from collections.abc import Callable

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_none,
)
from tenacity.stop import stop_base

from shared.awake import AwakeClock
from shared.bus.port import BusClosed

HANDLER_TRIES = 3
LONGEST_TRY_S = 5.0
"""One try of a request to the broker takes a second or two; a longer one was not awake in between."""

Attempts = Callable[[], AsyncRetrying]
"""A policy, fresh for each piece of work."""


class _AwakeFor(stop_base):
    """Stops after so many seconds awake."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._clock = AwakeClock(LONGEST_TRY_S)
        self._clock.at(time.monotonic())

    def __call__(self, retry_state: RetryCallState) -> bool:
        return self._clock.at(time.monotonic()) >= self._seconds


def _passes_by(error: BaseException) -> bool:
    """Being cancelled is no fault, and a lost bus is none of the work's."""
    return isinstance(error, Exception) and not isinstance(error, BusClosed)


def handler_attempts() -> AsyncRetrying:
    """For `handle`: a fault that passes by is worth a second and third try."""
    return AsyncRetrying(
        stop=stop_after_attempt(HANDLER_TRIES),
        wait=wait_exponential(multiplier=0.1, max=2.0),
        retry=retry_if_exception(_passes_by),
        reraise=True,
    )


def instant_attempts() -> AsyncRetrying:
    """Like `handler_attempts`, without the waits: for a re-run, in which nothing outside can pass by."""
    return handler_attempts().copy(wait=wait_none())


def bus_attempts(deadline_s: float) -> AsyncRetrying:
    """For a request to the broker: it may be restarting. Gives up after about `deadline_s` seconds; each try waits by itself.

    Only time counts in which this process was awake: one that was frozen for minutes is not to give up when it goes on.
    """
    return AsyncRetrying(
        stop=_AwakeFor(deadline_s),
        wait=wait_exponential(multiplier=0.02, max=0.1),
        retry=retry_if_exception_type(TimeoutError),
        reraise=True,
    )
