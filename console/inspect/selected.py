"""The options that cut a log: by fact, by role, by unit of work, and by a stretch of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from console.span import Span, span_of
from shared.codec import BY_NAME
from shared.config import nearest
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.messages import Role

_STEPS = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")
_MOST_STEPS = 10_000
_UNIT = re.compile(r"[a-z]+[0-9]*(?:\.[a-z0-9]+)*")


class Options(NamedTuple):
    """What was asked for, as it was written."""

    only: Sequence[str] = ()
    roles: Sequence[str] = ()
    step: str | None = None
    lineage: str | None = None
    first: str | None = None
    until: str | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return self == Options()

    def words(self) -> str:
        """The options as they would be written again; empty when nothing is left out."""
        named = (("--only", ",".join(self.only)), ("--role", ",".join(self.roles)), ("--step", self.step))
        more = (("--lineage", self.lineage), ("--from", self.first), ("--until", self.until))
        return " ".join(f"{name} {value}" for name, value in (*named, *more) if value)


class Selected(NamedTuple):
    """What was asked for, checked; None is all of them."""

    types: Collection[str] | None
    roles: Collection[str] | None
    lineages: Sequence[str] | None


def selected(reader: LogReader, options: Options) -> Selected:
    """The facts that the options name. Raises `BadInput` for unknown names and for two options that name units of work."""
    if options.step is not None and options.lineage is not None:
        raise BadInput("--step and --lineage both name units of work: give one of them")
    lineages = None
    if options.step is not None:
        lineages = [unit for step in steps(options.step) for unit in units_of_step(step)]
    elif options.lineage is not None:
        lineages = [checked_unit(options.lineage)]
    types = _named("--only", options.only, {*BY_NAME, *reader.counts()} if options.only else ())
    return Selected(types, _named("--role", options.roles, [role.value for role in Role]), lineages)


def stretch(reader: LogReader, options: Options) -> Span | None:
    """What `--from` and `--until` select; None when neither is given, and for an empty log. Raises `BadInput`."""
    if options.first is None and options.until is None:
        return None
    return span_of(reader, options.first, options.until)


def steps(text: str) -> range:
    """``3`` or ``3:5``, both ends included. Raises `BadInput`."""
    match = _STEPS.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise BadInput(f"--step {text}: give a step (3) or several (3:5); steps are numbered from 1")
    if last - first >= _MOST_STEPS:
        raise BadInput(f"--step {text}: that is more than {_MOST_STEPS} steps; use --from and --until")
    return range(first, last + 1)


def units_of_step(step: int) -> tuple[str, str]:
    """The step itself and the Gate's test of its candidate."""
    return f"s{step}", f"g{step}"


def checked_unit(lineage: str) -> str:
    """The name of a unit of work. Raises `BadInput` for what can be none."""
    if not _UNIT.fullmatch(lineage):
        raise BadInput(f"--lineage {lineage}: no unit of work is called so; they look like s3, s3.c7, g10.p4 or e0")
    return lineage


def _named(option: str, given: Sequence[str], known: Collection[str]) -> frozenset[str] | None:
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    if given and not names:
        raise BadInput(f"{option}: names nothing; leave it out, or name what is wanted, such as {sorted(known)[0]}")
    for name in names:
        if name not in known:
            raise BadInput(f"{option} {name}: no such {'fact' if option == '--only' else 'role'}; {nearest(name, known)}")
    return frozenset(names) or None
