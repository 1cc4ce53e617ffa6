"""`sagepace keys`: makes the keys of a bus that other hosts can reach, and says what belongs where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shared.bus.keys import BROKER, CLIENTS, KEYS_VARIABLE, make_keys

DEFAULT_CLIENT = "client"


def print_keys(directory: Path, clients: Sequence[str]) -> None:
    """Makes keys for these clients, and for the broker where there are none yet. Raises `BadInput`."""
    made = make_keys(directory, clients or [DEFAULT_CLIENT])
    folder = directory / BROKER
    if folder in made:
        print(f"{folder}: for the broker's host (its private key, and in {CLIENTS}/ the public keys that it lets in):")
        print(f"  python -m services.bus --bus tcp://0.0.0.0:PORT --log FILE --keys {folder}")
    else:
        print(f"{folder}: kept; the new public keys are in {folder / CLIENTS}, copy them to the broker's host")
    for client in made:
        if client != folder:
            print(f"{client}: for one client's host (its private key, and the broker's public key):")
            print(f"  python -m services.ROLE --bus tcp://BROKER-HOST:PORT --keys {client}")
    print(f"{KEYS_VARIABLE}=DIR does the same as --keys DIR. Copy a folder with `scp -rp`: nobody else may read private keys.")
