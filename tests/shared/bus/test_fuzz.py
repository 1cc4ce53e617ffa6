"""Whatever comes in on the wire is refused and counted, or ends that one connection; nobody else notices. A real broker."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgpack
import zmq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.bus.keys import make_keys
from shared.bus.wire import AskHead, AskStatus, At, Publish, Refusal, Status, pack, reply_of
from shared.bus.zeromq import ZmqBus
from shared.eventlog.entry import MAX_FACT_BYTES, MAX_GROUP_BYTES

from .conftest import BrokerProcess, free_port, problems_in, read_all, steps
from .raw import GREETING, NUMBER, READY, ask, dealer, plain, resident_mb

MAX_MB = 300


@asynccontextmanager
async def undisturbed(broker: BrokerProcess, *, slowest_s: float = 1.0, keys: Path | None = None) -> AsyncIterator[None]:
    """While the test does its worst, another client publishes; nothing it was told is lost, and nothing takes long."""
    bus = ZmqBus(broker.address, keys=keys)
    stopping = asyncio.Event()
    taken: list[float] = []
    published = 0

    async def publish() -> None:
        nonlocal published
        while not stopping.is_set():
            start = time.monotonic()
            await bus.publish(steps(published, cause="honest"))
            taken.append(time.monotonic() - start)
            published += 1
            await asyncio.sleep(0.005)

    task = asyncio.create_task(publish())
    try:
        yield
    finally:
        stopping.set()
        await task
        log = await read_all(bus)
        await bus.close()
    assert [fact.id for _, fact in log] == [fact.id for fact in steps(*range(published), cause="honest")]
    assert published > 3
    assert max(taken) < slowest_s
    assert resident_mb(broker) < MAX_MB
    code, errors = broker.stop()
    assert code == 0
    assert "Traceback" not in errors
    assert problems_in(broker.log) == []


def hang_up(connection: socket.socket, *parts: bytes) -> None:
    """Sends, waits for the other side to end it or to be silent for a moment, and goes."""
    with connection, suppress(OSError):
        for part in parts:
            connection.sendall(part)
        connection.settimeout(0.05)
        while connection.recv(65536):
            continue


LONG = b"\x02" + struct.pack(">Q", 2**63 - 1)
"""The head of a frame that says it is endless."""
RAW: dict[str, Callable[[random.Random], list[bytes]]] = {
    "nothing": lambda _: [],
    "half a greeting": lambda _: [GREETING[:30]],
    "a wrong signature": lambda _: [b"\xff" + b"\x01" * 63],
    "version 99": lambda _: [GREETING[:10] + b"\x63" + GREETING[11:]],
    "another mechanism": lambda _: [GREETING.replace(b"NULL", b"KRBS")],
    "an unknown command": lambda _: [GREETING, b"\x04\x06\x05HELLO"],
    "half a frame": lambda _: [GREETING, READY, b"\x01\x08" + NUMBER, b"\x00\xff" + b"x" * 100],
    "a huge length": lambda _: [GREETING, READY, LONG, b"x" * 1000],
    "a length just over the limit": lambda _: [GREETING, READY, b"\x02" + struct.pack(">Q", MAX_GROUP_BYTES + (2 << 20))],
    "a huge command": lambda _: [GREETING, b"\x06" + struct.pack(">Q", 2**40)],
    "endless frames of one message": lambda _: [GREETING, READY, b"\x01\x00" * 200_000],
    "random bytes": lambda chance: [chance.randbytes(chance.randrange(1, 5000))],
    "random bytes after the greeting": lambda chance: [GREETING, READY, chance.randbytes(chance.randrange(1, 5000))],
    "another protocol": lambda _: [b"GET / HTTP/1.1\r\nHost: bus\r\n\r\n" * 50],
}


def nonsense(broker: BrokerProcess) -> None:
    """All of it, several times."""
    chance = random.Random(1)
    for _ in range(4):
        for make in RAW.values():
            hang_up(plain(broker), *make(chance))


async def test_raw_nonsense_ends_only_its_own_connection(broker: BrokerProcess) -> None:
    """Below the level of messages: broken greetings, frames, lengths and commands, each several times."""
    async with undisturbed(broker):
        await asyncio.to_thread(nonsense, broker)


async def test_a_broker_with_keys_takes_no_nonsense_either(tmp_path: Path) -> None:
    """The same over TCP and with keys; what is turned away is counted."""
    make_keys(tmp_path / "keys", ["client"])
    keyed = BrokerProcess(tmp_path, f"tcp://127.0.0.1:{free_port()}", keys=tmp_path / "keys" / "broker").start()
    async with undisturbed(keyed, keys=tmp_path / "keys" / "client"):
        await asyncio.to_thread(nonsense, keyed)
        bus = ZmqBus(keyed.address, keys=tmp_path / "keys" / "client")
        assert (await bus.status()).refused > 8
        await bus.close()


async def test_a_hundred_thousand_tiny_messages_are_counted_and_hold_up_nobody(broker: BrokerProcess) -> None:
    """All are refused, the others' requests pass between them, and memory stays bounded."""
    count = 100_000

    def flood() -> int:
        refused = 0
        with dealer(broker) as made:
            for number in range(count):
                made.send_multipart([b"", b"x"][: number % 2 + 1])
            while refused < count:
                status = ask(broker, NUMBER, pack(AskStatus()))
                assert isinstance(status, Status)
                refused = status.refused
                time.sleep(0.1)
        return refused

    async with undisturbed(broker):
        async with asyncio.timeout(60):
            assert await asyncio.to_thread(flood) == count


WRONG: list[tuple[object, str]] = [
    ({"type": "publish", "facts": []}, "length >= 1"),
    ({"type": "publish"}, "facts"),
    ({"type": "publish", "facts": ["text"]}, "bytes"),
    ({"type": "publish", "facts": [b""]}, "fact"),
    ({"type": "publish", "facts": [b"x"] * 1000}, "fact 1 of 1000"),
    ({"type": "subscribe", "facts": []}, "subscribe"),
    ({"facts": []}, "type"),
    ({"type": "read", "after": -1, "types": None, "limit": 1}, "after"),
    ({"type": "read", "after": 2**63, "types": None, "limit": 1}, "after"),
    ({"type": "read", "after": 0, "types": None, "limit": 10**9}, "limit"),
    ({"type": "read", "after": 0, "types": ["x"] * 2000, "limit": 1}, "length <= 1000"),
    ({"type": "move_cursor", "subscriber": "", "seq": 1}, "length >= 1"),
    ({"type": "move_cursor", "subscriber": "x" * 10_000, "seq": 1}, "length <= 200"),
    ({"type": "move_cursor", "subscriber": "s", "seq": 7}, "the log ends with fact 0"),
    ({"type": "control", "command": "pause"}, "only a replay"),
    ([1, 2, 3], "object"),
    (None, "object"),
]


def test_each_wrong_request_is_told_what_is_wrong(broker: BrokerProcess) -> None:
    """One line for each, and the broker counts it; the first, second, fourth, ... is a line of the broker's too."""
    reasons = []
    for message, reason in WRONG:
        reply = ask(broker, NUMBER, msgpack.packb(message))
        assert isinstance(reply, Refusal), message
        assert reason in reply.reason
        reasons.append(reply.reason)
    status = ask(broker, NUMBER, pack(AskStatus()))
    assert isinstance(status, Status)
    assert (status.head, status.refused) == (0, len(WRONG))
    said = broker.stop()[1].splitlines()
    assert said == [f"bus: refused ({n} so far): {reasons[n - 1]}" for n in (1, 2, 4, 8, 16)]


async def test_oversized_facts_and_groups_are_refused(broker: BrokerProcess) -> None:
    """A fact or a group over the limit gets a reason; a frame over the limit ends the connection. Memory is given back."""
    async with undisturbed(broker, slowest_s=2.0):
        for facts, reason in [
            ([b"x" * (MAX_FACT_BYTES + 1)], "a fact of 8388609 bytes"),
            ([b"x" * MAX_FACT_BYTES] * 4 + [b"x"], "a group of 33554433 bytes"),
        ]:
            reply = await asyncio.to_thread(ask, broker, NUMBER, pack(Publish(facts)), wait_ms=10_000)
            assert isinstance(reply, Refusal)
            assert reason in reply.reason
        assert await asyncio.to_thread(ask, broker, NUMBER, bytes(MAX_GROUP_BYTES + (2 << 20)), wait_ms=500) is None


async def test_idle_connections_beyond_what_the_system_allows_leave_the_others_served(tmp_path: Path) -> None:
    """More TCP connections than the broker may have open: those that are there go on, and later ones come in again."""
    broker = BrokerProcess(tmp_path, f"tcp://127.0.0.1:{free_port()}").start()
    assert broker.process is not None
    resource.prlimit(broker.process.pid, resource.RLIMIT_NOFILE, (64, 64))
    async with undisturbed(broker):
        await asyncio.sleep(0.3)
        idle = [plain(broker) for _ in range(100)]
        await asyncio.sleep(0.5)
        for connection in idle:
            connection.close()
        await asyncio.sleep(0.5)
        assert await asyncio.to_thread(ask, broker, NUMBER, pack(AskHead())) is not None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=4), max_size=5))
def test_any_frames_are_survived(broker: BrokerProcess, messages: list[list[bytes]]) -> None:
    """After any messages, of any number of frames, the broker answers as before."""
    with dealer(broker) as made:
        for frames in messages:
            made.send_multipart(frames)
        number = os.urandom(8)
        made.send_multipart([number, pack(AskHead())])
        while True:
            assert made.poll(5000)
            frames = made.recv_multipart()
            if frames[0] == number:
                assert reply_of(frames[1]) == At(0)
                return
            assert isinstance(reply_of(frames[1]), Refusal)


async def test_msgpack_alone_reads_the_wire_and_a_fact(broker: BrokerProcess) -> None:
    """A doorbell and a page, taken off the sockets without a line of ours and read by another MessagePack library."""
    (step,) = steps(4)
    with zmq.Context() as context, context.socket(zmq.SUB) as sub, context.socket(zmq.DEALER) as made:
        sub.linger = made.linger = 0
        sub.setsockopt(zmq.SUBSCRIBE, b"")
        sub.connect(broker.address + ".news")
        made.connect(broker.address + ".req")
        while not sub.poll(50):
            fact = msgpack.packb({"type": "StepOpened", "step": 4, "policy": "p", "num_challenges": 1, "num_assignments": 1,
                                  "id": os.urandom(4).hex(), "cause": "", "lineage": ""})  # fmt: skip
            made.send_multipart([b"12345678", msgpack.packb({"type": "publish", "facts": [fact]})])
            assert made.poll(5000)
            assert made.recv_multipart() == [b"12345678", msgpack.packb({"type": "done"})]
        doorbell = msgpack.unpackb(sub.recv())
        assert doorbell["head"] == doorbell["latest"]["StepOpened"] > 0
        made.send_multipart([b"87654321", msgpack.packb({"type": "read", "after": 0, "types": ["StepOpened"], "limit": 1})])
        number, body = made.recv_multipart()
    page = msgpack.unpackb(body)
    assert number == b"87654321"
    assert page["type"] == "rows"
    ((seq, time_ns, payload),) = page["rows"]
    assert (seq, page["upto"]) == (1, 1)
    assert abs(time.time_ns() - time_ns) < 60e9
    read = msgpack.unpackb(payload)
    assert (read["type"], read["step"], read["policy"]) == ("StepOpened", step.step, "p")
