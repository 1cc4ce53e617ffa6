"""Rows straight from the pages of a damaged log file, past SQLite.

A log file that lost its end may have lost a page that leads to others; SQLite then finds none of them, although their rows are
all there. Here every page is looked at that can hold rows of `facts` (SQLite's file format, sections 1.6 and 2.1), so what was
not overwritten is found. Whether a row is sound, its checksum says.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared.eventlog.entry import Row, row_of
from shared.eventlog.schema import ROW, STORED

_LEAF = 0x0D
_PAGE_SIZES = {1: 65536} | {size: size for size in (512, 1024, 2048, 4096, 8192, 16384, 32768)}
_ORDER = [STORED.index(column.strip()) for column in ROW.split(",")]


class Carver:
    """The leaf pages of one file. It is read as it was when this was made."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` and, for an empty file, `ValueError`."""
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._size = _PAGE_SIZES.get(int.from_bytes(self._data[16:18]), 4096)
        self._usable = self._size - self._data[20] if len(self._data) > 20 else self._size

    def find(self, first: int, last: int) -> dict[int, Row]:
        """The rows numbered `first` to `last` that are there, by number."""
        found: dict[int, Row] = {}
        for page in range(-(-len(self._data) // self._size)):
            for seq, cell in self._cells(page):
                if first <= seq <= last and seq not in found and (row := self._row(seq, cell)) is not None:
                    found[seq] = row
        return found

    def close(self) -> None:
        """Lets go of the file."""
        self._data.close()

    def _cells(self, page: int) -> Iterator[tuple[int, int]]:
        """(row number, where its cell begins) of a page that may hold table rows."""
        start = page * self._size
        header = start + (100 if page == 0 else 0)
        if self._data[header] != _LEAF:
            return
        count = int.from_bytes(self._data[header + 3 : header + 5])
        pointers = self._data[header + 8 : min(header + 8 + 2 * count, start + self._size)]
        for place in range(0, len(pointers) - 1, 2):
            cell = start + int.from_bytes(pointers[place : place + 2])
            try:
                _, after_size = self._varint(cell)
                seq, _ = self._varint(after_size)
            except IndexError:
                continue
            yield seq, cell

    def _row(self, seq: int, cell: int) -> Row | None:
        try:
            size, place = self._varint(cell)
            _, place = self._varint(place)
            values = self._values(self._content(size, place))
            return row_of(tuple(([seq, *values])[column] for column in _ORDER))
        except (IndexError, ValueError):
            return None

    def _content(self, size: int, place: int) -> bytes:
        """A cell's content, its overflow pages followed. Raises `IndexError` when they lead astray."""
        usable = self._usable
        local = size
        if size > usable - 35:
            least = (usable - 12) * 32 // 255 - 23
            fitting = least + (size - least) % (usable - 4)
            local = fitting if fitting <= usable - 35 else least
        parts, left = [self._data[place : place + local]], size - local
        following = int.from_bytes(self._data[place + local : place + local + 4]) if left else 0
        while left > 0:
            start = (following - 1) * self._size
            part = self._data[start + 4 : start + min(usable, left + 4)] if following else b""
            if not part:
                raise IndexError("an overflow page is missing")
            parts.append(part)
            left -= len(part)
            following = int.from_bytes(self._data[start : start + 4])
        return b"".join(parts)

    def _values(self, content: bytes) -> list[Any]:
        """The columns after the row number. Raises `ValueError` when these are no columns of `facts`."""
        end, place = _varint(content, 0)
        kinds = []
        while place < end:
            kind, place = _varint(content, place)
            kinds.append(kind)
        if len(kinds) != len(STORED) or kinds[0] != 0:
            raise ValueError("a row of another table")
        values: list[Any] = []
        for kind in kinds[1:]:
            value, place = _value(content, kind, place)
            values.append(value)
        return values

    def _varint(self, place: int) -> tuple[int, int]:
        return _varint(self._data, place)


def _varint(data: bytes | mmap.mmap, place: int) -> tuple[int, int]:
    """SQLite's number of up to nine bytes, and where it ends."""
    value = 0
    for index in range(8):
        byte = data[place + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + index + 1
    return value << 8 | data[place + 8], place + 9


def _value(content: bytes, kind: int, place: int) -> tuple[Any, int]:
    """One column of the given kind, and where it ends."""
    if kind >= 12:
        end = place + (kind - 12) // 2
        if end > len(content):
            raise ValueError("a row that was cut")
        return (content[place:end].decode() if kind % 2 else content[place:end]), end
    if kind in (8, 9):
        return kind - 8, place
    sizes = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
    if kind not in sizes:
        raise ValueError("a kind of column that facts do not have")
    end = place + sizes[kind]
    return int.from_bytes(content[place:end], signed=True), end
