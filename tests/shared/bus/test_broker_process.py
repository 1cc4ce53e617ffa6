"""The broker as a process: killed, restarted, lied to, refused. Real sockets, real files."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from pathlib import Path

import pytest
import zmq

from shared.bus.port import BusClosed
from shared.bus.wire import AskStatus, Publish, Refusal, Status, pack, reply_of
from shared.bus.zeromq import ZmqBus
from shared.codec import encode
from shared.messages import RunEnded, named

from .conftest import BrokerProcess, problems_in, read_all, run_broker, steps


async def test_kill_nine_loses_nothing_acknowledged_and_clients_carry_on(broker: BrokerProcess) -> None:
    """The broker is killed twice while five clients publish; every fact is there once, gapless, each client's in its order."""
    clients = [ZmqBus(broker.address, patience_s=20.0) for _ in range(5)]
    acknowledged = asyncio.Semaphore(0)

    async def publish(client: ZmqBus, name: int) -> None:
        for fact in steps(*range(150), cause=f"client {name}"):
            await client.publish([fact])
            acknowledged.release()

    work = [asyncio.create_task(publish(client, name)) for name, client in enumerate(clients)]
    for share in (150, 250):
        for _ in range(share):
            await acknowledged.acquire()
        broker.kill()
        await asyncio.sleep(0.05)
        assert not all(task.done() for task in work)
        broker.start()
    await asyncio.gather(*work)
    log = await read_all(clients[0])
    for client in clients:
        await client.close()
    assert [seq for seq, _ in log] == list(range(1, 751))
    for name in range(5):
        ids = [fact.id for fact in steps(*range(150), cause=f"client {name}")]
        assert [fact.id for _, fact in log if fact.id in set(ids)] == ids
    assert broker.stop()[0] == 0
    assert problems_in(broker.log) == []


async def test_a_late_subscriber_reads_everything_and_then_follows(broker: BrokerProcess) -> None:
    """Who comes after the facts, and after a restart of the broker, misses nothing; its news come from the doorbell."""
    early, late = ZmqBus(broker.address), ZmqBus(broker.address)
    await early.publish(steps(*range(50)))
    broker.kill()
    broker.start()
    assert [fact.step for _, fact in await read_all(late)] == list(range(50))
    waiting = asyncio.create_task(late.news(50, 10.0))
    await early.publish(steps(50))
    assert await waiting
    assert [fact.step for _, fact in (await late.read(50)).facts] == [50]  # type: ignore[attr-defined]
    await early.close()
    await late.close()


async def test_a_client_may_start_before_the_broker(tmp_path: Path) -> None:
    """Requests wait for a broker that comes up later."""
    server = BrokerProcess(tmp_path)
    bus = ZmqBus(server.address, patience_s=15.0)
    publishing = asyncio.create_task(bus.publish(steps(1)))
    await asyncio.sleep(0.3)
    server.start()
    await publishing
    await bus.close()
    assert server.stop() == (0, "")


async def test_a_lost_broker_is_reported_after_the_patience(broker: BrokerProcess) -> None:
    """`BusClosed` names the address and how long it was tried; a cancelled request ends at once."""
    bus = ZmqBus(broker.address, patience_s=1.0)
    await bus.publish(steps(1))
    broker.kill()
    cancelled = asyncio.create_task(bus.publish(steps(2)))
    await asyncio.sleep(0.1)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    with pytest.raises(BusClosed, match=rf"no answer from the bus at {broker.address} for \d s"):
        await bus.publish(steps(2))
    await bus.close()


async def test_a_stopped_subscriber_holds_up_nobody(broker: BrokerProcess) -> None:
    """A subscriber that never reads costs the others nothing, and a frozen broker is waited for."""
    silent = zmq.Context()
    sub = silent.socket(zmq.SUB)
    sub.setsockopt(zmq.SUBSCRIBE, b"")
    sub.connect(broker.address + ".news")
    bus = ZmqBus(broker.address)
    for fact in steps(*range(100)):
        await bus.publish([fact])
    assert broker.process is not None
    broker.process.send_signal(signal.SIGSTOP)
    frozen = asyncio.create_task(bus.publish(steps(100)))
    await asyncio.sleep(1.5)
    broker.process.send_signal(signal.SIGCONT)
    await frozen
    assert len(await read_all(bus)) == 101
    await bus.close()
    silent.destroy(linger=0)


def ask(address: str, *frames: bytes) -> list[bytes] | None:
    """Sends raw frames; the answer, or None when there is none within a moment."""
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    try:
        dealer.connect(address + ".req")
        dealer.send_multipart(frames)
        return dealer.recv_multipart() if dealer.poll(300) else None
    finally:
        context.destroy(linger=0)


def test_garbage_is_refused_counted_and_survived(broker: BrokerProcess) -> None:
    """Nonsense on both levels, unknown requests, absurd numbers and bad facts get a reason; the broker counts and goes on."""
    number = bytes(8)
    assert ask(broker.address, b"garbage") is None
    assert ask(broker.address, b"", b"", b"", b"") is None
    plain = socket.socket(socket.AF_UNIX)
    plain.connect(broker.address.removeprefix("ipc://") + ".req")
    plain.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
    plain.close()
    bad = [b"", b"\xc1", b"\x80", pack(Publish([b"junk"])), pack(Publish([encode(RunEnded(ok=True, reason=""))]))]
    bad.append(b"\x83\xa4type\xa4read\xa5after\xcf" + b"\xff" * 8 + b"\xa5types\xc0")
    for body in bad:
        answer = ask(broker.address, number, body)
        assert answer is not None
        assert isinstance(reply_of(answer[1]), Refusal)
    answer = ask(broker.address, number, pack(AskStatus()))
    assert answer is not None
    status = reply_of(answer[1])
    assert isinstance(status, Status)
    assert (status.head, status.refused) == (0, 8)
    code, errors = broker.stop()
    assert code == 0
    assert errors.count("refused (") == 4
    assert "Traceback" not in errors


@pytest.mark.parametrize("kind", ["ipc", "tcp"])
def test_a_second_broker_on_the_same_address_refuses(kind: str, tmp_path: Path) -> None:
    """Exit code 2 and one line; the first broker keeps its address."""
    (tmp_path / "a").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    first = BrokerProcess(tmp_path / "a", f"tcp://127.0.0.1:{port}" if kind == "tcp" else None).start()
    second = run_broker(first.address, tmp_path / "b" / "log.sqlite")
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert "choose another --bus address" in second.stderr
    assert first.stop() == (0, "")


def test_a_second_broker_on_the_same_log_refuses(broker: BrokerProcess, tmp_path: Path) -> None:
    """Two writers would number the same facts differently: exit code 2 and one line."""
    second = run_broker(f"ipc://{tmp_path}/other", broker.log)
    assert second.returncode == 2
    assert second.stderr.startswith(f"bus: the log {broker.log} is being written by another broker")


def test_bad_places_get_one_line(tmp_path: Path) -> None:
    """An address elsewhere, a file where a directory should be, and a file that is no log: exit code 2, no traceback."""
    (tmp_path / "file").write_text("not a directory")
    (tmp_path / "log.sqlite").write_bytes(b"not a log at all" * 1000)
    for address, log in [
        ("tcp://0.0.0.0:5550", tmp_path / "x" / "log.sqlite"),
        (f"ipc://{tmp_path}/missing/bus", tmp_path / "x" / "log.sqlite"),
        (f"ipc://{tmp_path}/bus", tmp_path / "file" / "log.sqlite"),
        (f"ipc://{tmp_path}/bus", tmp_path / "log.sqlite"),
    ]:
        done = run_broker(address, log)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.stderr


async def test_a_full_disk_ends_the_broker_without_a_false_acknowledgement(tmp_path: Path) -> None:
    """Exit code 3 and one line; what was acknowledged is in the log, which is whole, and a new broker takes the rest."""

    server = BrokerProcess(tmp_path).start("bash", "-c", 'ulimit -f 400; exec "$@"', "-")
    bus = ZmqBus(server.address, patience_s=15.0)
    facts = [named(RunEnded(ok=True, reason="x" * 20_000), "test", n) for n in range(40)]
    acknowledged = []

    async def publish() -> None:
        for fact in facts:
            await bus.publish([fact])
            acknowledged.append(fact)

    work = asyncio.create_task(publish())
    code, errors = await asyncio.to_thread(server.ended)
    assert code == 3
    assert errors.count("\n") == 1
    assert "cannot be written" in errors
    assert 0 < len(acknowledged) < 40
    before = len(acknowledged)
    server.start()
    assert [fact for _, fact in await read_all(bus)][:before] == facts[:before]
    await work
    assert [fact for _, fact in await read_all(bus)] == facts
    await bus.close()
    assert server.stop()[0] == 0
    assert problems_in(server.log) == []


async def test_sigterm_and_sigint_end_it_quietly_and_promptly(broker: BrokerProcess) -> None:
    """Exit code 0, nothing on standard error, within a second, and what was acknowledged is in the file alone."""
    bus = ZmqBus(broker.address)
    await bus.publish(steps(1))
    await bus.close()
    assert broker.process is not None
    start = time.monotonic()
    broker.process.send_signal(signal.SIGINT)
    assert broker.ended() == (0, "")
    assert time.monotonic() - start < 1.5
    assert not broker.log.with_name("log.sqlite-wal").exists()
    broker.start()
    assert broker.stop() == (0, "")
