"""One holder per file name: an advisory lock that ends with its process, however that dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from shared.errors import BadInput


class FileLock:
    """Holds `path` from construction to `release`.

    The file stays behind on purpose: removing it would let two processes hold locks on two files of the same name.
    """

    def __init__(self, path: Path, taken: str) -> None:
        """Raises `BadInput` with the text `taken` when another process holds the lock, or when the file cannot be made."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror}; choose a directory that you may write to") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise BadInput(taken) from error

    def release(self) -> None:
        """Lets the next one have it."""
        os.close(self._file)
