"""Is the write-ahead log beside a log file sound? Facts that were acknowledged wait there until the writer folds them in.

SQLite silently ignores such a file from its first damaged frame on: right after a loss of power, where what follows was never
acknowledged, but with a byte that changed later it hides facts. So frames that belong to the current generation and do not
check out are told (SQLite's file format, section 4).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from sys import byteorder
from typing import NamedTuple

from shared.eventlog.verify import Problem

_HEADER = 32
_FRAME_HEADER = 24
_MAGIC = {0x377F0682: "little", 0x377F0683: "big"}


class _Sum(NamedTuple):
    first: int = 0
    second: int = 0

    def over(self, data: bytes, order: str) -> _Sum:
        """SQLite's checksum, continued over `data`, whose length is a multiple of 8."""
        words = array("I", data)
        if order != byteorder:
            words.byteswap()
        first, second = self
        for place in range(0, len(words), 2):
            first = (first + words[place] + second) & 0xFFFFFFFF
            second = (second + words[place + 1] + first) & 0xFFFFFFFF
        return _Sum(first, second)


def waiting_problems(log: Path) -> Iterator[Problem]:
    """What is wrong with the write-ahead log of a log that nobody writes just now; nothing when there is none."""
    path = log.with_name(log.name + "-wal")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        yield Problem(0, f"cannot read the write-ahead log {path}: {error.strerror}")
        return
    if not data:
        return
    sound = _sound_frames(data)
    if sound is None:
        yield Problem(0, f"the header of the write-ahead log {path.name} is damaged: the facts that wait in it are lost")
        return
    checked, current = sound
    if checked < current:
        lost = f"what waits in it from frame {checked + 1} of {current} on is lost"
        yield Problem(0, f"the write-ahead log {path.name} is damaged or was cut: {lost}")


def _sound_frames(data: bytes) -> tuple[int, int] | None:
    """How many frames check out, and up to which frame there are any of the same generation; None for a damaged header."""
    if len(data) < _HEADER:
        return None
    magic, _, size = struct.unpack(">III", data[:12])
    order = _MAGIC.get(magic)
    if order is None or size not in {1 << power for power in range(9, 17)}:
        return None
    total = _Sum().over(data[:24], order)
    if total != struct.unpack(">II", data[24:32]):
        return None
    generation = data[16:24]
    sound, current = 0, 0
    for number, start in enumerate(range(_HEADER, len(data), _FRAME_HEADER + size), start=1):
        frame = data[start : start + _FRAME_HEADER + size]
        if frame[8:16] != generation:
            continue
        current = number
        if len(frame) == _FRAME_HEADER + size and sound == number - 1:
            following = total.over(frame[:8], order).over(frame[_FRAME_HEADER:], order)
            if following == struct.unpack(">II", frame[16:24]):
                sound, total = number, following
    return sound, current
