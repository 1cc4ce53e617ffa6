"""The messages between client and bus, and what a broker makes of any of them; no sockets."""

from __future__ import annotations

import time
from typing import Any, get_args

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.bus.broker import Broker
from shared.bus.calls import Call, Later, Refusals
from shared.bus.wire import (
    AskHead,
    BadMessage,
    Done,
    Doorbell,
    MoveCursor,
    Peer,
    Publish,
    Read,
    Refusal,
    Reply,
    Request,
    doorbell_of,
    numbers_of,
    pack,
    reply_of,
    request_of,
)
from shared.codec import decode, encode
from shared.eventlog.memory import MemoryJournal

from .conftest import steps

SEQS = st.integers(0, 2**62)
NAMES = st.text(min_size=1, max_size=20)
FLOATS = st.floats(allow_nan=False)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "facts": st.lists(st.binary(max_size=30), min_size=1, max_size=3),
    "after": SEQS,
    "seq": SEQS,
    "types": st.none() | st.lists(NAMES, max_size=3),
    "limit": st.integers(1, 4096),
    "rows": st.lists(st.tuples(SEQS, SEQS, st.binary(max_size=30)), max_size=3),
    **dict.fromkeys(("subscriber", "name", "role", "command"), NAMES),
    **dict.fromkeys(("upto", "head", "clock_ns", "refused", "repeated", "epoch"), SEQS),
    **dict.fromkeys(("lag_s", "value"), FLOATS),
    "peers": st.lists(st.builds(Peer, NAMES, NAMES, FLOATS, FLOATS), max_size=2),
}


def messages(kinds: Any) -> st.SearchStrategy[Any]:
    """Any message of these kinds."""
    built = []
    for kind in get_args(kinds):
        fields = {name: FIELDS[name] for name in kind.__struct_fields__ if name in FIELDS}
        built.append(st.builds(kind, **fields))
    return st.one_of(built)


@settings(max_examples=150, deadline=None)
@given(messages(Request), messages(Reply))
def test_messages_come_back_as_they_were_and_are_plain_messagepack(request: Request, reply: Reply) -> None:
    """Both directions, and an independent MessagePack library finds a map with a type."""
    assert request_of(pack(request)) == request
    assert reply_of(pack(reply)) == reply
    for message in (request, reply):
        assert isinstance(msgpack.unpackb(pack(message))["type"], str)


def test_the_doorbell_comes_back() -> None:
    """With the last number of each type, and the epoch."""
    doorbell = Doorbell(7, {"StepOpened": 7}, 2)
    assert doorbell_of(pack(doorbell)) == doorbell


@given(st.lists(st.binary(min_size=8, max_size=8)))
def test_one_answer_may_stand_for_several_requests(numbers: list[bytes]) -> None:
    """Numbers stand one after another."""
    assert numbers_of(b"".join(numbers)) == numbers


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_message_or_a_bad_one(data: bytes) -> None:
    """Nothing but `BadMessage` ever leaves a decoder."""
    for decoder in (request_of, reply_of, doorbell_of):
        try:
            decoder(data)
        except BadMessage as error:
            assert str(error)


@st.composite
def damaged(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes with some changed, added or taken away."""
    data = bytearray(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.sampled_from("csax")):
            case "c" if data:
                data[at] = draw(st.integers(0, 255))
            case "a":
                data[at:at] = draw(st.binary(max_size=5))
            case "x":
                del data[at : at + draw(st.integers(1, 9))]
            case _:
                data = data[: at + 1]
    return bytes(data)


@settings(max_examples=300, deadline=None)
@given(damaged(messages(Request).map(pack)))
def test_a_damaged_request_is_another_request_or_a_bad_one(data: bytes) -> None:
    """Whatever comes through keeps the limits of the protocol."""
    try:
        request = request_of(data)
    except BadMessage:
        return
    if isinstance(request, Read):
        assert 1 <= request.limit <= 4096
        assert 0 <= request.after <= 2**62
    if isinstance(request, Publish):
        assert request.facts


class Bench:
    """A broker without sockets over a log in memory."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.complaints: list[str] = []
        self._later = Later()
        self.broker = Broker(self.journal, Refusals(self.complaints.append), self._later)

    def ask(self, *requests: Request) -> list[Reply]:
        """The answers, in the order in which they are given."""
        calls = [Call(b"peer", bytes([number]) * 8, request) for number, request in enumerate(requests)]
        replies = [reply for reply in self.broker.answers(calls) if reply is not None]
        while self._later.owed:
            self.broker.turn()
            replies += [reply for _, reply in self._later.taken()]
            time.sleep(0)
        return replies

    def close(self) -> None:
        """Ends it."""
        self.broker.close()
        self._later.close()


@pytest.fixture(scope="module")
def bench() -> Any:
    """One for many examples, which all leave it sound."""
    made = Bench()
    yield made
    made.close()


@settings(max_examples=200, deadline=None)
@given(group=st.lists(damaged(st.sampled_from([encode(fact) for fact in steps(1, 2, 3)])) | st.binary(max_size=40), min_size=1))
def test_publishing_anything_is_refused_or_kept_whole(bench: Bench, group: list[bytes]) -> None:
    """A group with a bad fact leaves nothing in the log; what is in it can be decoded, and each id is there once."""
    before = bench.journal.head
    (reply,) = bench.ask(Publish(group))
    if isinstance(reply, Refusal):
        assert reply.reason
        assert bench.journal.head == before
    else:
        assert reply == Done()
    facts = [decode(entry.payload) for entry in bench.journal.entries]
    assert len({fact.id for fact in facts}) == len(facts)


def test_a_fact_of_a_newer_schema_is_refused_with_a_reason_that_says_so() -> None:
    """An unknown type of fact, and a run of a later wire version; a later field alone is no reason."""
    bench = Bench()
    (step,) = steps(1)
    later = msgpack.unpackb(encode(step)) | {"added_later": 1}
    unknown = later | {"type": "TaskTranslated"}
    run = {"type": "RunStarted", "seed": 1, "config": {}, "base_policy": "p", "store": "s", "wire_version": 2, "id": "r"}
    replies = bench.ask(*(Publish([msgpack.packb(fact)]) for fact in (unknown, run, later)))
    assert isinstance(replies[0], Refusal)
    assert "'TaskTranslated' is no type of fact in wire version 1" in replies[0].reason
    assert "newer version" in replies[0].reason
    assert isinstance(replies[1], Refusal)
    assert "a run of wire version 2; this broker keeps version 1" in replies[1].reason
    assert replies[2] == Done()
    assert bench.complaints == ["refused (1 so far): " + replies[0].reason, "refused (2 so far): " + replies[1].reason]
    bench.close()


def test_a_cursor_does_not_stand_beyond_the_log() -> None:
    """What nobody can have read was not handled either."""
    bench = Bench()
    bench.ask(Publish([encode(fact) for fact in steps(1, 2)]))
    good, bad = MoveCursor("solver", 2), MoveCursor("planner", 3)
    refusal, done = bench.ask(bad, good)
    assert isinstance(refusal, Refusal)
    assert "the log ends with fact 2" in refusal.reason
    assert done == Done()
    assert bench.journal.cursor("solver") == 2
    assert bench.journal.cursor("planner") == 0
    bench.close()


def test_reads_are_answered_while_facts_are_on_their_way_to_the_disk() -> None:
    """They do not wait for the commit, and do not see what is not yet on disk."""
    bench = Bench()
    calls = [Call(b"peer", bytes(8), Publish([encode(steps(1)[0])])), Call(b"peer", bytes(8), AskHead())]
    replies = bench.broker.answers(calls)
    assert replies[0] is None
    assert getattr(replies[1], "seq", None) == 0
    assert len(bench.ask()) == 1
    assert bench.journal.head == 1
    bench.close()
