"""The main of every role: parse the address, wait for the run's first fact, build the service, run it until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable

import structlog

from shared.bus.port import BusClosed
from shared.bus.zeromq import ZmqBus
from shared.engine.durable import DurableEngine
from shared.errors import BadInput
from shared.flow import FLOW
from shared.logs import configure_logs
from shared.messages import Role, RunStarted
from shared.parent import follow_parent
from shared.runtime import Runtime, Service, first_fact

log = structlog.get_logger()

Build = Callable[[RunStarted, DurableEngine], Service]


def serve(role: Role, build: Build) -> None:
    """Runs one role as this process. Ends 0 on SIGTERM or SIGINT, 2 on bad input, 3 when the bus is lost."""
    parser = argparse.ArgumentParser(prog=f"python -m services.{role}", description=f"The {role}, on its own.")
    parser.add_argument("--bus", required=True, metavar="ADDRESS", help="the broker's address, such as ipc:///tmp/run/bus")
    address = parser.parse_args().bus
    configure_logs(role)
    follow_parent()
    try:
        asyncio.run(_run(role, address, build))
    except (BadInput, BusClosed, BaseExceptionGroup) as error:
        cause = _first(error)
        if not isinstance(cause, BadInput | BusClosed):
            raise
        print(f"services.{role}: {cause}", file=sys.stderr)
        sys.exit(2 if isinstance(cause, BadInput) else 3)


async def _run(role: Role, address: str, build: Build) -> None:
    bus = ZmqBus(address)
    task = asyncio.create_task(_work(role, bus, build))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        await bus.close()


async def _work(role: Role, bus: ZmqBus, build: Build) -> None:
    run = await first_fact(bus)
    engine = DurableEngine(bus, role)
    service = build(run, engine)
    speaks = FLOW[role].speaks
    runtime = Runtime(
        role, service, bus, listeners=(engine.observe,) if speaks else (), wants=engine.types if speaks else frozenset()
    )
    log.info("started", seed=run.seed)
    try:
        await runtime.run()
    finally:
        getattr(service, "close", lambda: None)()


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
