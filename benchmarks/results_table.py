"""Puts the outcomes of several runs side by side as Markdown: `python -m benchmarks.results_table out/tiny-s1 out/tiny-s2 ...`.

Reads the outcome.json that every run writes; docs/results.md is made from it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from console.outcome import Comparison, Outcome
from console.outcome_report import OUTCOME_FILE


def table(outcomes: list[Outcome]) -> str:
    """One row for each temperature, kind and level; one column for each run."""
    names = [f"seed {outcome.seed}" for outcome in outcomes]
    lines = [" | ".join(["| temperature", "kind", "level", *names]) + " |", "|---" * (3 + len(names)) + "|"]
    for first in outcomes[0].comparisons:
        cells = [_cell(_same(outcome, first)) for outcome in outcomes]
        temperature = f"{first.temperature:g}" if first.temperature else "greedy"
        level = "all" if first.level is None else str(first.level)
        lines.append(" | ".join([f"| {temperature}", first.kind, level, *cells]) + " |")
    return "\n".join(lines)


def decisions(outcomes: list[Outcome]) -> str:
    """What the gate decided, run by run, and the keys of the invented tasks."""
    lines = []
    for outcome in outcomes:
        judged = ", ".join(f"{d.step}: {d.decision.value} ({d.wins}W {d.losses}L {d.ties}T)" for d in outcome.decisions)
        keys = (
            f"; {outcome.accepted_tasks} tasks invented, {outcome.keys.wrong_share:.1%} with a bad key" if outcome.keys else ""
        )
        lines.append(f"- seed {outcome.seed}: {judged}{keys}")
    return "\n".join(lines)


def _same(outcome: Outcome, like: Comparison) -> Comparison | None:
    key = (like.temperature, like.kind, like.level)
    return next((row for row in outcome.comparisons if (row.temperature, row.kind, row.level) == key), None)


def _cell(row: Comparison | None) -> str:
    if row is None:
        return "-"
    change = f"{100 * row.difference:+.1f} [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
    return f"{row.base:.1%} to {row.final:.1%} of {row.total}: {change}"


if __name__ == "__main__":
    read = [msgspec.json.decode((Path(place) / OUTCOME_FILE).read_bytes(), type=Outcome) for place in sys.argv[1:]]
    print(table(read) + "\n\n" + decisions(read))
