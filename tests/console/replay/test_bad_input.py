"""What a replay is asked that cannot be done: one line, exit status 2, and nothing left behind."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from console.cli import app
from console.recording import LOG_NAME
from shared.bus.address import bus_address_for
from shared.errors import BadInput
from tests.console.replay.conftest import Play
from tests.console.replay.recordings import record, story


def refused(directory: Path, *options: str) -> str:
    """What is said of it."""
    with pytest.raises(BadInput) as caught:
        app(["replay", str(directory), "--instant", "--exit-at-end", *options], standalone_mode=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of six facts; private folders are made in `tmp_path`/private."""
    (tmp_path / "p").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "p"))
    return record(tmp_path / "run", story(4))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--speed 2", "--speed and --instant: a replay has one pace"),
        ("--lockstep", "--instant and --lockstep: a replay has one pace"),
        ("--window 3", "--window 3: only a replay in --lockstep"),
        ("--max-gap -1", "--max-gap -1: give seconds"),
        ("--max-gap nan", "--max-gap nan: give seconds"),
        ("--loop", "--loop and --exit-at-end"),
        ("--only StepOpend", "--only StepOpend: no such fact; did you mean 'StepOpened'?"),
        ("--only ,", "--only: give the names of facts"),
        ("--from 5 --until 2", "nothing lies from 5 until 2"),
        ("--from 9", "--from 9: the log ends before that, with fact 6"),
        ("--until tomorrow", "--until tomorrow: give a sequence number"),
        ("--bus nowhere", "bus address 'nowhere': give ipc:///absolute/path"),
        ("--bus tcp://0.0.0.0:5999", "keys"),
        ("--bus ipc:///no/such/folder/bus", "/no/such/folder/bus"),
    ],
)
def test_options_that_make_no_sense(run: Path, tmp_path: Path, options: str, reason: str):
    """The option, what was given, and what to give instead; no folder is left behind."""
    assert reason in refused(run, *options.split())
    assert list((tmp_path / "p").iterdir()) == []


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "1e9"])
def test_speeds_that_are_none(run: Path, speed: str):
    """Said with the range; standing still is not a speed."""
    with pytest.raises(BadInput, match=r"give a factor from 0\.001 to 1e\+06"):
        app(["replay", str(run), "--speed", speed], standalone_mode=False)


def test_recordings_that_are_none(tmp_path: Path):
    """A missing directory, an empty one, one with an empty log and one with something else."""
    assert "no recording in" in refused(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    assert "no recording in" in refused(tmp_path / "bare")
    assert "has no fact yet" in refused(record(tmp_path / "empty", []))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LOG_NAME).write_text("hello")
    assert LOG_NAME in refused(tmp_path / "other")


def test_addresses_that_belong_to_runs(run: Path, short_folder: Path):
    """Neither the recorded run's own nor that of any other, whether or not it goes on."""
    assert "belongs to the recorded run itself" in refused(run, "--bus", bus_address_for(run))
    record(short_folder, story(1))
    assert f"belongs to the run in {short_folder}" in refused(run, "--bus", f"ipc://{short_folder}/bus")
    assert f"belongs to the run in {short_folder}" in refused(run, "--bus", f"ipc://{short_folder}/../{short_folder.name}/x")


def test_addresses_that_are_taken(run: Path, play: Play, short_folder: Path):
    """By another replay, or by anything else that listens."""
    first = play("--step", "--bus", f"ipc://{short_folder}/bus")
    assert "is taken by another broker" in refused(run, "--bus", first.address)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        if port < 65535:
            assert f"127.0.0.1:{port}" in refused(run, "--bus", f"tcp://127.0.0.1:{port}")
