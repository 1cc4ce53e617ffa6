"""The README's pictures of the flow table: `python -m console.diagram --write README.md` draws them, `--check` compares.

A Mermaid flowchart between the marks ``flow`` and a table between the marks ``facts``, both from `shared.flow.FLOW` and nothing
else. For the chart's sake some arrows are drawn together or not at all, and a sentence below the table says which.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from shared.errors import BadInput
from shared.flow import EXPERIENCE, FLOW, UPKEEP
from shared.messages import FACT_TYPES, Fact, Role, TaskSeeded, WorkFailed

UNDRAWN: frozenset[type[Fact]] = frozenset({TaskSeeded, WorkFailed})
"""Facts without an arrow: the seeds, said once before anything moves, and the faults, which every role may give."""
SPEAKERS = tuple(role for role, port in FLOW.items() if port.speaks)
GROUP = "model"
"""The chart's box around the speakers."""

Arrow = tuple[str, str, tuple[str, ...]]


def names(facts: Iterable[type[Fact]]) -> tuple[str, ...]:
    """The facts' names in the order of a run's life."""
    wanted = set(facts)
    return tuple(fact.__name__ for fact in FACT_TYPES if fact in wanted)


ASKED = names(FLOW[Role.INFERENCE].takes - FLOW[Role.INFERENCE].gives)
ANSWERED = names(FLOW[Role.INFERENCE].gives)


def arrows() -> list[Arrow]:
    """Giver, taker and the names of the facts between them; what a role folds of its own facts is left out.

    Whoever takes the speakers' experiences gets one arrow from their box for all that they give it.
    """
    found: list[Arrow] = []
    for taker, port in FLOW.items():
        gathers = port.takes >= EXPERIENCE
        if gathers:
            given = frozenset().union(*(FLOW[role].gives for role in SPEAKERS))
            found.append((GROUP, taker, names(given & port.takes)))
        for giver, other in FLOW.items():
            passed = (other.gives & port.takes) - UNDRAWN
            if giver is not taker and passed and not (gathers and other.speaks):
                found.append((giver, taker, names(passed)))
    return [*found, (GROUP, Role.INFERENCE, ASKED), (Role.INFERENCE, GROUP, ANSWERED)]


def chart() -> str:
    """The Mermaid flowchart, fence included."""
    return "\n".join(["```mermaid", *_chart_lines(), "```"])


def _chart_lines() -> Iterator[str]:
    yield "flowchart LR"
    yield f'  subgraph {GROUP}["one language model"]'
    yield from (f"    {role}([{role.title()}])" for role in SPEAKERS)
    yield "  end"
    yield from (f"  {role}[{role.title()}]" for role in FLOW if role not in SPEAKERS)
    for giver, taker, facts in arrows():
        line = "-.->" if GROUP in {giver, taker} else "-->"
        yield f'  {giver} {line}|"{"<br/>".join(facts)}"| {taker}'


def table() -> str:
    """Role, takes and gives as a Markdown table, and what holds for all rows."""
    lines = ["| role | takes | gives |", "|---|---|---|"]
    for role, port in FLOW.items():
        folder = "console" if role is Role.CONSOLE else f"services/{role}"
        lines.append(f"| [{role}]({folder}/) | {', '.join(names(port.takes))} | {', '.join(names(port.gives))} |")
    speakers = ", ".join(SPEAKERS)
    return "\n".join(
        [
            *lines,
            "",
            f"Beyond its row, each role that speaks to the model ({speakers}) gives {', '.join(ASKED)} and takes",
            f"{' or '.join(ANSWERED)}, and every role gives {WorkFailed.__name__} when it has to give up on a fact.",
            f"{' and '.join(names(UPKEEP))} tell which processes share a role's work. The diagram leaves out",
            f"{', '.join(names(UNDRAWN))} and what a role folds of its own facts.",
        ]
    )


def drawn(text: str, where: str) -> str:
    """`text` with both pictures as they must be now. Raises `BadInput` when a pair of marks is missing."""
    for name, picture in (("flow", chart()), ("facts", table())):
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(text):
            raise BadInput(f"{where}: no '{begin}' with a '{end}' after it; put both on lines of their own")
        text = pattern.sub(lambda _: f"{begin}\n{picture}\n{end}", text, count=1)  # noqa: B023 - called at once
    return text


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 written or current, 1 stale, 2 bad input."""
    parser = argparse.ArgumentParser(prog="python -m console.diagram", description="Draws shared/flow.py into the README.")
    todo = parser.add_mutually_exclusive_group(required=True)
    todo.add_argument("--write", metavar="FILE", type=Path, help="replace what is between the marks")
    todo.add_argument("--check", metavar="FILE", type=Path, nargs="?", const=Path("README.md"), help="say whether it is stale")
    options = parser.parse_args(arguments)
    path: Path = options.write or options.check
    try:
        text = path.read_text(encoding="utf-8")
        wanted = drawn(text, str(path))
        if options.write:
            path.write_text(wanted, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"diagram: {path}: {getattr(error, 'strerror', None) or error}; name the README", file=sys.stderr)
        return 2
    except BadInput as error:
        print(f"diagram: {error}", file=sys.stderr)
        return 2
    if options.check and text != wanted:
        print(f"{path} is stale: run `python -m console.diagram --write {path}`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
