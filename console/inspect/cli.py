"""The options of `sagepace log ...`; the commands themselves are the other modules, imported when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from console.inspect.formats import Format
from console.output import outlive_reader

log_app = typer.Typer(help="What is in a run's log.", no_args_is_help=True)

Directory = Annotated[Path, typer.Argument(help="Directory of a run, or its log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Only = Annotated[list[str] | None, typer.Option(metavar="FACT,...", help="Only facts of these types.")]
ByRole = Annotated[list[str] | None, typer.Option("--role", metavar="ROLE,...", help="Only facts that these roles gave.")]
Steps = Annotated[str | None, typer.Option(metavar="N[:M]", help="Only these steps and the Gate's tests after them.")]
Lineage = Annotated[str | None, typer.Option(metavar="UNIT", help="Only this unit of work and its parts, such as s3.c7.")]
PLACE = "a sequence number (120), an offset from the log's start (90s, 2m) or a time in UTC (2026-01-31T12:00:00)"
From = Annotated[str | None, typer.Option("--from", metavar="PLACE", help=f"Begin at {PLACE}.")]
Until = Annotated[str | None, typer.Option(metavar="PLACE", help="Likewise: end there.")]


Form = Annotated[Format | None, typer.Option("--format", help="In place of the file's ending.")]


@log_app.command("info")
def log_info(directory: Directory, as_json: AsJson = False) -> None:
    """What is in a log: span, counts, rates, state, seeds, decisions."""
    from console.inspect.info import print_info

    print_info(directory, as_json=as_json)


@log_app.command("cat")
def log_cat(
    *,
    directory: Directory,
    only: Only = None,
    role: ByRole = None,
    step: Steps = None,
    lineage: Lineage = None,
    first: From = None,
    until: Until = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many facts.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what is added, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """The facts themselves, one a line."""
    from console.inspect.cat import print_facts
    from console.inspect.selected import Options

    options = Options(tuple(only or ()), tuple(role or ()), step, lineage, first, until)
    print_facts(directory, options, follow=follow, as_json=as_json, limit=limit)


@log_app.command("verify")
def log_verify(directory: Directory, as_json: AsJson = False) -> None:
    """Check that a log is whole: rows, checksums, causes, tables; exit status 1 when it is not."""
    from console.inspect.verify import print_verification

    raise typer.Exit(print_verification(directory, as_json=as_json))


@log_app.command("trace")
def log_trace(
    directory: Directory,
    target: Annotated[
        str, typer.Argument(metavar="ID", help="A fact's id (or its beginning, or #NUMBER), a task's, or a unit.")
    ],
    full: Annotated[bool, typer.Option("--full", help="Prompts and replies whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """One task's life as a tree of causes, up to the gradient step and the Gate's decision."""
    from console.inspect.trace import print_trace

    print_trace(directory, target, full=full, as_json=as_json)


@log_app.command("why-waiting")
def log_why_waiting(directory: Directory, as_json: AsJson = False) -> None:
    """What each service waits for now, since when, and what everybody waits for in the end."""
    from console.inspect.why import print_why_waiting

    print_why_waiting(directory, as_json=as_json)


@log_app.command("diff")
def log_diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="Directory of a run, or its log.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """Whether two logs say the same; exit status 1, the first difference and a summary when not."""
    from console.inspect.diff import print_diff

    outlive_reader()
    raise typer.Exit(print_diff(a, b, as_json=as_json))


@log_app.command("export")
def log_export(
    *,
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to make, ending in .jsonl or .mcap.")],
    only: Only = None,
    role: ByRole = None,
    step: Steps = None,
    lineage: Lineage = None,
    first: From = None,
    until: Until = None,
    form: Form = None,
    as_json: AsJson = False,
) -> None:
    """Write a log, or a part of it, as JSON lines (which pandas loads) or MCAP."""
    from console.inspect.exporting import export_log
    from console.inspect.selected import Options

    options = Options(tuple(only or ()), tuple(role or ()), step, lineage, first, until)
    export_log(directory, out, options, chosen_format=form, as_json=as_json)


@log_app.command("import")
def log_import(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sagepace log export` wrote.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to put the log into.")],
    form: Form = None,
    as_json: AsJson = False,
) -> None:
    """Make the log again that an export was made from; a changed line is refused with its number."""
    from console.inspect.exporting import import_log

    import_log(file, directory, chosen_format=form, as_json=as_json)


@log_app.command("slice")
def log_slice(
    *,
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="Directory to put the small log into.")],
    step: Steps = None,
    lineage: Lineage = None,
    first: From = None,
    until: Until = None,
    as_json: AsJson = False,
) -> None:
    """Cut a small log that can still be re-run: by step, by one unit of work, or all steps and tests that a stretch touches."""
    from console.inspect.selected import Options
    from console.inspect.slices import print_slice

    print_slice(directory, out, Options((), (), step, lineage, first, until), as_json=as_json)
