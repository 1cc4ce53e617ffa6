"""What client and bus say to each other: small MessagePack maps around the facts' own bytes.

A request is two frames, a number of 8 bytes chosen by the client and one of `Request`; its answer is the same number and one of
`Reply` (a `Beat` gets none). One `Done` may answer several requests: their numbers then stand one after another in the first
frame. Asking again with the same number is always safe. Beside that the bus rings `Doorbell` after each commit;
it carries everything a subscriber needs to know, so that only the newest one ever matters.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeVar, Union

import msgspec
from msgspec import Meta

Seq = Annotated[int, Meta(ge=0, le=2**62)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]

T = TypeVar("T")

MAX_LIMIT = 4096
"""Facts in one page."""


class Nature(StrEnum):
    """What stands behind a bus. A client can always ask, so that a replay is never taken for a run."""

    LIVE = "live"
    REPLAY = "replay"


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


class AskStatus(msgspec.Struct, frozen=True, tag="status"):
    """What is this bus, and how does it stand? Answered by `Status`."""


class Beat(msgspec.Struct, frozen=True, tag="beat"):
    """A process is alive; sent about twice a second from a thread of its own, and not answered."""

    name: Name
    """The process's own name, the same after a restart."""
    role: Name
    lag_s: float
    """How long its event loop has not come round; large when it is stuck."""


class AskPeers(msgspec.Struct, frozen=True, tag="peers"):
    """Who was heard of? Answered by `Peers`."""


class Control(msgspec.Struct, frozen=True, tag="control"):
    """Moves a replay: see `console.replay`. Answered by `Done`; a live bus refuses it."""

    command: Name
    value: float = 0.0


class Done(msgspec.Struct, frozen=True, tag="done"):
    """It is on disk."""


class Rows(msgspec.Struct, frozen=True, tag="rows"):
    """A stretch of the log as (seq, journal time in ns, fact), and how far the bus looked."""

    rows: list[tuple[int, int, bytes]]
    upto: int
    epoch: int = 0
    """As in `Doorbell`: which past these rows belong to."""


class At(msgspec.Struct, frozen=True, tag="at"):
    """A sequence number."""

    seq: int
    epoch: int = 0
    """As in `Doorbell`, where the number is the log's length."""


class Status(msgspec.Struct, frozen=True, tag="state"):
    """What the bus is and how it stands; counts are since it started."""

    nature: Nature
    head: int
    clock_ns: int
    """Now, in ns since the UNIX epoch: of the wall for a live bus, of the recording for a replay."""
    refused: int = 0
    """Requests that were refused."""
    repeated: int = 0
    """Facts that were published again although the log had them."""
    about: str = ""
    """For a replay: what is played, and how."""


class Peer(msgspec.Struct, frozen=True):
    """A process as the bus hears of it."""

    name: str
    role: str
    silent_s: float
    """Since its last beat."""
    lag_s: float
    """As it said itself in its last beat."""


class Peers(msgspec.Struct, frozen=True, tag="heard"):
    """All processes that beat since the bus started."""

    peers: list[Peer]


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The request was not accepted and will not be when it is sent again."""

    reason: str


class Doorbell(msgspec.Struct, frozen=True):
    """The log's length, and by fact type the last sequence number of that type."""

    head: int
    latest: dict[str, int]
    epoch: int = 0
    """Goes up when a replay is moved back: what was read before is then no longer the past."""


Request = Publish | Read | AskCursor | MoveCursor | AskHead | AskStatus | Beat | AskPeers | Control
Reply = Done | Rows | At | Status | Peers | Refusal

_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(
    Union[Publish, Read, AskCursor, MoveCursor, AskHead, AskStatus, Beat, AskPeers, Control]  # noqa: UP007
)
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Union[Done, Rows, At, Status, Peers, Refusal])  # noqa: UP007
_DOORBELLS = msgspec.msgpack.Decoder(Doorbell)


class BadMessage(Exception):
    """Bytes that are no message of this protocol; the text says why."""


def pack(message: Request | Reply | Doorbell) -> bytes:
    """The message as bytes."""
    return _ENCODER.encode(message)


def numbers_of(frame: bytes) -> list[bytes]:
    """The numbers of the requests that one answer stands for: 8 bytes each, one after another."""
    return [frame[at : at + 8] for at in range(0, len(frame), 8)]


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
