"""The keys of a bus that other hosts can reach: CURVE certificates as pyzmq writes them, one folder for each process.

``sagepace keys DIR`` makes ``DIR/broker`` (the broker's pair, and the public keys of the clients that it lets in) and
``DIR/NAME`` for each client (its pair, and the broker's public key). Such a folder is what ``--keys`` takes, on its own host.
A private key that others can read is refused, as ssh does.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import zmq
import zmq.auth

from shared.bus.address import Address
from shared.errors import BadInput

KEYS_VARIABLE = "SAGEPACE_KEYS"
"""Names the folder of keys for buses on TCP where no ``--keys`` does."""
ZAP_DOMAIN = "sagepace"
BROKER = "broker"
CLIENTS = "clients"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PUBLIC, _SECRET = ".key", ".key_secret"


class Pair(NamedTuple):
    """A public key and the private key that belongs to it, in Z85 (40 characters each)."""

    public: bytes
    secret: bytes


class ClientKeys(NamedTuple):
    """What a client needs: its own pair and the broker's public key."""

    pair: Pair
    broker: bytes

    def secure(self, socket: zmq.Socket[Any]) -> None:
        """Makes a socket that is not yet connected speak to that broker only, under these keys."""
        socket.curve_publickey, socket.curve_secretkey = self.pair
        socket.curve_serverkey = self.broker


class BrokerKeys(NamedTuple):
    """What a broker needs: its own pair and the folder with the public keys of its clients."""

    pair: Pair
    clients: Path

    def secure(self, socket: zmq.Socket[bytes]) -> None:
        """Makes a socket that is not yet bound take only clients that `shared.bus.doorkeeper` lets in."""
        socket.curve_publickey, socket.curve_secretkey = self.pair
        socket.curve_server = True
        # Without a doorkeeper every key would do; with these two, none does.
        socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN.encode())
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


def client_keys(address: Address, given: Path | None) -> ClientKeys | None:
    """The keys for a client of the bus at `address`; None where none are given and none are needed. Raises `BadInput`."""
    if (folder := _folder(address, given)) is None:
        return None
    if (folder / CLIENTS).is_dir():
        raise BadInput(f"{folder} holds the keys of a broker: give this process the folder of a client, which lies beside it")
    secrets = sorted(folder.glob(f"*{_SECRET}"))
    if len(secrets) != 1:
        raise BadInput(f"{folder} holds {len(secrets)} private keys of clients, not one: give the folder of one client{_MAKE}")
    return ClientKeys(_pair(secrets[0]), _public(folder / f"{BROKER}{_PUBLIC}"))


def broker_keys(address: Address, given: Path | None) -> BrokerKeys | None:
    """The keys for the broker at `address`; None where none are given and none are needed. Raises `BadInput`."""
    if (folder := _folder(address, given)) is None:
        return None
    if not (folder / CLIENTS).is_dir():
        raise BadInput(f"{folder} has no folder {CLIENTS} of public keys in it: give the folder of a broker{_MAKE}")
    return BrokerKeys(_pair(folder / f"{BROKER}{_SECRET}"), folder / CLIENTS)


def allowed(clients: Path) -> dict[bytes, str]:
    """Each client that a broker lets in: its public key and its name. Raises `BadInput` for a file that holds no key."""
    return {_public(file): file.stem for file in sorted(clients.glob(f"*{_PUBLIC}"))}


def make_keys(directory: Path, names: Sequence[str]) -> list[Path]:
    """Makes the broker's folder where there is none, and one for each client; returns what was made, the broker's first.

    Nothing is overwritten. Raises `BadInput` for a name that is no plain one or exists already, before anything is made.
    """
    for name in names:
        if name == BROKER or not _NAME.fullmatch(name):
            raise BadInput(f"--client {name!r}: a client's name has 1 to 100 letters, digits, - and _, and is not {BROKER!r}")
        if (directory / name).exists() or (directory / BROKER / CLIENTS / f"{name}{_PUBLIC}").exists():
            raise BadInput(f"{directory} has keys of {name!r} already, and keys are never overwritten: choose another name")
    if len(set(names)) < len(names):
        raise BadInput("--client: a name is given twice")
    before = os.umask(0o077)
    made: list[Path] = []
    try:
        _make(directory, names, made)
        return made
    except OSError as error:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
            (directory / BROKER / CLIENTS / f"{folder.name}{_PUBLIC}").unlink(missing_ok=True)
        raise BadInput(f"cannot write keys in {directory}: {error.strerror}; choose another directory") from error
    finally:
        os.umask(before)


_MAKE = ", as `sagepace keys` makes it"


def _make(directory: Path, names: Sequence[str], made: list[Path]) -> None:
    """Makes the folders, each one in `made` as soon as it is begun."""
    broker = directory / BROKER
    directory.mkdir(parents=True, exist_ok=True)
    if not broker.exists():
        made.append(broker)
        (broker / CLIENTS).mkdir(parents=True)
        zmq.auth.create_certificates(broker, BROKER)
    for name in names:
        folder = directory / name
        made.append(folder)
        folder.mkdir()
        zmq.auth.create_certificates(folder, name)
        shutil.copy(broker / f"{BROKER}{_PUBLIC}", folder)
        shutil.copy(folder / f"{name}{_PUBLIC}", broker / CLIENTS)


def _folder(address: Address, given: Path | None) -> Path | None:
    """Where the keys are. On ipc only `given` counts: the variable is about what leaves this machine."""
    named = os.environ.get(KEYS_VARIABLE)
    folder = given or (Path(named) if named and address.path is None else None)
    if folder is None and not address.private:
        raise BadInput(
            f"the bus address {address.text} can be reached from other hosts, and needs keys there: make them with "
            f"`sagepace keys`, and give their folder by --keys or {KEYS_VARIABLE}"
        )
    if folder is not None and not folder.is_dir():
        raise BadInput(f"there is no folder of keys at {folder}: give one{_MAKE}")
    return folder


def _pair(file: Path) -> Pair:
    """The pair in a private file. Raises `BadInput` also when others can read it."""
    public, secret = _loaded(file)
    if secret is None:
        raise BadInput(f"{file} holds no private key: give the folder of keys{_MAKE}")
    if file.stat().st_mode & 0o077:
        raise BadInput(f"the private key {file} can be read by others: `chmod 600` it, or make new keys if anybody did")
    return Pair(public, secret)


def _public(file: Path) -> bytes:
    return _loaded(file)[0]


def _loaded(file: Path) -> tuple[bytes, bytes | None]:
    try:
        public, secret = zmq.auth.load_certificate(file)
    except (OSError, ValueError) as error:
        reason = "there is none" if not file.exists() else getattr(error, "strerror", None) or "it holds no key"
        raise BadInput(f"cannot use the key {file}: {reason}; give the folder of keys{_MAKE}") from error
    if any(key is not None and len(key) != 40 for key in (public, secret)):
        raise BadInput(f"cannot use the key {file}: a key has 40 characters; give the folder of keys{_MAKE}")
    return public, secret
