"""An outcome on paper: a table for people, a JSON file for programs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from console.outcome import KeyAudit, Outcome

OUTCOME_FILE = "outcome.json"


def save_outcome(outcome: Outcome, directory: Path) -> Path:
    """Writes `OUTCOME_FILE` into `directory`, whole or not at all, and returns its path."""
    path = directory / OUTCOME_FILE
    partial = directory / f".{OUTCOME_FILE}.part"
    data = msgspec.json.format(msgspec.json.encode(outcome), indent=2)
    with partial.open("wb") as file:
        file.write(data + b"\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return path


def print_outcome(outcome: Outcome, console: Console) -> None:
    """Prints the outcome; without colours where the console is no terminal."""
    console.print(render(outcome))


def render(outcome: Outcome) -> Group:
    """The outcome as a rich renderable: a headline, the table, the decisions, and where things are."""
    ungraded = sum(row.no_verdict for row in outcome.comparisons if row.kind == "all")
    return Group(
        Text(headline(outcome), style="bold"),
        _comparison_table(outcome),
        *([Text(f"{ungraded} tasks had no verdict by a fault of ours and are not counted")] if ungraded else []),
        Text(_decision_line(outcome)),
        *([Text(_key_line(outcome.keys))] if outcome.keys else []),
        Text(f"policies  {outcome.policies}\nlog       {outcome.log}"),
    )


def headline(outcome: Outcome) -> str:
    """One sentence about the whole run."""
    word = {None: "unfinished", True: "done", False: "stopped"}[outcome.ok]
    moved = "the base policy stays committed" if outcome.committed == outcome.base else f"committed policy {outcome.committed}"
    text = f"{outcome.name}: {word} after {outcome.steps} steps, {outcome.accepted_tasks} tasks invented; {moved}"
    return text if outcome.ok else f"{text} ({outcome.reason})"


def _decision_line(outcome: Outcome) -> str:
    if not outcome.decisions:
        return "decisions none: no candidate was judged"
    parts = [f"step {d.step} {d.decision.value} ({d.wins}W {d.losses}L {d.ties}T)" for d in outcome.decisions]
    return "decisions " + ", ".join(parts)


def _key_line(keys: KeyAudit) -> str:
    parts = f"{keys.right} right, {keys.wrong} wrong, {keys.ill_posed} of ill-posed questions"
    return f"keys      {parts} among the invented tasks ({keys.wrong_share:.1%} bad; measured by an oracle, never trained on)"


def _comparison_table(outcome: Outcome) -> Table:
    table = Table(title="Held-out test tasks, base against committed policy", title_justify="left", box=None, pad_edge=False)
    for column in ("temperature", "kind", "level"):
        table.add_column(column)
    for column in ("tasks", "base", "committed", "difference", "95 % interval"):
        table.add_column(column, justify="right")
    for row in outcome.comparisons:
        table.add_row(
            f"{row.temperature:g}" if row.temperature else "greedy",
            row.kind,
            "" if row.level is None else str(row.level),
            str(row.total),
            f"{row.base:.1%}",
            f"{row.final:.1%}",
            f"{100 * row.difference:+.1f}",
            f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]",
            style="bold" if row.kind == "all" else "dim" if row.level is not None else "",
        )
    return table
