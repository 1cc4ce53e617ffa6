"""A log as an MCAP file (mcap.dev): a channel for each role and fact, payloads as they are, a JSON Schema for each fact.

Checksums go along as an attachment: for each message that of the fact before and its own.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from console.inspect.lines import About, Exported, Imported, plain
from shared.codec import BY_NAME
from shared.errors import BadInput
from shared.eventlog.entry import Row

_NAME = "sagepace"
_CHECKSUMS = "checksums"
_MAGIC = b"\x89MCAP0\r\n"
_WIDTH = 8


def _library() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The writer and the reader of the `mcap` package. Raises `BadInput` when it is not installed."""
    try:
        from mcap.reader import make_reader
        from mcap.writer import Writer
    except ImportError as error:
        raise BadInput("MCAP needs the package mcap: pip install 'sage-pace[mcap]', or export to .jsonl") from error
    return Writer, make_reader


def write(out: BinaryIO, facts: Iterable[Exported], about: Iterable[About]) -> int:
    """Writes the facts; `about` is asked for once they are all there. Gives their number. Raises `BadInput`."""
    writer = _library()[0](out)
    writer.start(profile=_NAME, library=_NAME)
    channels: dict[tuple[str, str], int] = {}
    schemas: dict[str, int] = {}
    checksums = bytearray()
    count = 0
    for row, previous in facts:
        kind = (row.role, row.type)
        if kind not in channels:
            if row.type not in schemas:
                schemas[row.type] = writer.register_schema(row.type, "jsonschema", _schema(row.type))
            channels[kind] = writer.register_channel(f"/{row.role}/{row.type}", "msgpack", schemas[row.type])
        writer.add_message(channels[kind], row.time_ns, row.payload, row.time_ns, sequence=row.seq)
        checksums += previous + row.checksum
        count += 1
    writer.add_attachment(0, 0, _CHECKSUMS, "application/octet-stream", bytes(checksums))
    if count:
        writer.add_metadata(_NAME, {"about": msgspec.json.encode(next(iter(about))).decode()})
    writer.finish()
    return count


def _schema(name: str) -> bytes:
    known = BY_NAME.get(name)
    return msgspec.json.encode(msgspec.json.schema(known) if known else {"title": name, "type": "object"})


def read(path: Path) -> Iterator[Imported | About]:
    """The facts of an export, and what it says of itself. Raises `BadInput` for what is none."""
    make_reader = _library()[1]
    with path.open("rb") as file:
        _check_ends(path, file)
        try:
            yield from _read(path, make_reader(file, validate_crcs=True))
        except (BadInput, OSError):
            raise
        except Exception as error:  # the package and its decompressors raise whatever a damaged byte leads to
            raise BadInput(f"{path}: not a sound MCAP file: {type(error).__name__}: {error}") from error


def _check_ends(path: Path, file: BinaryIO) -> None:
    """An MCAP file begins and ends alike; one that was cut would lead its reader astray."""
    beginning = file.read(len(_MAGIC))
    file.seek(0, io.SEEK_END)
    file.seek(max(0, file.tell() - len(_MAGIC)))
    ending = file.read()
    file.seek(0)
    if beginning != _MAGIC:
        raise BadInput(f"{path}: not an MCAP file")
    if ending != _MAGIC:
        raise BadInput(f"{path}: the MCAP file was cut: its end is missing")


def _read(path: Path, reader: Any) -> Iterator[Imported | About]:
    checksums = next((found.data for found in reader.iter_attachments() if found.name == _CHECKSUMS), None)
    told = next((found.metadata.get("about") for found in reader.iter_metadata() if found.name == _NAME), None)
    if checksums is None or told is None:
        raise BadInput(f"{path}: not an MCAP file that `sagepace log export` wrote")
    for count, (_, channel, message) in enumerate(reader.iter_messages(log_time_order=False)):
        _, role, name = channel.topic.split("/")
        where = f"{path}, message {count + 1}"
        fact = plain(message.data)
        if fact is None or fact.get("type") != name:
            raise BadInput(f"{where}: holds no {name}")
        start = 2 * _WIDTH * count
        previous, own = checksums[start : start + _WIDTH], checksums[start + _WIDTH : start + 2 * _WIDTH]
        ids = [str(fact.get(field, "")) for field in ("id", "cause", "lineage")]
        row = Row(message.sequence, ids[0], name, role, ids[1], ids[2], message.log_time, message.data, own)
        yield Imported(where, row, previous)
    yield msgspec.json.decode(told, type=About)
