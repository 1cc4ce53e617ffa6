"""The final evaluation's arithmetic: paired verdicts of base and committed policy, counted by kind and level."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from shared.messages import KindCount, Task, Verdict


def count(results: Iterable[tuple[Task, Verdict, Verdict]]) -> tuple[KindCount, ...]:
    """Counts of (task, base verdict, final verdict), sorted by kind and level.

    `total` holds the tasks with two verdicts only: a task on which something of ours failed is counted in `no_verdict` and is
    nobody's wrong answer.
    """
    groups: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for task, base, final in results:
        group = groups[task.kind, task.level]
        if Verdict.NO_VERDICT in (base, final):
            group["no_verdict"] += 1
            continue
        right = (int(base is Verdict.CORRECT), int(final is Verdict.CORRECT))
        group.update(total=1, base_correct=right[0], final_correct=right[1], both_correct=right[0] * right[1])
    fields = ("total", "base_correct", "final_correct", "both_correct", "no_verdict")
    return tuple(
        KindCount(kind=kind, level=level, **{field: group[field] for field in fields})
        for (kind, level), group in sorted(groups.items())
    )
