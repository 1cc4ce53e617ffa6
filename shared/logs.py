"""Structured logs: one JSON object a line, bound to the run and the role; readable text where a person watches a terminal."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

RUN_VARIABLE = "SAGEPACE_RUN"
"""Environment variable in which the console tells its services the run's name."""


def configure_logs(role: str, *, run: str | None = None, stream: TextIO | None = None) -> None:
    """Sets structlog up for this process; call it once, first thing in ``__main__``.

    Lines go to `stream` (standard error when None): JSON, or coloured text when the stream is a terminal. `run` defaults to the
    environment variable `RUN_VARIABLE`.
    """
    out = stream or sys.stderr
    name = os.environ.get(RUN_VARIABLE, "") if run is None else run
    ending: list[Processor]
    if out.isatty():
        ending = [structlog.dev.ConsoleRenderer()]
    else:
        ending = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            bound_to(run=name, role=role),
            *ending,
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.WriteLoggerFactory(out),
    )


def bound_to(**fields: str) -> Processor:
    """A processor that adds `fields` to every line of every thread, unless the line says otherwise itself."""

    def bind(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        return {**fields, **event}

    return bind
