"""`sagepace run`: checks everything, starts the session, and says what came of it."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from console.launch import (
    broker_child,
    check_same,
    first_facts,
    install_base,
    model_folder,
    recorded_start,
    require_whole_run,
    seed_tasks,
    service_children,
)
from console.outcome import OUTCOME_TYPES, Outcome, outcome_of
from console.outcome_report import print_outcome, save_outcome
from console.place import Place, claim
from console.recording import open_recording
from console.runfile import RunFile, load_run_file
from console.screen import screen_for
from console.session import OK, Ending, Limits, Session
from shared.bus.address import bus_address_for
from shared.bus.rollcall import RollCall
from shared.bus.zeromq import ZmqBus
from shared.messages import Fact


class RunOptions(NamedTuple):
    """What the command line says besides the run file."""

    settings: Sequence[str] = ()
    overrides: dict[str, Any] = {}  # noqa: RUF012 - read only
    resume: bool = False
    quiet: bool = False


def run_loop(path: Path, options: RunOptions) -> int:
    """Runs the whole loop and gives the exit status. Raises `BadInput` before anything is made, where that is possible."""
    run = load_run_file(path, options.settings, options.overrides)
    place = claim(run.directory, resume=options.resume, min_free_mb=run.run.min_free_mb)
    first = _facts_to_resume(run, place) if options.resume else _facts_to_start(run, place)
    if options.resume and (outcome := read_outcome(place)).ok:
        print_outcome(outcome, Console())
        return OK
    console = Console()
    with screen_for(console, quiet=options.quiet) as screen:
        screen.say(f"run {run.run.name}: {run.run.steps} steps, seed {run.run.seed}, in {place.root}")
        evaluations = len(set(run.gate.test_temperatures))
        limits = Limits(run.run.stall_s, run.run.max_fault_share, evaluations, run.run.frozen_s, run.run.stuck_s)

        async def session() -> Ending:
            address = bus_address_for(place.root)
            broker, services = broker_child(place, run), service_children(place, run)
            roll = RollCall(address)
            return await Session(ZmqBus(address), broker, services, screen, limits, roll=roll).run(first)

        ending = asyncio.run(session())
    _tell(ending, place, console)
    return ending.status


def _facts_to_start(run: RunFile, place: Place) -> list[Fact]:
    """Reads the model and the seed tasks before the first directory is made, so that bad input leaves nothing behind."""
    folder = model_folder(run.model.path)
    tasks = seed_tasks(run)
    place.make()
    return first_facts(run, place, install_base(folder, place), tasks)


def _facts_to_resume(run: RunFile, place: Place) -> list[Fact]:
    """The same facts again: the log takes each id once, so only what is missing is added."""
    require_whole_run(place)
    recorded = recorded_start(place)
    check_same(recorded.config, run.describe(), place)
    place.make()
    return first_facts(run, place, recorded.base_policy, seed_tasks(run))


def read_outcome(place: Place) -> Outcome:
    """The outcome as the log in `place` tells it."""
    with open_recording(place.root) as recording:
        return outcome_of([fact for _, _, fact in recording.facts(OUTCOME_TYPES)], str(place.log))


def _tell(ending: Ending, place: Place, console: Console) -> None:
    """The outcome of a run that is over; for all others why it stopped, where to look, and how to go on."""
    if ending.status == OK:
        outcome = read_outcome(place)
        save_outcome(outcome, place.root)
        print_outcome(outcome, console)
        return
    print(f"sagepace: {ending.reason}", file=sys.stderr)
    print(f"  what the services said: {place.output}", file=sys.stderr)
    again = resume_command(sys.argv)
    # A run that was stopped before its broker had made a log has nothing to go on with.
    print(f"  go on with: {again}" if place.log.exists() else "  nothing was recorded yet: start it again", file=sys.stderr)


def resume_command(arguments: Sequence[str]) -> str:
    """The command line that goes on with the run that these arguments started."""
    by_hand = Path(arguments[0]).name == "__main__.py"
    words = [*(["python", "-m", "console"] if by_hand else ["sagepace"]), *arguments[1:]]
    return shlex.join(words if "--resume" in words else [*words, "--resume"])
