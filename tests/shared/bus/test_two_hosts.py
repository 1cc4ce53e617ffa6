"""Two hosts, each a network namespace: the broker on one, clients and a service on the other, over CURVE; the link is cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shared.bus.keys import make_keys
from shared.codec import encode
from shared.eventlog.entry import entries_of
from shared.eventlog.reader import LogReader
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import Fact, TaskChecked, named
from tests.builders import run_started, task_proposed

from .conftest import BrokerProcess, problems_in

FAR_SIDE = Path(__file__).with_name("far_side.py")
NEAR_IP, FAR_IP = "10.213.77.1", "10.213.77.2"
ADDRESS = f"tcp://{NEAR_IP}:5550"


class Hosts(NamedTuple):
    """Two namespaces with one link between them."""

    near: tuple[str, ...]
    """What a command begins with that runs on the broker's host."""
    far: tuple[str, ...]

    def link(self, state: str) -> None:
        """Cuts the link (``down``) or mends it (``up``), at the broker's end."""
        _run(*self.near, "ip", "link", "set", "veth0", state)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """Two hosts; a test is skipped where namespaces are not permitted."""
    near, far = f"sp{os.getpid()}a", f"sp{os.getpid()}b"
    try:
        _run("ip", "netns", "add", near)
        _run("ip", "netns", "add", far)
        _run("ip", "link", "add", "veth0", "netns", near, "type", "veth", "peer", "name", "veth0", "netns", far)
        for name, ip in ((near, NEAR_IP), (far, FAR_IP)):
            _run("ip", "-n", name, "addr", "add", f"{ip}/24", "dev", "veth0")
            _run("ip", "-n", name, "link", "set", "veth0", "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
        yield Hosts(("ip", "netns", "exec", near), ("ip", "netns", "exec", far))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"network namespaces are not permitted here: {(getattr(error, 'stderr', '') or str(error)).strip()}")
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@pytest.fixture
def broker(hosts: Hosts, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker on the near host, on all its networks, with keys of two clients."""
    make_keys(tmp_path / "keys", ["near", "far"])
    server = BrokerProcess(tmp_path, "tcp://0.0.0.0:5550", keys=tmp_path / "keys" / "broker").start(*hosts.near)
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()


def client(host: tuple[str, ...], keys: Path, facts: int, pause_s: float) -> subprocess.Popen[str]:
    """`far_side.py` on a host, once its first fact was acknowledged."""
    words = [ADDRESS, str(keys), keys.name, str(facts), str(pause_s)]
    process = subprocess.Popen(
        [*host, sys.executable, str(FAR_SIDE), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "going\n"
    return process


def outcome(process: subprocess.Popen[str], timeout_s: float) -> dict[str, Any]:
    """What a client says at its end."""
    output, errors = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(output)
    return found


def rows(log: Path) -> list[tuple[int, str, str]]:
    """The log, as (seq, type, id)."""
    reader = LogReader(log)
    found = [(row.seq, row.type, row.id) for row in reader.rows()]
    reader.close()
    return found


@pytest.mark.parametrize("cut_s", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_cut_link_loses_nothing(cut_s: int, hosts: Hosts, broker: BrokerProcess, tmp_path: Path) -> None:
    """Whatever either side was told is in the log, once and in order; the far subscriber reads all of it, without a gap."""
    pause_s = 0.02
    count = int((cut_s + 3) / pause_s / 2)
    near = client(hosts.near, tmp_path / "keys" / "near", count, pause_s)
    far = client(hosts.far, tmp_path / "keys" / "far", count, pause_s)
    time.sleep(1)
    hosts.link("down")
    time.sleep(cut_s)
    assert far.poll() is None
    hosts.link("up")
    mended = time.monotonic()
    ours, theirs = outcome(near, 60), outcome(far, 60)
    assert time.monotonic() - mended < count * pause_s + 15
    assert broker.stop()[0] == 0
    log = [(seq, fact) for seq, _, fact in rows(broker.log)]
    assert [seq for seq, _ in log] == list(range(1, 2 * count + 1))
    for said in (ours, theirs):
        assert len(said["acknowledged"]) == count
        own = set(said["acknowledged"])
        assert [fact for _, fact in log if fact in own] == said["acknowledged"]
        assert [tuple(each) for each in said["seen"]] == log
    assert problems_in(broker.log) == []


def test_a_service_on_the_other_host_goes_on_after_a_cut(hosts: Hosts, broker: BrokerProcess, tmp_path: Path) -> None:
    """A Verifier far from the broker: what is proposed while the link is cut is checked afterwards, each proposal once."""
    broker.stop()
    first = named(run_started(id=""), "test")
    before, during = ([named(task_proposed(id="", slot=n, lineage=f"s1.c{n}"), first, n) for n in r] for r in ((0, 1), (2, 3)))
    add(broker.log, first, *before)
    broker.start(*hosts.near)
    command = [
        *hosts.far,
        sys.executable,
        "-m",
        "services.verifier",
        "--bus",
        ADDRESS,
        "--keys",
        str(tmp_path / "keys" / "far"),
    ]
    with (tmp_path / "verifier.log").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as verifier:
        try:
            until(lambda: checked(broker.log) == 2)
            hosts.link("down")
            broker.kill()  # the network's fault and the broker's at once
            add(broker.log, *during)
            broker.start(*hosts.near)
            time.sleep(2)
            assert checked(broker.log) == 2
            hosts.link("up")
            until(lambda: checked(broker.log) == 4)
            time.sleep(0.5)
            assert checked(broker.log) == 4
        finally:
            verifier.terminate()
    assert verifier.returncode == 0, (tmp_path / "verifier.log").read_text()


def verifier_on(host: tuple[str, ...], keys: Path) -> list[str]:
    """The command of a Verifier on a host."""
    return [*host, sys.executable, "-m", "services.verifier", "--bus", ADDRESS, "--keys", str(keys)]


def add(log: Path, *facts: Fact) -> None:
    """Appends to a log that nobody writes just now."""
    journal = SqliteJournal(log)
    journal.append(entries_of([encode(fact) for fact in facts]))
    journal.close()


def checked(log: Path) -> int:
    """How many proposals were checked."""
    return sum(kind == TaskChecked.__name__ for _, kind, _ in rows(log))


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Waits for something to become true."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.1)


def test_a_wrong_key_from_another_host_is_refused_and_logged(hosts: Hosts, broker: BrokerProcess, tmp_path: Path) -> None:
    """Service and client end at once with one line, exit code 2; the broker names the key; nothing enters the log."""
    make_keys(tmp_path / "other", ["far"])
    public = tmp_path / "keys" / "far" / "broker.key"
    (tmp_path / "other" / "far" / "broker.key").write_bytes(public.read_bytes())
    command = [
        *hosts.far,
        sys.executable,
        "-m",
        "services.verifier",
        "--bus",
        ADDRESS,
        "--keys",
        str(tmp_path / "other" / "far"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"services.verifier: the bus at {ADDRESS} refused this process's key")
    assert "Traceback" not in done.stderr
    code, errors = broker.stop()
    assert code == 0
    assert "a client with the key" in errors
    assert rows(broker.log) == []
