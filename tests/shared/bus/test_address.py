"""Addresses of a bus: what they stand for, and which are refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import zmq

from shared.bus.address import IPC_PATH_MAX, bus_address_for, parse_address
from shared.errors import BadInput


def test_one_address_is_two_sockets() -> None:
    """An ipc path gets two names, a TCP port the one after it."""
    assert parse_address("ipc:///tmp/run/bus")[1:3] == ("ipc:///tmp/run/bus.req", "ipc:///tmp/run/bus.news")
    assert parse_address("tcp://localhost:5550")[1:3] == ("tcp://127.0.0.1:5550", "tcp://127.0.0.1:5551")
    assert parse_address("tcp://[::1]:5550")[1:3] == ("tcp://[::1]:5550", "tcp://[::1]:5551")
    assert parse_address("tcp://gpu-1.example.org:5550").requests == "tcp://gpu-1.example.org:5550"


@pytest.mark.parametrize(
    ("text", "private", "everywhere"),
    [
        ("ipc:///tmp/bus", True, False),
        ("tcp://localhost:5550", True, False),
        ("tcp://127.0.0.1:5550", True, False),
        ("tcp://127.9.9.9:5550", True, False),
        ("tcp://[::1]:5550", True, False),
        ("tcp://10.0.0.7:5550", False, False),
        ("tcp://[fe80::7]:5550", False, False),
        ("tcp://localhost.example.org:5550", False, False),
        ("tcp://[::ffff:127.0.0.1]:5550", False, False),
        ("tcp://0.0.0.0:5550", False, True),
        ("tcp://*:5550", False, True),
        ("tcp://[::]:5550", False, True),
    ],
)
def test_only_loopback_and_ipc_are_private(text: str, private: bool, everywhere: bool) -> None:
    """Where keys are needed follows from the address alone; what stands for all networks is known as such."""
    address = parse_address(text)
    assert (address.private, address.everywhere) == (private, everywhere)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tcp://127.0.0.1", "a port from 1"),
        ("tcp://127.0.0.1:0", "a port from 1"),
        ("tcp://127.0.0.1:65535", "a port from 1"),
        ("tcp://127.0.0.1:x", "a port from 1"),
        ("tcp://:5550", "a name, an IPv4 number"),
        ("tcp://127.0.0.300:5550", "a name, an IPv4 number"),
        ("tcp://::1:5550", r"an \[IPv6\] number"),
        ("tcp://[10.0.0.7]:5550", r"an \[IPv6\] number"),
        ("tcp://a b:5550", "a name"),
        ("tcp://-x:5550", "a name"),
        ("ipc://relative/bus", "absolute"),
        ("ipc://@abstract", "absolute"),
        ("ipc:///tmp/", "absolute"),
        ("ipc:///" + "x" * 200, "at most 98 bytes"),
        ("inproc://bus", "give ipc"),
        ("", "give ipc"),
    ],
)
def test_other_addresses_are_refused_with_the_right_form(text: str, reason: str) -> None:
    """One line that says what an address looks like."""
    with pytest.raises(BadInput, match=reason):
        parse_address(text)


def test_a_run_directory_holds_its_bus() -> None:
    """The same directory always gives the same address, which is inside it."""
    assert bus_address_for(Path("/tmp/run")) == "ipc:///tmp/run/bus"


def test_a_long_run_directory_gets_a_short_private_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address fits, differs between runs, and its directory belongs to this user alone; one open to others is refused."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    long = tmp_path / ("deep" * 20) / "run"
    address = bus_address_for(long)
    place = parse_address(address)
    assert place.path is not None
    directory = place.path.parent
    try:
        assert bus_address_for(long) == address != bus_address_for(long.with_name("other"))
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        directory.chmod(0o755)
        with pytest.raises(BadInput, match="open to other users"):
            bus_address_for(long)
    finally:
        directory.rmdir()
        parse_address(bus_address_for(long.with_name("other"))).path.parent.rmdir()  # type: ignore[union-attr]


def test_the_limit_holds_on_this_system() -> None:
    """ZeroMQ takes paths at least as long as ours."""
    assert IPC_PATH_MAX <= zmq.IPC_PATH_MAX_LEN
