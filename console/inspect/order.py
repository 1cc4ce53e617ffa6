"""Units of work in the order in which a run comes to them: seeds, step 3, its test, step 10, the evaluation. Pure."""

from __future__ import annotations

import re

_PART = re.compile(r"([^\d.]*)(\d*)")
_UNIT = re.compile(r"([a-z]+)(\d*)")
_STEPS = {"s": 0, "g": 1}

Place = tuple[int, int, int, tuple[tuple[str, int], ...]]
LAST: Place = (9, 0, 0, ())
"""After all units of work."""


def place(lineage: str) -> Place:
    """A key to sort lineages by; numbers count as numbers, so that ``s3`` comes before ``s10``."""
    first, _, rest = lineage.partition(".")
    parts = tuple((match[1], int(match[2] or 0)) for part in rest.split(".") if (match := _PART.match(part)))
    match = _UNIT.fullmatch(first)
    kind, number = (match[1], int(match[2] or 0)) if match else (first, 0)
    if kind in _STEPS and match and match[2]:
        return 2, number, _STEPS[kind], parts
    rank = {"": 0, "seed": 1, "e": 3}.get(kind, 4)
    return rank, number, 0, parts if rank < 4 else ((kind, number), *parts)
