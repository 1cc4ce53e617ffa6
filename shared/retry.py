"""Every retry policy of the system, by name."""

from __future__ import annotations

from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
)

from shared.bus.port import BusClosed

HANDLER_TRIES = 3


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


def bus_attempts(deadline_s: float) -> AsyncRetrying:
    """For a request to the broker: it may be restarting. Gives up after about `deadline_s` seconds."""
    return AsyncRetrying(
        stop=stop_after_delay(deadline_s),
        wait=wait_exponential(multiplier=0.05, max=0.5),
        retry=retry_if_exception_type(TimeoutError),
        reraise=True,
    )
