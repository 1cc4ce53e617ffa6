"""`sagepace keys`: what it makes and what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shared.bus.address import parse_address
from shared.bus.keys import allowed, broker_keys, client_keys

OUTSIDE = parse_address("tcp://10.0.0.7:5550")


def keys(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [sys.executable, "-m", "console", "keys", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_it_makes_keys_and_says_what_belongs_where(tmp_path: Path) -> None:
    """The folders that it names work as they are, for the broker and each client."""
    done = keys(str(tmp_path / "k"), "--client", "solver", "--client", "planner")
    assert (done.returncode, done.stderr) == (0, "")
    for folder in ("broker", "solver", "planner"):
        assert f"--keys {tmp_path / 'k' / folder}" in done.stdout
    broker, solver = broker_keys(OUTSIDE, tmp_path / "k" / "broker"), client_keys(OUTSIDE, tmp_path / "k" / "solver")
    assert broker and solver
    assert allowed(broker.clients)[solver.pair.public] == "solver"


def test_a_second_call_keeps_the_broker_and_never_overwrites(tmp_path: Path) -> None:
    """The default client is there already: exit code 2 and one line; another one is added to the same broker."""
    assert keys(str(tmp_path / "k")).returncode == 0
    again = keys(str(tmp_path / "k"))
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)
    assert "never overwritten" in again.stderr
    assert "broker: kept" in keys(str(tmp_path / "k"), "--client", "other").stdout
    assert sorted(allowed(tmp_path / "k" / "broker" / "clients").values()) == ["client", "other"]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "file").write_text("")
    done = keys(str(tmp_path / "file"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "cannot write keys" in done.stderr
