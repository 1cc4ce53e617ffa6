"""The `sagepace` command. Parses options, hands over to one module a command, and turns mistakes into one line.

Exit status: 0 done, 1 a difference or a failed check, 2 wrong usage or bad input, 3 the run stopped on a fault, 130 and 143
when it was interrupted. Nothing heavy is imported before a command needs it: `sagepace --help` answers at once.
"""

from __future__ import annotations

import errno
import signal
import sys
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from console.inspect.cli import log_app
from console.output import abandon_output, outlive_reader
from shared.errors import BadInput

DEFAULT_RUN = Path("runs/tiny.toml")
BOOTSTRAP_SEED = 7
"""Equals `console.bootstrap.make.DEFAULT_SEED`, not imported here for the sake of a quick start; a test compares them."""

app = typer.Typer(
    name="sagepace",
    help="A self-evolving LLM trainer: SAGE's four roles on a message bus, behind a PACE gate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
app.add_typer(log_app, name="log")


class Source(StrEnum):
    """Where completions come from in a re-run."""

    RECORDED = "recorded"
    LIVE = "live"


Directory = Annotated[Path, typer.Argument(help="Directory of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Runs a command and exits with its status. A user's mistake is one line on standard error, never a traceback."""
    # As an exception, so that whatever a command has made for the moment is cleared away; services end in ways of their own.
    signal.signal(signal.SIGTERM, _terminated)
    try:
        status = _status_of_command()
    except BadInput as error:
        status = _complain(str(error))
    except typer.Exit as ending:
        status = ending.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        abandon_output()
        # EPIPE: whoever read our output has gone (`sagepace log cat | head`); that is no fault, and nothing more can be said.
        status = 0 if error.errno == errno.EPIPE else _complain(f"no space left on the device{_named(error)}: see to the disk")
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        status = _complain(error.format_message())
    sys.exit(status or 0)


def _status_of_command() -> int | None:
    for word in sys.argv[1:]:
        if "\0" in word or word != word.encode(errors="replace").decode():
            raise BadInput(f"argument {word!a}: is not UTF-8; write it otherwise")
    try:
        status: int | None = app(standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # typer makes 1 of it, which here says that two things differ
            raise ending.__context__ from None
        raise
    return status


def _terminated(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _named(error: OSError) -> str:
    return f" ({error.filename})" if error.filename else ""


def _complain(line: str) -> int:
    print(f"sagepace: {line}", file=sys.stderr)
    return 2


@app.command()
def run(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="RUN.toml", help=f"Run file [default: {DEFAULT_RUN}].")] = None,
    directory: Annotated[Path | None, typer.Option("--dir", help="Where everything goes [default: out/NAME].")] = None,
    steps: Annotated[int | None, typer.Option(help="Learner steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random choice.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a key.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in its directory.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="One line a step instead of the live page.")] = False,
) -> None:
    """Run the whole loop here: every service, to the end, with the outcome printed."""
    from console.run_command import RunOptions, run_loop

    outlive_reader()
    given: dict[str, Any] = {"dir": directory and str(directory), "steps": steps, "seed": seed, "name": name}
    overrides = {key: value for key, value in given.items() if value is not None}
    raise typer.Exit(run_loop(file or default_run(), RunOptions(settings or (), overrides, resume, quiet)))


def default_run() -> Path:
    """`DEFAULT_RUN` in the working directory, else beside the project."""
    beside = Path(__file__).resolve().parents[1] / DEFAULT_RUN
    return beside if beside.exists() and not DEFAULT_RUN.exists() else DEFAULT_RUN


@app.command("rerun")
def rerun_service(
    *,
    directory: Directory,
    service: Annotated[str, typer.Option(metavar="NAME", help="The service to run again, such as solver.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="What if? Change a key.")
    ] = None,
    engine: Annotated[Source, typer.Option(help="Where completions come from.")] = Source.RECORDED,
    model: Annotated[Path | None, typer.Option(help="Folder of the base policy, where the run's store is not at hand.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run one service again on a recording and compare what it says; exit status 1 at a difference."""
    from console.rerun.again import Wishes
    from console.rerun.command import rerun

    outlive_reader()
    wishes = Wishes(settings or (), engine is Source.LIVE, model)
    raise typer.Exit(rerun(directory, service, wishes, json=as_json))


@app.command()
def replay(
    *,
    directory: Directory,
    bus: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where to publish [default: a new private one].")] = None,
    keys: Annotated[Path | None, typer.Option(help="The broker's keys, when the address is not of this machine.")] = None,
    speed: Annotated[float | None, typer.Option(help="Recorded seconds in a second [default: 1].")] = None,
    instant: Annotated[bool, typer.Option("--instant", help="As fast as it can be read.")] = False,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="As fast as the slowest consumer reads.")] = False,
    window: Annotated[int, typer.Option(min=1, help="With --lockstep: so many facts at once.")] = 1,
    step: Annotated[bool, typer.Option("--step", help="Start paused; n shows the next fact.")] = False,
    max_gap: Annotated[float | None, typer.Option(metavar="S", help="Cut idle times to so many recorded seconds.")] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="PLACE", help="Sequence number, offset (90s) or time.")] = None,
    until: Annotated[str | None, typer.Option(metavar="PLACE", help="Likewise; the last fact that is played.")] = None,
    only: Annotated[str | None, typer.Option(metavar="FACT,...", help="Only facts of these types.")] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Begin anew at the end.")] = False,
    exit_at_end: Annotated[bool, typer.Option("--exit-at-end", help="End when all was shown and read.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the address, and what goes wrong.")] = False,
) -> None:
    """Publish a recording again, on a bus of its own, for observers or a service under a debugger."""
    from console.replay import command

    pace = command.PaceOptions(speed, instant, lockstep, window, step, max_gap)
    raise typer.Exit(
        command.replay(
            command.ReplayOptions(directory, bus, keys, pace, first, until, only, loop, exit_at_end, quiet),
        )
    )


@app.command()
def control(
    *,
    address: Annotated[str, typer.Argument(help="Address of the replay, as it printed it.")],
    command: Annotated[str, typer.Argument(help="pause, resume, step [N], seek N, speed X, loop [on|off], stop or status.")],
    value: Annotated[str | None, typer.Argument(help="The number, or on or off.")] = None,
    keys: Annotated[Path | None, typer.Option(help="A client's keys, when the address is not of this machine.")] = None,
    as_json: AsJson = False,
) -> None:
    """Pause, step, move or end a replay from elsewhere, and print how it stands."""
    from console.replay.control import print_control

    print_control(address, command, value, keys=keys, as_json=as_json)


@app.command()
def bootstrap(
    *,
    out: Annotated[Path, typer.Option(help="Folder to make; it must not exist.")] = Path("out/bootstrap"),
    seed: Annotated[int, typer.Option(min=0, help="The default made the model that is shipped.")] = BOOTSTRAP_SEED,
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps; the recipe's own number without it.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads; another number gives other last bits.")] = 1,
) -> None:
    """Make the tiny base model anew, in under an hour; the defaults give models/tiny again."""
    from console.bootstrap.make import make_model

    make_model(out, seed=seed, steps=steps, threads=threads, report=print)


@app.command()
def keys(
    *,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to make them; what is there is kept.")],
    clients: Annotated[
        list[str] | None, typer.Option("--client", metavar="NAME", help="A client; may be repeated [default: client].")
    ] = None,
) -> None:
    """Make the keys that a bus needs where other hosts can reach it."""
    from console.keys_command import print_keys

    print_keys(directory, clients or ())


@app.command("version")
def show_version() -> None:
    """Print the version."""
    try:
        print(f"sagepace {version('sage-pace')}")
    except PackageNotFoundError:
        print("sagepace (not installed; run from its folder)")


def _version_if(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


@app.callback()
def _options(
    *, _version: Annotated[bool, typer.Option("--version", callback=_version_if, is_eager=True, help="Show it.")] = False
) -> None:
    """Options before the command."""
