"""A log on a disk of its own that fills up, or that cannot be written: a small tmpfs."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.bus.zeromq import ZmqBus
from shared.messages import RunEnded, named

from .conftest import BrokerProcess, problems_in, read_all, run_broker, steps


class Disk:
    """A mounted file system of a few MB."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def mount(self, *options: str) -> None:
        """Mounts it, or changes how it is mounted. Raises `CalledProcessError` where that is not permitted."""
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(self.place)]
        subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 8 MB; a test is skipped where mounting is not permitted."""
    made = Disk(tmp_path / "disk")
    made.place.mkdir()
    try:
        made.mount("size=8m")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting is not permitted here: {(getattr(error, 'stderr', '') or str(error)).strip()}")
    yield made
    subprocess.run(["umount", "-l", str(made.place)], check=True)


def broker_on(disk: Disk) -> BrokerProcess:
    """A broker whose log is on the disk and whose sockets are not."""
    return BrokerProcess(disk.place, f"ipc://{disk.place.parent}/bus")


@pytest.mark.parametrize("size", [300, 60_000], ids=["small facts", "large facts"])
async def test_a_full_disk_ends_the_broker_in_one_line_and_loses_nothing(size: int, disk: Disk) -> None:
    """Exit code 3; what was acknowledged is in the log, which is whole. With room made, broker and clients go on."""
    filler = disk.place / "filler"
    filler.write_bytes(bytes(5 << 20))
    server = broker_on(disk).start()
    bus = ZmqBus(server.address)
    acknowledged: list[RunEnded] = []

    async def publish_until(enough: Callable[[], bool]) -> None:
        while not enough():
            fact = named(RunEnded(ok=True, reason="x" * size), "test", len(acknowledged))
            await bus.publish([fact])
            acknowledged.append(fact)

    mended = False
    work = asyncio.create_task(publish_until(lambda: mended))
    code, errors = await asyncio.to_thread(server.ended)
    assert code == 3, errors
    assert errors.count("\n") == 1
    assert f"the log {server.log} cannot be written: " in errors
    assert "see to the disk, then start again" in errors
    before = len(acknowledged)
    assert before > 3
    assert not work.done()
    filler.unlink()
    server.start()
    assert [fact for _, fact in await read_all(bus)][:before] == acknowledged[:before]
    mended = True
    await work
    await publish_until(lambda: len(acknowledged) >= before + 4)
    assert [fact for _, fact in await read_all(bus)] == acknowledged
    await bus.close()
    assert server.stop() == (0, "")
    assert problems_in(server.log) == []


async def test_a_disk_that_is_full_from_the_start_is_one_line(disk: Disk) -> None:
    """No log can be made: exit code 2."""
    filler = disk.place / "filler"
    filler.write_bytes(bytes((8 << 20) - 4096))
    done = run_broker(f"ipc://{disk.place.parent}/bus", disk.place / "log.sqlite")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.stderr
    assert "full" in done.stderr


async def test_a_read_only_disk_is_bad_input(disk: Disk) -> None:
    """Exit code 2 and one line, with a log and without; what is there can still be read."""
    server = broker_on(disk).start()
    bus = ZmqBus(server.address)
    await bus.publish(steps(1, 2))
    await bus.close()
    assert server.stop() == (0, "")
    disk.mount("remount", "ro")
    for log in (server.log, disk.place / "new" / "log.sqlite"):
        done = run_broker(server.address, log)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.stderr
        assert "Read-only file system" in done.stderr
    assert problems_in(server.log) == []
