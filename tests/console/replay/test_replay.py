"""Real replays over real sockets, with real clients and services."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from console.cli import app
from console.recording import LOG_NAME, open_recording
from shared.bus.port import Rewound
from shared.bus.wire import Nature
from shared.bus.zeromq import ZmqBus
from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import Refused, entries_of
from shared.eventlog.sqlite import SqliteJournal
from shared.flow import UPKEEP, author
from shared.messages import Fact, RunEnded, StepOpened
from tests.console.replay.conftest import Connect, Play, service, sockets_in, until
from tests.console.replay.recordings import BEGAN_NS, ROOT, SECOND, record, spoil, story

READER = """
import asyncio, sys
from shared.bus.zeromq import ZmqBus

async def main():
    bus = ZmqBus(sys.argv[1])
    await bus.read(0)
    print("read", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def sagepace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [sys.executable, "-m", "console", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False)


async def read_all(bus: ZmqBus, head: int, *types: type[Fact]) -> list[tuple[int, Fact]]:
    """Everything up to the head, as an observer reads it."""
    found: list[tuple[int, Fact]] = []
    after = 0
    while after < head:
        page = await bus.read(after, types or None)
        found += page.facts
        after = page.upto
        if not page.facts and after < head:
            await bus.news(after, 1.0)
    return found


@pytest.mark.parametrize("role", ["verifier", "solver"])
async def test_a_service_in_lockstep_says_everything_again(role: str, recorded_run: Path, play: Play, connect: Connect):
    """A real process on a real recording: what it gives is what the run's own gave, all of it, and nothing else."""
    with open_recording(recorded_run) as recording:
        given = [fact for _, _, fact in recording.facts() if author(fact) == role and type(fact) not in UPKEEP]
    before = hashlib.sha256((recorded_run / LOG_NAME).read_bytes()).digest()
    replay = play("--lockstep", directory=recorded_run)
    process = service(role, replay.address)
    bus = connect(replay)
    await until(bus, lambda status: status.repeated >= len(given))
    process.terminate()
    printed = process.communicate(timeout=20)[1]
    status, out, err = replay.told(signal.SIGTERM)
    assert (process.returncode, status) == (0, 143)
    assert out.splitlines()[-1] == f"given again {len(given)}: {len(given)} the same"
    assert err == ""
    assert f"consumer 1 is the {role}" in out
    attached = [json.loads(line)["event"] for line in printed.splitlines() if "attached" in line]
    assert len(attached) == 1
    assert attached[0].startswith("attached to a replay of tiny: fact ")
    assert hashlib.sha256((recorded_run / LOG_NAME).read_bytes()).digest() == before


async def test_observers_read_a_replay_like_a_run_and_can_tell_them_apart(play: Play, connect: Connect):
    """The recorded facts, numbers and times; `status` says that this is a replay, of what, and how it stands."""
    replay = play("--instant")
    bus = connect(replay)
    status = await until(bus, lambda status: status.head == 6)
    assert (status.nature, status.clock_ns) == (Nature.REPLAY, BEGAN_NS + 5 * SECOND)
    assert status.about == "demo: fact 6 of 6, at the end, instant"
    page = await bus.read(0)
    assert page.facts == list(enumerate(story(4), start=1))
    assert list(page.times) == [BEGAN_NS + n * SECOND for n in range(6)]
    assert replay.greeting == f"REPLAY of demo, facts 1 to 6, at {replay.address}"


async def test_a_replay_over_tcp(play: Play, connect: Connect):
    """On the loopback, for what cannot reach a socket in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = min(free.getsockname()[1], 65534)
    replay = play("--instant", "--bus", f"tcp://127.0.0.1:{port}")
    bus = connect(replay)
    await until(bus, lambda status: status.head == 6)
    assert [seq for seq, _ in await read_all(bus, 6)] == [1, 2, 3, 4, 5, 6]


async def test_the_recorded_times_pass_at_the_chosen_speed(play: Play, connect: Connect):
    """Five recorded seconds at speed 10 take half a second."""
    replay = play("--speed", "10")
    bus = connect(replay)
    first = (await until(bus, lambda status: status.head >= 1)).clock_ns
    began = time.monotonic()
    last = await until(bus, lambda status: status.head == 6)
    took = time.monotonic() - began
    assert (last.clock_ns - first) / SECOND / 10 - 0.1 < took < 2.0


async def test_orders_by_message(play: Play, connect: Connect):
    """`sagepace control` steps, seeks, changes the speed, switches the loop, and tells how the replay stands."""
    replay = play("--step")
    said = []
    for words in ("status", "step", "step 3", "seek 2", "speed 50", "resume"):
        done = await asyncio.to_thread(sagepace, "control", replay.address, *words.split())
        assert (done.returncode, done.stderr) == (0, "")
        said.append(done.stdout.removeprefix("REPLAY demo: fact ").rstrip("\n"))
    assert said[:5] == [
        "0 of 6, paused, speed 1",
        "1 of 6, paused, speed 1",
        "4 of 6, paused, speed 1",
        "2 of 6, paused, speed 1",
        "2 of 6, paused, speed 50",
    ]
    bus = connect(replay)
    await until(bus, lambda status: status.head == 6)
    done = sagepace("control", replay.address, "loop", "off", "--json")
    assert json.loads(done.stdout)["about"] == "demo: fact 6 of 6, at the end, speed 50"
    assert sagepace("control", replay.address, "stop").stdout == "REPLAY demo: fact 6 of 6, at the end, speed 50: ends\n"
    assert replay.ended()[0] == 0


def test_orders_that_make_no_sense_get_one_line(play: Play):
    """An unknown one with the nearest, a missing or bad number, one that the replay refuses, and a place where none is."""
    replay = play("--step")
    for words, reason in [
        ("paus", "no such order; did you mean 'pause'?"),
        ("pause 3", "pause takes no number"),
        ("seek", "say which fact, such as seek 2"),
        ("seek x", "give a number"),
        ("seek 7", "this replay has facts 1 to 6"),
        ("speed", "say how fast"),
        ("speed 0", "to stand still, pause"),
        ("loop maybe", "say on or off"),
        ("step 1.5", "give a whole number"),
    ]:
        with pytest.raises(BadInput, match=re.escape(reason)) as caught:
            app(["control", replay.address, *words.split()], standalone_mode=False)
        assert "\n" not in str(caught.value)
    done = sagepace("control", "ipc:///tmp/no-replay-is-here/bus", "pause")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no replay answers at ipc:///tmp/no-replay-is-here/bus" in done.stderr


def test_a_live_bus_obeys_nobody(short_folder: Path):
    """`control` refuses to speak to a run, whatever the order."""
    address = f"ipc://{short_folder}/bus"
    command = [sys.executable, "-m", "services.bus", "--bus", address, "--log", str(short_folder / "log.sqlite")]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert broker.stdout is not None
    broker.stdout.readline()
    for order in ("pause", "status"):
        done = sagepace("control", address, order)
        assert done.returncode == 2
        assert "live" in done.stderr
    broker.terminate()
    broker.communicate(timeout=20)


async def test_clients_notice_that_the_replay_was_moved_back(play: Play, connect: Connect):
    """Whoever waits is woken at once, and nothing works until the client rejoins; then it reads the new past."""
    replay = play("--instant")
    bus, other = connect(replay), connect(replay)
    await until(bus, lambda status: status.head == 6)
    assert len(await read_all(bus, 6)) == 6
    waiting = asyncio.create_task(bus.news(6, 30.0))
    await asyncio.sleep(0.3)
    await other.control("seek", 2)
    began = time.monotonic()
    with pytest.raises(Rewound, match="the replay was moved back; start this service again"):
        await waiting
    assert time.monotonic() - began < 1.5
    for attempt in (bus.read(0), bus.news(0, 0.1), bus.publish([story(4)[0]]), bus.cursor("x"), bus.move_cursor("x", 1)):
        with pytest.raises(Rewound):
            await attempt
    await bus.rejoin()
    await other.control("pause")
    page = await bus.read(0)
    assert [seq for seq, _ in page.facts] == list(range(1, page.upto + 1))
    await bus.publish([story(4)[0]])


async def test_a_client_that_comes_later_is_not_bothered_by_an_earlier_move(play: Play, connect: Connect):
    """What it reads first is its past, and a move after that is noticed without any doorbell that it heard before."""
    replay = play("--step")
    early, late = connect(replay), connect(replay)
    await early.control("step", 4)
    await early.control("seek", 3)
    assert len((await late.read(0)).facts) == 3
    await early.control("seek", 1)
    with pytest.raises(Rewound):
        await late.read(3)
        await late.news(3, 2.0)
    with pytest.raises(Refused, match="facts 1 to 6"):
        await early.control("seek", 1e9)


async def test_a_service_ends_when_the_replay_is_moved_back(recorded_run: Path, play: Play, connect: Connect):
    """With one line and exit status 3: what it remembers is of another past."""
    replay = play("--instant", directory=recorded_run)
    process = service("verifier", replay.address)
    bus = connect(replay)
    await until(bus, lambda status: status.repeated > 5)
    await bus.control("seek", 50)
    printed = await asyncio.to_thread(process.communicate, timeout=20)
    assert process.returncode == 3
    last = printed[1].splitlines()[-1]
    assert last == "services.verifier: the replay was moved back; start this service again"
    assert "Traceback" not in printed[1]


async def test_a_loop_begins_anew_and_says_so(play: Play, connect: Connect):
    """The head goes back after the end, and clients that saw it there are told."""
    replay = play("--instant", "--loop", "--from", "3")
    bus = connect(replay)
    await read_all(bus, 6)
    with pytest.raises(Rewound):
        await bus.news(6, 10.0)
    await bus.rejoin()
    assert len(await read_all(bus, 6)) == 6


async def test_lockstep_waits_for_consumers_and_not_for_the_dead(play: Play, connect: Connect):
    """It stands still until somebody reads, goes as fast as they do, and goes on when one of them was killed."""
    replay = play("--lockstep")
    bus = connect(replay)
    await asyncio.sleep(0.3)
    assert (await bus.status()).head == 0
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", READER, replay.address, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert victim.stdout is not None
    assert await victim.stdout.readline() == b"read\n"
    victim.kill()
    await victim.communicate()
    began = time.monotonic()
    found = await read_all(bus, 6)
    assert [seq for seq, _ in found] == [1, 2, 3, 4, 5, 6]
    assert 3.0 < time.monotonic() - began < 12.0
    assert "consumer 1 was not heard of for 5 s: it is not waited for any more" in replay.told(signal.SIGTERM)[1]


async def test_a_reader_of_rare_facts_does_not_hold_up_lockstep(play: Play, connect: Connect):
    """By asking it acknowledges, also where nothing of what it wants has come."""
    replay = play("--lockstep")
    bus = connect(replay)
    began = time.monotonic()
    assert [seq for seq, _ in await read_all(bus, 6, RunEnded)] == [6]
    assert time.monotonic() - began < 4.0


async def test_only_from_and_until(play: Play, connect: Connect):
    """What is left out is passed over, what lies before is there from the start, what lies behind never comes."""
    replay = play("--instant", "--only", "StepOpened, RunStarted", "--from", "3s", "--until", "5")
    bus = connect(replay)
    status = await until(bus, lambda status: status.head == 5)
    found = await read_all(bus, status.head)
    assert [(seq, type(fact)) for seq, fact in found][1:] == [(seq, StepOpened) for seq in (2, 3, 4, 5)]
    assert replay.greeting.startswith("REPLAY of demo, facts 4 to 5, at ")


async def test_exit_at_end_waits_for_its_readers(play: Play, connect: Connect):
    """It ends when everybody has read everything, with a count of what was given again."""
    replay = play("--lockstep", "--exit-at-end")
    bus = connect(replay)
    await read_all(bus, 5)
    await bus.publish(story(4)[:2])
    assert replay.process.poll() is None
    await read_all(bus, 6)
    assert replay.process.poll() is None
    await bus.read(6)
    status, out, err = await asyncio.to_thread(replay.ended)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == "given again 2: 2 the same"


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_it_within_a_second(play: Play, short_folder: Path, number: signal.Signals, expected: int):
    """With the status of an interrupted command; neither sockets nor a private folder stay behind."""
    chosen, private = play("--bus", f"ipc://{short_folder}/bus"), play()
    folder = Path(private.address.removeprefix("ipc://")).parent
    assert folder.stat().st_mode & 0o077 == 0
    for replay in (chosen, private):
        began = time.monotonic()
        assert replay.told(number)[0] == expected
        assert time.monotonic() - began < 1.5
    assert sockets_in(short_folder) == []
    assert not folder.exists()


def test_a_damaged_fact_is_passed_over_and_said(play: Play, tmp_path: Path):
    """The replay goes on to the end."""
    spoil(record(tmp_path / "run", story(4)) / LOG_NAME, 3)
    replay = play("--instant", "--exit-at-end")
    status, _, err = replay.ended()
    assert status == 0
    assert err.startswith("sagepace: passed over (1 so far): fact 3 (StepOpened) was changed")


def test_a_log_that_is_still_written_is_played_as_it_was(play: Play, tmp_path: Path):
    """And that is said."""
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(fact) for fact in story(3)]))
    replay = play("--instant", "--exit-at-end", directory=tmp_path)
    status, _, err = replay.ended()
    journal.close()
    assert status == 0
    assert "is still being written: only the 5 facts that it has now are replayed" in err


def test_quiet_prints_the_address_alone(play: Play):
    """Nothing about consumers or orders; the last line still counts what was given again."""
    replay = play("--step", "--quiet")
    sagepace("control", replay.address, "step")
    sagepace("control", replay.address, "stop")
    assert replay.ended() == (0, "", "")


def peak_mb(pid: int) -> float:
    """The most memory that a process has held so far."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


@pytest.mark.slow
async def test_memory_stays_flat_on_a_long_recording(play: Play, connect: Connect, tmp_path: Path):
    """Two hundred thousand facts are played and read within 150 MB."""
    record(tmp_path / "run", story(200_000))
    replay = play("--instant")
    bus = connect(replay)
    counts: Counter[str] = Counter()
    after = 0
    while after < 200_002:
        page = await bus.read(after, limit=2000)
        counts.update(type(fact).__name__ for _, fact in page.facts)
        after = page.upto
        if not page.facts:
            await bus.news(after, 1.0)
    assert counts["StepOpened"] == 200_000
    assert peak_mb(replay.process.pid) < 150
