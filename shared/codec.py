"""Facts to MessagePack bytes and back. The wire is plain MessagePack: any reader opens it (tests use the `msgpack` package)."""

from __future__ import annotations

from typing import Union

import msgspec

from shared.messages import FACT_TYPES, Fact

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Fact] = msgspec.msgpack.Decoder(Union[FACT_TYPES])  # noqa: UP007
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
        raise BadFact(str(error)) from error
