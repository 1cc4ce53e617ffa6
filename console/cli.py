"""The `sagepace` command. Parses options, hands over to one module a command, and turns mistakes into one line.

Exit status: 0 done, 1 a difference or a failed check, 2 wrong usage or bad input, 3 the run stopped on a fault, 130 and 143
when it was interrupted. Nothing heavy is imported before a command needs it: `sagepace --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

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
    rich_markup_mode=None,
)
log_app = typer.Typer(help="What is in a run's log.", no_args_is_help=True)
app.add_typer(log_app, name="log")

Directory = Annotated[Path, typer.Argument(help="Directory of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Runs a command and exits with its status. A user's mistake is one line on standard error, never a traceback."""
    try:
        status = app(standalone_mode=False)
    except BadInput as error:
        status = _complain(str(error))
    except typer.Exit as ending:
        status = ending.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except BrokenPipeError:
        # Whoever read our output has gone (`sagepace log cat | head`); that is no fault, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        status = _complain(error.format_message())
    sys.exit(status or 0)


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

    given: dict[str, Any] = {"dir": directory and str(directory), "steps": steps, "seed": seed, "name": name}
    overrides = {key: value for key, value in given.items() if value is not None}
    raise typer.Exit(run_loop(file or default_run(), RunOptions(settings or (), overrides, resume, quiet)))


def default_run() -> Path:
    """`DEFAULT_RUN` in the working directory, else beside the project."""
    beside = Path(__file__).resolve().parents[1] / DEFAULT_RUN
    return beside if beside.exists() and not DEFAULT_RUN.exists() else DEFAULT_RUN


@log_app.command("info")
def log_info(directory: Directory, as_json: AsJson = False) -> None:
    """What is in a log: counts, times, decisions."""
    from console.log_commands import print_info

    print_info(directory, as_json=as_json)


@log_app.command("cat")
def log_cat(
    *,
    directory: Directory,
    types: Annotated[list[str] | None, typer.Option("--type", help="Only facts of this type; may be repeated.")] = None,
    lineage: Annotated[str | None, typer.Option(help="Only this unit of work and those below it, such as s3.c7.")] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="First sequence number.")] = 1,
    until: Annotated[int | None, typer.Option(min=1, help="Last sequence number.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many facts.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what is added, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """The facts themselves, one a line."""
    from console.log_commands import Wanted, print_facts

    print_facts(directory, Wanted(types, lineage, first, until, limit), follow=follow, as_json=as_json)


@log_app.command("verify")
def log_verify(directory: Directory, as_json: AsJson = False) -> None:
    """Check that a log is whole; exit status 1 when it is not."""
    from console.log_commands import print_verification

    raise typer.Exit(print_verification(directory, as_json=as_json))


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


@app.command("version")
def show_version() -> None:
    """Print the version."""
    try:
        print(f"sagepace {version('sage-pace')}")
    except PackageNotFoundError:
        print("sagepace (not installed; run from its folder)")
