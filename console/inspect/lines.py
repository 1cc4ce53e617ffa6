"""What an export says of each fact, and what an import checks before it believes it. Pure.

An export is whole when it begins with fact 1 and leaves none out; its last entry then closes the chain of checksums. In a part
of a log each fact whose predecessor was left out brings that one's checksum along, so that it can be checked all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from shared.codec import BY_NAME
from shared.errors import BadInput
from shared.eventlog.entry import GENESIS, Entry, Refused, Row, chained, entry_of
from shared.eventlog.reader import Origin
from shared.eventlog.selection import Selection

EXPORT_VERSION = 1


class About(msgspec.Struct, frozen=True):
    """The log that an export was made from. It stands at the export's end: without it the export was cut."""

    facts: int
    """How many facts were exported."""
    of: int
    """How many the log has."""
    name: str
    selection: str = ""
    """The options that left facts out; empty for a whole export."""
    handled_from: int = 0
    origin: Origin | None = None
    cursors: dict[str, int] = {}
    version: int = EXPORT_VERSION


class Exported(NamedTuple):
    """A fact on its way out, and the checksum of the fact before it in the log."""

    row: Row
    previous: bytes


class Imported(NamedTuple):
    """A fact on its way in: what the export says of it, and where it stands there."""

    where: str
    row: Row
    previous: bytes | None = None


def chosen(rows: Iterable[Row], selection: Selection, first: int, last: int) -> Iterator[Exported]:
    """The selected ones of `rows`, which are those of a log from the one before `first` to `last`, each held to its checksum.

    Raises `BadInput` where that does not fit, or a row is missing.
    """
    before = max(1, first - 1) - 1
    previous = GENESIS if before == 0 else None
    for row in rows:
        if row.seq != before + 1:
            break
        if previous is not None:
            if chained(previous, row.seq, row.time_ns, row.type, row.payload) != row.checksum:
                raise BadInput(f"fact {row.seq} was changed since it was recorded; `sagepace log verify` lists everything")
            if row.seq >= first and selection.takes(row):
                yield Exported(row, previous)
        previous, before = row.checksum, row.seq
    if before < last:
        raise BadInput(f"fact {before + 1} is missing in the log; `sagepace log verify` lists everything")


class Checker:
    """Takes facts in the order of an export and gives them as entries of a log. Raises `BadInput` for what was changed."""

    def __init__(self) -> None:
        self.count = 0
        self.whole = True
        """So far nothing was left out."""
        self._last: Row | None = None

    def take(self, imported: Imported) -> tuple[int, Entry]:
        """(journal time, entry) of the next fact."""
        row, where = imported.row, imported.where
        last = self._last
        follows = row.seq == (last.seq + 1 if last else 1)
        if last and row.seq <= last.seq:
            raise BadInput(f"{where}: fact {row.seq} stands after fact {last.seq}: lines were exchanged or repeated")
        before = (last.checksum if last else GENESIS) if follows else imported.previous
        if before is None:
            gap = f"fact {last.seq}" if last else "the beginning"
            raise BadInput(f"{where}: fact {row.seq} follows {gap}: facts in between were taken out of the export")
        if chained(before, row.seq, row.time_ns, row.type, row.payload) != row.checksum:
            raise BadInput(f"{where}: fact {row.seq} was changed since it was exported: its checksum does not fit")
        self.whole = self.whole and follows
        self.count += 1
        self._last = row
        return row.time_ns, self._entry(row, where)

    def finish(self, about: About | None, where: str) -> About:
        """What the export says of itself at its end."""
        if about is None:
            raise BadInput(f"{where}: the export was cut: its end, which says how many facts it has, is missing")
        if about.version > EXPORT_VERSION:
            raise BadInput(f"{where}: was exported by a newer version (export version {about.version}); use that one")
        if about.facts != self.count:
            raise BadInput(f"{where}: says that it has {about.facts} facts, and has {self.count}: lines are missing")
        if not about.selection and not self.whole:
            raise BadInput(f"{where}: says that it is whole, but facts are missing in it")
        return about

    def _entry(self, row: Row, where: str) -> Entry:
        """The entry, its columns held against the fact itself."""
        said = Entry(row.id, row.type, row.role, row.cause, row.lineage, row.payload)
        if row.type not in BY_NAME:
            return said
        try:
            entry = entry_of(row.payload)
        except Refused as error:
            raise BadInput(f"{where}: fact {row.seq}: {error}") from error
        if entry != said:
            raise BadInput(
                f"{where}: fact {row.seq} was changed: its role, id, cause or lineage is not that of the fact itself"
            )
        return said


def plain(payload: bytes) -> dict[str, Any] | None:
    """A payload as a map, whatever its type; None when it is none."""
    try:
        fact = msgspec.msgpack.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return None
    return fact if isinstance(fact, dict) else None
