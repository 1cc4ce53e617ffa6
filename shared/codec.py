"""Facts to MessagePack bytes and back. The wire is plain MessagePack: any reader opens it (tests use the `msgpack` package)."""

from __future__ import annotations

from typing import Union

import msgspec

from shared.messages import FACT_TYPES, WIRE_VERSION, Fact


class _Tagged(msgspec.Struct):
    """What every fact has, of whatever version."""

    type: str


_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Fact] = msgspec.msgpack.Decoder(Union[FACT_TYPES])  # noqa: UP007
_TAG = msgspec.msgpack.Decoder(_Tagged)
BY_NAME: dict[str, type[Fact]] = {fact_type.__name__: fact_type for fact_type in FACT_TYPES}


class BadFact(Exception):
    """Bytes that are no fact of this wire schema; the message says why."""


def encode(fact: Fact) -> bytes:
    """The fact as MessagePack: one map whose ``type`` is the class name."""
    return _ENCODER.encode(fact)


def decode(data: bytes) -> Fact:
    """The fact in `data`. Raises `BadFact` with the reason when it is none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadFact(_reason(data, error)) from error


def _reason(data: bytes, error: Exception) -> str:
    """Why `data` is no fact: above all, whether it may be one of a newer schema."""
    try:
        name = _TAG.decode(data).type
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return str(error)
    if name in BY_NAME:
        return str(error)
    return f"{name[:100]!r} is no type of fact in wire version {WIRE_VERSION}; whoever wrote it may run a newer version"
