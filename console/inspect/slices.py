"""`sagepace log slice`: a small log, cut from another, that can still be re-run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from console.inspect.context import Cut, cut, units_touched
from console.inspect.selected import Options, checked_unit, steps, stretch, units_of_step
from console.inspect.summary import summary
from console.recording import LOG_NAME, Recording, open_recording
from shared.errors import BadInput
from shared.eventlog.entry import Entry
from shared.eventlog.fresh import directory_for, write_log
from shared.eventlog.reader import PARTIAL, SLICE, Origin
from shared.eventlog.schema import HANDLED_FROM, ORIGIN


def print_slice(directory: Path, out: Path, options: Options, *, as_json: bool) -> None:
    """Cuts the log of `directory` into `out`. Raises `BadInput`; then nothing is left behind."""
    if (out / LOG_NAME).exists():
        raise BadInput(f"{out / LOG_NAME} exists; choose another directory, or remove it first")
    with open_recording(directory) as recording:
        recording.require_readable()
        recording.reader.require_sound()
        origin = recording.reader.origin()
        if origin is not None and origin.kind == PARTIAL:
            raise BadInput(f"{directory} holds {origin.what}: what a slice needs of the rest is not there")
        part = cut(recording.reader, _units(recording, options))
        _write(recording, part, out, options)
    told = {"directory": str(out), "context": len(part.context), "facts": len(part.context) + len(part.body)}
    text = f"cut {told['facts']} facts into {out}: {len(part.context)} of context, then facts {_ends(part)}"
    print(msgspec.json.encode(told).decode() if as_json else text)


def _units(recording: Recording, options: Options) -> list[str]:
    """The units of work that were asked for, in one of three ways."""
    ways = (options.step is not None, options.lineage is not None, options.first is not None or options.until is not None)
    if sum(ways) != 1:
        raise BadInput("state what to cut: --step N[:M], or --from and --until, or --lineage UNIT")
    if options.step is not None:
        return [unit for step in steps(options.step) for unit in units_of_step(step)]
    if options.lineage is not None:
        return [checked_unit(options.lineage)]
    span = stretch(recording.reader, options)
    assert span is not None
    return units_touched(recording.reader, span.first, span.last)


def _write(recording: Recording, part: Cut, out: Path, options: Options) -> None:
    info = summary(recording.reader)
    what = f"{options.words()}: facts {_ends(part)}, behind {len(part.context)} of context"
    origin = Origin(SLICE, info.name, what, info.facts)
    meta = {HANDLED_FROM: str(len(part.context)), ORIGIN: msgspec.json.encode(origin).decode()}
    with directory_for(out):
        write_log(out / LOG_NAME, _entries(recording, part), meta=meta)


def _entries(recording: Recording, part: Cut) -> Iterator[tuple[int, Entry]]:
    for numbers in part:
        for row in recording.reader.numbered(numbers):
            yield row.time_ns, Entry(row.id, row.type, row.role, row.cause, row.lineage, row.payload)


def _ends(part: Cut) -> str:
    return f"{part.body[0]} to {part.body[-1]}" if part.body else "none"
