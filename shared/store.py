"""The policy store: one folder a policy, named by a hash of what is in it, never changed once it is there.

A policy is written under a hidden name in the same directory, brought to disk, and renamed; so a visible folder is a complete
one, whenever the writer was killed. Writers of several processes take turns by a file lock, which is also how a leftover is
known to be one: whoever holds the lock is the only writer alive.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from shared.errors import BadInput

_NAME = re.compile(r"p[0-9a-f]{16}")
_UNFINISHED = ".unfinished-"
_BLOCK = 1 << 20


class PolicyStore:
    """Policies by content under one directory. Safe for several processes."""

    def __init__(self, root: Path) -> None:
        """The directory is made when it does not exist. Raises `BadInput` when it cannot be."""
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"policy store {root}: {error.strerror}; give a directory that can be written to") from error

    def write(self, writer: Callable[[Path], object]) -> str:
        """Lets `writer` fill an empty folder and gives the policy's name.

        The same content twice gives the same name, and nothing is rewritten. What `writer` raises passes through, and then
        nothing is left behind. Raises `ValueError` when it wrote no file.
        """
        with self._alone():
            self._remove_leftovers()
            folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.root))
            try:
                writer(folder)
                name = content_name(folder)
                if not (self.root / name).exists():
                    _sync_tree(folder)
                    folder.chmod(0o755)
                    folder.rename(self.root / name)
                    _sync(self.root)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return name

    def add_folder(self, source: Path) -> str:
        """Copies a model folder, hidden files excepted, and gives the policy's name. Raises `BadInput` when there is none."""
        if not source.is_dir() or not _files(source):
            raise BadInput(f"model folder {source}: {'empty' if source.is_dir() else 'no such folder'}; name one with a model")
        return self.write(lambda folder: _copy(source, folder))

    def path(self, name: str) -> Path:
        """The folder of a policy. Raises `BadInput` when there is no such policy."""
        if not _NAME.fullmatch(name) or not (self.root / name).is_dir():
            there = ", ".join(sorted(self.names())) or "none"
            raise BadInput(f"policy '{name}' is not in the store {self.root}; there are: {there}")
        return self.root / name

    def names(self) -> set[str]:
        """All policies."""
        return {entry.name for entry in self.root.iterdir() if _NAME.fullmatch(entry.name)}

    def prune(self, keep: AbstractSet[str], among: AbstractSet[str] | None = None) -> set[str]:
        """Removes every policy but those to keep (only `among` these, where given), and gives the names removed.

        A reader never sees half a policy.
        """
        with self._alone():
            gone = (self.names() if among is None else self.names() & among) - keep
            for name in gone:
                (self.root / name).rename(self.root / f"{_UNFINISHED}{name}")
            self._remove_leftovers()
        return gone

    def _remove_leftovers(self) -> None:
        for leftover in self.root.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the store's lock; the kernel lets go of it when the process dies."""
        with (self.root / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def is_policy_name(text: str) -> bool:
    """Whether a policy may be called so; nothing else is ever a path in a store."""
    return _NAME.fullmatch(text) is not None


def content_name(folder: Path) -> str:
    """``p`` and 16 hex digits of the SHA-256 over names and bytes of all files, each with its length, sorted by name.

    Raises `ValueError` when the folder holds no file.
    """
    files = _files(folder)
    if not files:
        raise ValueError(f"no file was written to {folder}")
    content = hashlib.sha256()
    for name, file in files:
        content.update(f"{len(name.encode())}:{name}:{file.stat().st_size}:".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                content.update(block)
    return f"p{content.hexdigest()[:16]}"


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Files below `folder` by relative name, sorted; nothing hidden."""
    found = ((file.relative_to(folder), file) for file in folder.rglob("*") if file.is_file())
    return sorted((name.as_posix(), file) for name, file in found if not any(part.startswith(".") for part in name.parts))


def _copy(source: Path, folder: Path) -> None:
    for name, file in _files(source):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)


def _sync_tree(folder: Path) -> None:
    for entry in [*folder.rglob("*"), folder]:
        _sync(entry)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
