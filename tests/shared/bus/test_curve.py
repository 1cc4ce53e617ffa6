"""A broker that uses keys, as a process: who gets in, who does not, and what each side says of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from shared.bus.address import parse_address
from shared.bus.keys import client_keys, make_keys
from shared.bus.port import BusClosed, HandshakeRefused
from shared.bus.zeromq import ZmqBus
from shared.errors import BadInput

from .conftest import BrokerProcess, free_port, run_broker, steps
from .raw import GREETING


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Keys of a broker and one client, and those of a stranger, who has the broker's public key."""
    make_keys(tmp_path / "keys", ["solver"])
    make_keys(tmp_path / "other", ["stranger"])
    (tmp_path / "other" / "stranger" / "broker.key").write_bytes((tmp_path / "keys" / "broker" / "broker.key").read_bytes())
    return tmp_path / "keys"


@pytest.fixture
def keyed(tmp_path: Path, keys: Path) -> Iterator[BrokerProcess]:
    """A broker with keys on loopback."""
    server = BrokerProcess(tmp_path, f"tcp://127.0.0.1:{free_port()}", keys=keys / "broker").start()
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()


async def refusal(bus: ZmqBus) -> str:
    """Why a client was not let in."""
    with pytest.raises(BusClosed) as caught:
        await bus.publish(steps(1))
    await bus.close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_a_client_with_the_right_keys_is_served(keyed: BrokerProcess, keys: Path) -> None:
    """Requests, answers and the doorbell all pass."""
    bus, other = ZmqBus(keyed.address, keys=keys / "solver"), ZmqBus(keyed.address, keys=keys / "solver")
    waiting = asyncio.create_task(other.news(0, 10.0))
    await asyncio.sleep(0.3)
    await bus.publish(steps(1, 2))
    assert await asyncio.wait_for(waiting, 0.7)
    assert [seq for seq, _ in (await other.read(0)).facts] == [1, 2]
    await bus.close()
    await other.close()
    assert keyed.stop() == (0, "")


async def test_a_wrong_key_is_refused_at_once_and_logged(keyed: BrokerProcess, keys: Path, tmp_path: Path) -> None:
    """The client ends long before its patience with one line that says so; the broker names the key, counts, and goes on."""
    stranger = client_keys(parse_address(keyed.address), tmp_path / "other" / "stranger")
    assert stranger is not None
    bus = ZmqBus(keyed.address, keys=tmp_path / "other" / "stranger")
    async with asyncio.timeout(5):
        with pytest.raises(HandshakeRefused, match=rf"bus at {keyed.address} refused this process's key.*clients") as caught:
            await bus.publish(steps(1))
    assert isinstance(caught.value, BadInput)
    with pytest.raises(HandshakeRefused):
        await bus.read(0)
    await bus.close()
    good = ZmqBus(keyed.address, keys=keys / "solver")
    await good.publish(steps(1))
    assert (await good.status()).refused >= 1
    await good.close()
    code, errors = keyed.stop()
    assert code == 0
    assert "refused (1 so far): a client with the key " + stranger.pair.public.decode() in errors
    assert "Traceback" not in errors


async def test_a_key_may_be_allowed_and_taken_away_while_the_broker_runs(
    keyed: BrokerProcess, keys: Path, tmp_path: Path
) -> None:
    """The folder is looked at for each new connection."""
    folder = tmp_path / "other" / "stranger"
    ours = keys / "broker" / "clients" / "stranger.key"
    assert "refused this process's key" in await refusal(ZmqBus(keyed.address, keys=folder))
    ours.write_bytes((folder / "stranger.key").read_bytes())
    bus = ZmqBus(keyed.address, keys=folder)
    await bus.publish(steps(1))
    await bus.close()
    ours.unlink()
    assert "refused this process's key" in await refusal(ZmqBus(keyed.address, keys=folder))


async def test_a_client_without_keys_is_told_to_get_some(keyed: BrokerProcess) -> None:
    """Within its patience, in one line; the broker logs the attempt."""
    said = await refusal(ZmqBus(keyed.address, patience_s=1.0))
    assert "keys" in said
    assert said.endswith("(--keys)")
    # Which of the two sides hangs up first is a matter of chance.
    assert re.search("a connection that (does not use keys as this bus|ended before it had shown a key)", keyed.stop()[1])


async def test_a_client_that_means_another_broker_is_told(keyed: BrokerProcess, keys: Path, tmp_path: Path) -> None:
    """The broker's public key at the client is not this broker's: one line here, one there."""
    (keys / "solver" / "broker.key").write_bytes((tmp_path / "other" / "broker" / "broker.key").read_bytes())
    said = await refusal(ZmqBus(keyed.address, patience_s=1.0, keys=keys / "solver"))
    assert "is the broker's public key that this process has the key of that broker?" in said
    assert "a connection whose key for this broker is that of another" in keyed.stop()[1]


async def test_a_client_with_keys_on_a_broker_without_is_told_at_once(keys: Path, tmp_path: Path) -> None:
    """The broker uses none, and the client says so long before its patience."""
    server = BrokerProcess(tmp_path, f"tcp://127.0.0.1:{free_port()}").start()
    async with asyncio.timeout(5):
        assert "uses no keys and this process does" in await refusal(ZmqBus(server.address, keys=keys / "solver"))
    assert server.stop()[0] == 0


async def test_whatever_is_no_bus_is_told_from_one() -> None:
    """A server of another kind at the address, and one that begins like ours: one line each."""

    said: list[str] = []
    for reply in (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4, GREETING + b"\x04\x06\x05HELLO"):

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: bytes = reply) -> None:
            writer.write(reply)
            writer.close()

        port = free_port()
        async with await asyncio.start_server(answer, "127.0.0.1", port), asyncio.timeout(5):
            said.append(await refusal(ZmqBus(f"tcp://127.0.0.1:{port}", patience_s=1.0)))
    assert "it ends every handshake: is this the broker's address?" in said[0]
    assert "is no bus: is this the broker's address?" in said[1]


def test_a_stranger_gets_no_doorbell(keyed: BrokerProcess, keys: Path, tmp_path: Path) -> None:
    """The news socket is closed to whoever has no allowed key, too."""
    with zmq.Context() as context, context.socket(zmq.SUB) as sub, context.socket(zmq.SUB) as plain:
        stranger = client_keys(parse_address(keyed.address), tmp_path / "other" / "stranger")
        assert stranger is not None
        stranger.secure(sub)
        for each in (sub, plain):
            each.linger = 0
            each.setsockopt(zmq.SUBSCRIBE, b"")
            each.connect(parse_address(keyed.address).news)

        async def publish() -> None:
            bus = ZmqBus(keyed.address, keys=keys / "solver")
            for number in range(20):
                await bus.publish(steps(number))
                await asyncio.sleep(0.02)
            await bus.close()

        asyncio.run(publish())
        assert not sub.poll(100)
        assert not plain.poll(100)


@pytest.mark.parametrize("host", ["0.0.0.0", "*", "[::]", "10.1.2.3", "gpu.example.org"])
def test_a_broker_does_not_start_without_keys_where_others_come_in(host: str, tmp_path: Path) -> None:
    """Exit code 2 and one line that names the command; no log is made."""
    done = run_broker(f"tcp://{host}:5550", tmp_path / "x" / "log.sqlite")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert "`sagepace keys`" in done.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("host", ["10.255.255.1", "name.invalid", "[2001:db8::7]"])
def test_an_address_that_is_not_ours_is_bad_input(host: str, keys: Path, tmp_path: Path) -> None:
    """Exit code 2 and one line, with keys: the broker cannot listen there."""
    done = run_broker(f"tcp://{host}:5550", tmp_path / "x" / "log.sqlite", "--keys", str(keys / "broker"))
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.stderr
    assert "cannot listen" in done.stderr


def test_a_client_does_not_connect_to_everywhere() -> None:
    """0.0.0.0 is for listening; the line says what to give."""
    with pytest.raises(BadInput, match="one to listen on"):
        ZmqBus("tcp://0.0.0.0:5550")


async def test_a_broker_that_listens_everywhere_is_found_by_number_and_name(keys: Path, tmp_path: Path) -> None:
    """With keys, on all networks: clients come by IPv4 and by name."""
    port = free_port()
    server = BrokerProcess(tmp_path, f"tcp://*:{port}", keys=keys / "broker").start()
    for number, host in enumerate(["127.0.0.1", "localhost"]):
        bus = ZmqBus(f"tcp://{host}:{port}", patience_s=5.0, keys=keys / "solver")
        await bus.publish(steps(number))
        await bus.close()
    assert server.stop() == (0, "")


async def test_ipv6_works(keys: Path, tmp_path: Path) -> None:
    """Both sockets, on the loopback's number in brackets."""
    server = BrokerProcess(tmp_path, f"tcp://[::1]:{free_port()}", keys=keys / "broker").start()
    bus = ZmqBus(server.address, patience_s=5.0, keys=keys / "solver")
    await bus.publish(steps(1))
    assert await bus.news(0, 3.0)
    await bus.close()
    assert server.stop() == (0, "")


async def test_keys_may_be_used_over_ipc_too(keys: Path, tmp_path: Path) -> None:
    """Where they are given they count."""
    server = BrokerProcess(tmp_path, keys=keys / "broker").start()
    bus = ZmqBus(server.address, keys=keys / "solver")
    await bus.publish(steps(1))
    await bus.close()
    assert "keys" in await refusal(ZmqBus(server.address, patience_s=1.0))
    assert server.stop()[0] == 0
