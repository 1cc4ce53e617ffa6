"""Keys: how they are made, and which are refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from shared.bus.address import parse_address
from shared.bus.keys import KEYS_VARIABLE, allowed, broker_keys, client_keys, make_keys
from shared.errors import BadInput

OUTSIDE = parse_address("tcp://10.0.0.7:5550")
LOOPBACK = parse_address("tcp://127.0.0.1:5550")
IPC = parse_address("ipc:///tmp/bus")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Keys of a broker and two clients."""
    make_keys(tmp_path / "keys", ["solver", "planner"])
    return tmp_path / "keys"


def test_each_process_gets_a_folder_that_nobody_else_can_read(keys: Path) -> None:
    """Folders 0700, all files 0600; the broker lets in exactly the clients, and each client knows the broker."""
    for path in [keys, *keys.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    broker = broker_keys(OUTSIDE, keys / "broker")
    solver = client_keys(OUTSIDE, keys / "solver")
    planner = client_keys(OUTSIDE, keys / "planner")
    assert broker and solver and planner
    assert allowed(broker.clients) == {planner.pair.public: "planner", solver.pair.public: "solver"}
    assert solver.broker == planner.broker == broker.pair.public
    assert len({broker.pair.secret, solver.pair.secret, planner.pair.secret}) == 3


def test_nothing_is_overwritten(keys: Path) -> None:
    """A second call keeps the broker and adds a client; a client that exists is refused before anything is made."""
    before = {path: path.read_bytes() for path in keys.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=r"'solver' already.*never overwritten"):
        make_keys(keys, ["critic", "solver"])
    assert not (keys / "critic").exists()
    assert make_keys(keys, ["critic"]) == [keys / "critic"]
    assert {path: path.read_bytes() for path in before} == before
    assert set(allowed(keys / "broker" / "clients").values()) == {"solver", "planner", "critic"}


@pytest.mark.parametrize("name", ["broker", "", "a/b", "..", "a b", "ä"])
def test_a_client_s_name_is_plain(name: str, tmp_path: Path) -> None:
    """What could be a path, or the broker, is refused."""
    with pytest.raises(BadInput, match="letters, digits"):
        make_keys(tmp_path / "keys", [name])
    assert not (tmp_path / "keys").exists()


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    """It would overwrite itself."""
    with pytest.raises(BadInput, match="twice"):
        make_keys(tmp_path / "keys", ["a", "a"])


def test_keys_are_needed_where_other_hosts_come_in_and_nowhere_else() -> None:
    """Without keys: refused outside, with the command that makes them; not used on loopback and ipc."""
    for load in (client_keys, broker_keys):
        with pytest.raises(BadInput, match=r"tcp://10\.0\.0\.7:5550 can be reached from other hosts.*`sagepace keys`"):
            load(OUTSIDE, None)
        assert load(LOOPBACK, None) is None
        assert load(IPC, None) is None


def test_the_variable_names_the_keys_for_tcp_alone(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SAGEPACE_KEYS counts on TCP, `--keys` goes before it, and a run over ipc is not disturbed by it."""
    monkeypatch.setenv(KEYS_VARIABLE, str(keys / "solver"))
    solver, planner = client_keys(OUTSIDE, None), client_keys(LOOPBACK, keys / "planner")
    assert solver and planner
    assert solver.pair != planner.pair
    assert client_keys(IPC, None) is None


def test_a_private_key_that_others_can_read_is_refused(keys: Path) -> None:
    """As ssh does: one line that names the file."""
    for secret in (keys / "broker" / "broker.key_secret", keys / "solver" / "solver.key_secret"):
        secret.chmod(0o640)
        load = broker_keys if secret.parent.name == "broker" else client_keys
        with pytest.raises(BadInput, match=rf"{secret.name} can be read by others"):
            load(OUTSIDE, secret.parent)


def test_wrong_folders_and_files_are_named(keys: Path, tmp_path: Path) -> None:
    """The other side's folder, the folder above, none at all, and files that hold no key: each says what is missing."""
    with pytest.raises(BadInput, match="keys of a broker: give this process the folder of a client"):
        client_keys(OUTSIDE, keys / "broker")
    with pytest.raises(BadInput, match="give the folder of a broker"):
        broker_keys(OUTSIDE, keys / "solver")
    with pytest.raises(BadInput, match="holds 0 private keys"):
        client_keys(OUTSIDE, keys)
    with pytest.raises(BadInput, match="no folder of keys"):
        client_keys(OUTSIDE, tmp_path / "missing")
    (keys / "solver" / "broker.key").write_text("nothing of use")
    with pytest.raises(BadInput, match=r"broker\.key: it holds no key"):
        client_keys(OUTSIDE, keys / "solver")
    (keys / "solver" / "broker.key").write_text('public-key = "short"')
    with pytest.raises(BadInput, match="40 characters"):
        client_keys(OUTSIDE, keys / "solver")
    (keys / "planner" / "broker.key").unlink()
    with pytest.raises(BadInput, match=r"broker\.key: there is none"):
        client_keys(OUTSIDE, keys / "planner")


def test_keys_that_cannot_be_finished_leave_no_half(keys: Path) -> None:
    """The broker's public key is gone: the client gets nothing, rather than a private key that nobody knows."""
    (keys / "broker" / "broker.key").unlink()
    before = sorted(keys.rglob("*"))
    with pytest.raises(BadInput, match="cannot write keys"):
        make_keys(keys, ["critic"])
    assert sorted(keys.rglob("*")) == before
