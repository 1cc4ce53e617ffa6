"""Where two facts of one id differ, field by field. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shared.messages import Fact

NOTHING = "(nothing)"
"""Stands for a value that one of the two does not have."""


class FieldDifference(msgspec.Struct, frozen=True):
    """One value that is not the same; `path` such as ``metrics.loss`` or ``turns[1].content``."""

    path: str
    recorded: Any
    now: Any


def field_differences(recorded: Fact, now: Fact) -> list[FieldDifference]:
    """All values in which the two facts differ, in the order of their fields; lists of one length are gone through."""
    return list(_differences("", msgspec.to_builtins(recorded), msgspec.to_builtins(now)))


def _differences(path: str, recorded: Any, now: Any) -> Iterator[FieldDifference]:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in [*recorded, *(key for key in now if key not in recorded)]:
            place = f"{path}.{key}" if path else str(key)
            yield from _differences(place, recorded.get(key, NOTHING), now.get(key, NOTHING))
    elif isinstance(recorded, (list, tuple)) and isinstance(now, (list, tuple)) and len(recorded) == len(now):
        for index, (one, other) in enumerate(zip(recorded, now, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif recorded != now and not (recorded != recorded and now != now):  # noqa: PLR0124 - not a number equals itself here
        yield FieldDifference(path, recorded, now)
