"""What may enter the log: bytes become an `Entry` here or are refused with a reason. Also the checksum that chains the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from shared.codec import BadFact, decode
from shared.flow import author

MAX_FACT_BYTES = 8 << 20
"""One fact's MessagePack bytes. A completion of 100 000 tokens with its log-probabilities is about 1.5 MB."""
MAX_ID = 200
"""Characters of an id; ours have 24."""
MAX_GROUP_BYTES = 32 << 20
"""All facts of one publish."""
GENESIS = bytes(8)
"""The checksum "before" the first row."""


class Refused(Exception):
    """The log or the bus does not accept what it was given; the text says why. Asking again will not help."""


class Entry(NamedTuple):
    """A checked fact on its way into the log; all but the payload is read out of that, so that it can be searched."""

    id: str
    type: str
    role: str
    """Who gave it."""
    cause: str
    lineage: str
    payload: bytes


class Row(NamedTuple):
    """A fact as the log holds it. `time_ns` is when it was journalled (UNIX epoch); order comes from `seq` alone."""

    seq: int
    id: str
    type: str
    role: str
    cause: str
    lineage: str
    time_ns: int
    payload: bytes
    checksum: bytes


def entry_of(payload: bytes) -> Entry:
    """The fact in `payload`, checked. Raises `Refused` when it is malformed, unknown or without an id."""
    try:
        fact = decode(payload)
    except BadFact as error:
        raise Refused(f"no fact of this wire schema: {error}") from error
    name = type(fact).__name__
    if not fact.id:
        raise Refused(f"{name} without an id: facts are named after their cause before they are published")
    if len(fact.id) > MAX_ID:
        raise Refused(f"{name} with an id of {len(fact.id)} characters; the limit is {MAX_ID}")
    return Entry(fact.id, name, author(fact).value, fact.cause, fact.lineage, payload)


def entries_of(payloads: Sequence[bytes]) -> list[Entry]:
    """The facts of one group. One bad fact refuses the whole group, since a group enters the log whole or not at all."""
    check_sizes(payloads)
    entries = []
    for position, payload in enumerate(payloads, start=1):
        try:
            entries.append(entry_of(payload))
        except Refused as error:
            if len(payloads) == 1:
                raise
            raise Refused(f"fact {position} of {len(payloads)}: {error}") from error
    return entries


def row_of(found: tuple[Any, ...]) -> Row:
    """The row in what a database gave; `ValueError` when a changed byte made a column something else than it must be."""
    row = Row(*found)
    texts = (row.id, row.type, row.role, row.cause, row.lineage)
    sound = isinstance(row.payload, bytes) and isinstance(row.checksum, bytes) and isinstance(row.time_ns, int)
    if not (sound and all(isinstance(text, str) for text in texts)):
        raise ValueError(f"fact {row.seq} has a column of the wrong kind")
    return row


def check_sizes(payloads: Sequence[bytes]) -> None:
    """Raises `Refused` when a fact or the whole group has too many bytes."""
    largest, total = max(map(len, payloads), default=0), sum(map(len, payloads))
    if largest > MAX_FACT_BYTES:
        raise Refused(f"a fact of {largest} bytes; the limit is {MAX_FACT_BYTES}")
    if total > MAX_GROUP_BYTES:
        raise Refused(f"a group of {total} bytes; the limit is {MAX_GROUP_BYTES}: publish it in parts")


def row_after(previous: bytes, seq: int, time_ns: int, entry: Entry) -> Row:
    """The entry as row `seq`, chained to the row whose checksum is `previous`."""
    checksum = chained(previous, seq, time_ns, entry.type, entry.payload)
    return Row(seq, entry.id, entry.type, entry.role, entry.cause, entry.lineage, time_ns, entry.payload, checksum)


def chained(previous: bytes, seq: int, time_ns: int, type_name: str, payload: bytes) -> bytes:
    """The checksum of a row: 8 bytes of BLAKE2b over the row before's checksum and everything this row says."""
    head = b"%b%d %d %b\0" % (previous, seq, time_ns, type_name.encode())
    digest = hashlib.blake2b(head, digest_size=8)
    digest.update(payload)
    return digest.digest()
