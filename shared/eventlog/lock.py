"""One holder per file name: an advisory lock that ends with its process, however that dies."""

from __future__ import annotations

import fcntl
import os
import time
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
        for patience in (*[0.02] * 10, 0.0):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if not patience:
                    os.close(self._file)
                    raise BadInput(taken) from error
                time.sleep(patience)  # whoever only looks (`is_held`) has it for an instant

    def release(self) -> None:
        """Lets the next one have it."""
        os.close(self._file)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock on `path` just now; looking at it makes no file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
