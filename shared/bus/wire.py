"""What client and broker say to each other: small MessagePack maps around the facts' own bytes.

A request is two frames, a number chosen by the client and one of `Request`; its answer is the same number and one of `Reply`.
Asking again with the same number is always safe. Beside that the broker rings `Doorbell` after each commit; it carries
everything a subscriber needs to know, so that only the newest one ever matters.
"""

from __future__ import annotations

from typing import Annotated, TypeVar, Union

import msgspec
from msgspec import Meta

Seq = Annotated[int, Meta(ge=0, le=2**62)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]

T = TypeVar("T")

MAX_LIMIT = 4096
"""Facts in one page."""


class Publish(msgspec.Struct, frozen=True, tag="publish"):
    """Append these facts (MessagePack each) as one group. Answered by `Done` when they are on disk."""

    facts: Annotated[list[bytes], Meta(min_length=1)]


class Read(msgspec.Struct, frozen=True, tag="read"):
    """The wanted facts above `after`. Answered by `Rows`."""

    after: Seq
    types: Annotated[list[Name], Meta(max_length=1000)] | None
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)]


class AskCursor(msgspec.Struct, frozen=True, tag="cursor"):
    """Where does this subscriber stand? Answered by `At`."""

    subscriber: Name


class MoveCursor(msgspec.Struct, frozen=True, tag="move_cursor"):
    """The subscriber handled everything up to `seq`. Answered by `Done` when that is on disk."""

    subscriber: Name
    seq: Seq


class AskHead(msgspec.Struct, frozen=True, tag="head"):
    """How long is the log? Answered by `At`."""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """It is on disk."""


class Rows(msgspec.Struct, frozen=True, tag="rows"):
    """A stretch of the log: (seq, fact) pairs, and how far the broker looked."""

    rows: list[tuple[int, bytes]]
    upto: int


class At(msgspec.Struct, frozen=True, tag="at"):
    """A sequence number; `refused` counts the requests that this broker has refused since it started."""

    seq: int
    refused: int


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The request was not accepted and will not be when it is sent again."""

    reason: str


class Doorbell(msgspec.Struct, frozen=True):
    """The log's length, and by fact type the last sequence number of that type."""

    head: int
    latest: dict[str, int]


Request = Publish | Read | AskCursor | MoveCursor | AskHead
Reply = Done | Rows | At | Refusal

_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Union[Publish, Read, AskCursor, MoveCursor, AskHead])  # noqa: UP007
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Union[Done, Rows, At, Refusal])  # noqa: UP007
_DOORBELLS = msgspec.msgpack.Decoder(Doorbell)


class BadMessage(Exception):
    """Bytes that are no message of this protocol; the text says why."""


def pack(message: Request | Reply | Doorbell) -> bytes:
    """The message as bytes."""
    return _ENCODER.encode(message)


def request_of(data: bytes) -> Request:
    """The request in `data`. Raises `BadMessage`."""
    return _decoded(_REQUESTS, data)


def reply_of(data: bytes) -> Reply:
    """The reply in `data`. Raises `BadMessage`."""
    return _decoded(_REPLIES, data)


def doorbell_of(data: bytes) -> Doorbell:
    """The doorbell in `data`. Raises `BadMessage`."""
    return _decoded(_DOORBELLS, data)


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadMessage(str(error)) from error
