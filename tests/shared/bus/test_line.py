"""A client's line to its bus, against a bus that answers strangely."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from shared.bus.port import BusClosed
from shared.bus.wire import AskHead, At, Done, Doorbell, Publish, Read, Request, Rows, pack, request_of
from shared.bus.zeromq import ZmqBus
from shared.eventlog.entry import Refused

from .conftest import steps

Answers = Callable[[bytes, Request], list[list[bytes]]]
"""The messages, without the client's id, that answer a request."""


@contextmanager
def strange_bus(place: Path, answers: Answers, news: list[bytes] | None = None) -> Iterator[str]:
    """Its address, while it answers so; it rings with `news` after each answer."""
    stopping = threading.Event()
    bound = threading.Event()

    def serve() -> None:
        with zmq.Context() as context, context.socket(zmq.ROUTER) as router, context.socket(zmq.PUB) as bell:
            for socket, suffix in ((router, "req"), (bell, "news")):
                socket.linger = 0
                socket.bind(f"ipc://{place}/bus.{suffix}")
            bound.set()
            while not stopping.is_set():
                if router.poll(20):
                    peer, number, body = router.recv_multipart()
                    for frames in answers(number, request_of(body)):
                        router.send_multipart([peer, *frames])
                    for message in news or ():
                        bell.send(message)

    thread = threading.Thread(target=serve)
    thread.start()
    bound.wait()
    try:
        yield f"ipc://{place}/bus"
    finally:
        stopping.set()
        thread.join()


async def test_answers_that_come_twice_or_are_nobody_s_do_no_harm(tmp_path: Path) -> None:
    """A number twice in one message, a second answer, and answers to what was never asked."""

    def answers(number: bytes, request: Request) -> list[list[bytes]]:
        done = pack(Done())
        return [[b"nobody's", done], [number + number + b"unknown!", done], [number, done], [b"", done]]

    with strange_bus(tmp_path, answers) as address:
        bus = ZmqBus(address, patience_s=5.0)
        for number in range(5):
            await bus.publish(steps(number))
        await asyncio.gather(*(bus.publish(steps(number)) for number in range(50)))
        await bus.close()


async def test_an_answer_that_cannot_be_read_is_a_refusal(tmp_path: Path) -> None:
    """It says so, and asks whether both run the same version; the line goes on."""
    replies = [b"\xc1", pack(Done())]
    with strange_bus(tmp_path, lambda number, _: [[number, replies.pop(0)]]) as address:
        bus = ZmqBus(address, patience_s=5.0)
        with pytest.raises(Refused, match="do both run the same version"):
            await bus.publish(steps(1))
        await bus.publish(steps(1))
        await bus.close()


async def test_news_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    """The bell is asked for by hand once a second anyway."""
    bells = [b"", b"\xc1", pack(Doorbell(3, {}))]
    with strange_bus(tmp_path, lambda number, _: [[number, pack(At(0))]], bells) as address:
        bus = ZmqBus(address, patience_s=5.0)
        assert await bus.cursor("me") == 0
        await asyncio.sleep(0.1)
        await bus.cursor("me")
        assert await bus.news(2, 3.0)
        await bus.close()


async def test_an_answer_that_was_lost_is_asked_for_again(tmp_path: Path) -> None:
    """After a second, under the same number; a late first answer counts as well."""
    heard: list[bytes] = []

    def answers(number: bytes, _: Request) -> list[list[bytes]]:
        heard.append(number)
        return [[number, pack(At(7))]] if len(heard) == 2 else []

    with strange_bus(tmp_path, answers) as address:
        bus = ZmqBus(address, patience_s=5.0)
        assert await bus.cursor("me") == 7
        assert heard[0] == heard[1]
        await bus.close()


async def test_a_bus_that_never_answers_is_given_up_after_the_patience(tmp_path: Path) -> None:
    """It is there, and that is all."""
    with strange_bus(tmp_path, lambda _, __: []) as address:
        bus = ZmqBus(address, patience_s=1.5)
        start = asyncio.get_running_loop().time()
        with pytest.raises(BusClosed, match="no answer from the bus at"):
            await bus.publish(steps(1))
        assert 1.0 < asyncio.get_running_loop().time() - start < 4.0
        await bus.close()


async def test_few_reads_and_many_other_requests_are_under_way_at_once(tmp_path: Path) -> None:
    """What a bus that answers nothing has been sent by one client is bounded."""
    heard: list[Request] = []

    def answers(_: bytes, request: Request) -> list[list[bytes]]:
        heard.append(request)
        return []

    with strange_bus(tmp_path, answers) as address:
        bus = ZmqBus(address, patience_s=30.0)
        asking = [asyncio.create_task(bus.read(0)) for _ in range(100)]
        asking += [asyncio.create_task(bus.publish(steps(number))) for number in range(1000)]
        await asyncio.sleep(0.5)
        assert sum(isinstance(request, Read) for request in heard) == 8
        assert sum(isinstance(request, Publish) for request in heard) == 248
        await bus.close()
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(end) for end in ended} == {BusClosed}


async def test_a_client_asks_at_once_when_its_connection_is_back(tmp_path: Path) -> None:
    """What was sent into a connection that broke is sent again when there is a new one, not when its time has come."""

    def deaf(_: bytes, request: Request) -> list[list[bytes]]:
        return []

    def hearing(number: bytes, request: Request) -> list[list[bytes]]:
        return [[number, pack(At(1) if isinstance(request, AskHead) else Rows([], 1))]]

    bus = None
    with strange_bus(tmp_path, deaf) as address:
        bus = ZmqBus(address, patience_s=20.0)
        reading = asyncio.create_task(bus.read(0))
        await asyncio.sleep(1.5)  # sent twice, and due again in two seconds
    start = asyncio.get_running_loop().time()
    with strange_bus(tmp_path, hearing):
        await reading
        assert asyncio.get_running_loop().time() - start < 1.2
        await bus.close()
