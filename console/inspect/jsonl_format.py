"""A log as JSON lines: one flat object a fact, which pandas loads as it is.

``payload.reward`` and ``payload.task.kind`` are columns; what lies deeper stays a value. JSON knows no NaN and no infinity, and
a newer version may write facts otherwise; where the payload's bytes do not come back from the columns they go along as ``raw``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from console.inspect.cat import COMMON
from console.inspect.lines import About, Exported, Imported, plain
from console.inspect.times import exact, parsed
from shared.errors import BadInput
from shared.eventlog.entry import Row

_PAYLOAD, _LOG = "payload.", "log"
_LONGEST_LINE = 64 << 20


class _Head(msgspec.Struct):
    """What a line says beside the fact's own fields."""

    seq: int
    time: str
    fact: str
    role: str
    id: str
    cause: str
    lineage: str
    checksum: str


def write(out: BinaryIO, facts: Iterable[Exported], about: Iterable[About]) -> int:
    """Writes the facts; `about` is asked for once they are all there, and goes into the last line. Gives their number."""
    count = 0
    held: dict[str, Any] | None = None
    last = 0
    for fact in facts:
        if held is not None:
            out.write(msgspec.json.encode(held) + b"\n")
        held = _line(fact, follows=fact.row.seq == last + 1)
        last = fact.row.seq
        count += 1
    if held is not None:
        out.write(msgspec.json.encode(held | {_LOG: next(iter(about))}) + b"\n")
    return count


def read(path: Path) -> Iterator[Imported | About]:
    """The facts of an export, and what it says of itself. Raises `BadInput` with the line's number for what is none."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            yield from _parsed(f"{path}:{number}", line)


def _line(fact: Exported, *, follows: bool) -> dict[str, Any]:
    row = fact.row
    line: dict[str, Any] = {
        "seq": row.seq,
        "time": exact(row.time_ns),
        "fact": row.type,
        "role": row.role,
        "id": row.id,
        "cause": row.cause,
        "lineage": row.lineage,
        "checksum": row.checksum.hex(),
    }
    if not follows:
        line["previous"] = fact.previous.hex()
    columns = dict(_columns(plain(row.payload) or {}))
    if _comes_back(line | columns, row.payload):
        return line | columns
    return _in_json(line, columns) | {"raw": base64.b64encode(row.payload).decode()}


def _comes_back(line: dict[str, Any], payload: bytes) -> bool:
    """Whether the payload's bytes can be made again from the line."""
    try:
        return _payload(msgspec.json.decode(msgspec.json.encode(line))) == payload
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return False


def _in_json(line: dict[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """The line with those columns that JSON has a word for; that for "no number" is null."""
    try:
        return msgspec.json.decode(msgspec.json.encode(line | columns), type=dict[str, Any])
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return line


def _columns(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if name in COMMON:
            continue
        if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
            yield from ((f"{_PAYLOAD}{name}.{key}", part) for key, part in value.items())
        else:
            yield f"{_PAYLOAD}{name}", value


def _payload(line: dict[str, Any]) -> bytes:
    """The payload's bytes, from the columns; fields in the order in which `shared.codec` writes them."""
    fields: dict[str, Any] = {"type": line["fact"]}
    for column, value in line.items():
        if column.startswith(_PAYLOAD):
            name, dot, key = column.removeprefix(_PAYLOAD).partition(".")
            if dot:
                fields.setdefault(name, {})[key] = value
            else:
                fields[name] = value
    return msgspec.msgpack.encode(fields | {name: line[name] for name in ("id", "cause", "lineage")})


def _parsed(where: str, text: bytes) -> Iterator[Imported | About]:
    try:
        line = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadInput(f"{where}: no line of JSON, or one that was cut: {error}") from error
    if not isinstance(line, dict):
        raise BadInput(f"{where}: not an object with a fact in it")
    try:
        previous = bytes.fromhex(line["previous"]) if line.get("previous") else None
        yield Imported(where, _row(line), previous)
        if _LOG in line:
            yield msgspec.convert(line[_LOG], About)
    except (ValueError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise BadInput(f"{where}: not a line that `sagepace log export` wrote: {error}") from error


def _row(line: dict[str, Any]) -> Row:
    head = msgspec.convert(line, _Head)
    raw = line.get("raw")
    payload = _payload(line) if raw is None else base64.b64decode(raw, validate=True)
    checksum = bytes.fromhex(head.checksum)
    return Row(head.seq, head.id, head.fact, head.role, head.cause, head.lineage, parsed(head.time), payload, checksum)
