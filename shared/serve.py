"""The main of every role: parse the address, wait for the run's first fact, build the service, run it until told to stop.

A process that was declared gone while it stood still (`Replaced`) begins anew by running its own command line again: whatever
its threads were at is over then, and it joins its role like any other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from shared.bus.beat import Heart
from shared.bus.keys import KEYS_VARIABLE
from shared.bus.port import Bus, BusClosed
from shared.bus.wire import Nature
from shared.bus.zeromq import PATIENCE_S, ZmqBus
from shared.engine.durable import DurableEngine
from shared.errors import BadInput
from shared.flow import FLOW
from shared.handling import Service
from shared.logs import configure_logs
from shared.membership import Replaced
from shared.messages import Role, RunStarted
from shared.parent import follow_parent
from shared.roster import replica_name
from shared.runtime import Replica, Runtime, first_fact

log = structlog.get_logger()

Build = Callable[[RunStarted, DurableEngine], Service]

DEATHS_OVER_ONE_FACT = 3
"""Where the run's first fact does not say it, as that of an older run."""


def serve(role: Role, build: Build) -> None:
    """Runs one role as this process. Ends 0 on SIGTERM or SIGINT, 2 on bad input, 3 when the bus is lost."""
    options = _options(role)
    configure_logs(role)
    follow_parent()
    try:
        bus = ZmqBus(options.bus, patience_s=options.patience, keys=options.keys)
        name = replica_name(role, options.replica)
        asyncio.run(_run(role, bus, build, Heart(options.bus, name, role, options.keys), name))
    except (BadInput, BusClosed, BaseExceptionGroup) as error:
        cause = _first(error)
        if isinstance(cause, Replaced):
            print(f"services.{role}: {cause}; starting anew", file=sys.stderr, flush=True)
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        if not isinstance(cause, BadInput | BusClosed):
            raise
        print(f"services.{role}: {cause}", file=sys.stderr)
        sys.exit(2 if isinstance(cause, BadInput) else 3)


def _options(role: Role) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m services.{role}", description=f"The {role}, on its own.")
    parser.add_argument("--bus", required=True, metavar="ADDRESS", help="the broker's address, such as ipc:///tmp/run/bus")
    keys_help = f"this process's keys, as `sagepace keys` makes them; needed for a bus on another host [{KEYS_VARIABLE}]"
    parser.add_argument("--keys", metavar="DIR", type=Path, help=keys_help)
    patience_help = "how long the bus may be unreachable before this process ends with exit code 3 [%(default)g]"
    parser.add_argument("--patience", metavar="SECONDS", type=float, default=PATIENCE_S, help=patience_help)
    replica_help = "this process's own name, where several share the role's work; the same after a restart [the role's]"
    parser.add_argument("--replica", metavar="NAME", help=replica_help)
    return parser.parse_args()


async def _run(role: Role, bus: ZmqBus, build: Build, heart: Heart, name: str) -> None:
    task = asyncio.create_task(_work(role, bus, build, name))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    heart.start(loop)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")
    finally:
        heart.stop()
        await bus.close()


async def _work(role: Role, bus: ZmqBus, build: Build, name: str) -> None:
    run = await first_fact(bus)
    status = await bus.status()
    live = status.nature is Nature.LIVE
    if not live:
        log.info(f"attached to a replay of {status.about}")
    replica = Replica(name, deaths_over_one_fact(run)) if live else None
    service, runtime = assembled(role, bus, build, run, replica=replica)
    log.info("started", seed=run.seed, replica=name)
    try:
        await runtime.run()
    finally:
        getattr(service, "close", lambda: None)()


def assembled(role: Role, bus: Bus, build: Build, run: RunStarted, **options: Any) -> tuple[Service, Runtime]:
    """A role's service on its engine, and the runtime that drives it; `options` are the runtime's."""
    engine = DurableEngine(bus, role)
    service = build(run, engine)
    if FLOW[role].speaks:
        options |= {"listeners": (engine.observe,), "wants": engine.types}
    return service, Runtime(role, service, bus, **options)


def deaths_over_one_fact(run: RunStarted) -> int:
    """After how many deaths over one fact it is given up in this run."""
    return int(run.config.get("run", {}).get("deaths_over_one_fact", DEATHS_OVER_ONE_FACT))


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
