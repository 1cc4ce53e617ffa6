"""`sagepace log export` and `import`: a log as JSON lines or MCAP, and back, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from console.inspect import jsonl_format, mcap_format
from console.inspect.formats import Format
from console.inspect.lines import About, Checker, Exported, Imported, chosen
from console.inspect.selected import Options, selected, stretch
from console.inspect.summary import summary
from console.recording import LOG_NAME, open_recording
from shared.errors import BadInput
from shared.eventlog.entry import Entry
from shared.eventlog.fresh import directory_for, sync_directory, write_log
from shared.eventlog.reader import PARTIAL, Origin
from shared.eventlog.schema import HANDLED_FROM, ORIGIN
from shared.eventlog.selection import Selection

Write = Callable[[BinaryIO, Iterable[Exported], Iterable[About]], int]
Read = Callable[[Path], Iterator[Imported | About]]
_FORMATS: dict[Format, tuple[Write, Read]] = {
    Format.JSONL: (jsonl_format.write, jsonl_format.read),
    Format.MCAP: (mcap_format.write, mcap_format.read),
}


def export_log(directory: Path, out: Path, options: Options, *, chosen_format: Format | None, as_json: bool) -> None:
    """Writes the wanted facts to `out` under a temporary name first. Raises `BadInput`; then nothing is left behind."""
    write, _ = _FORMATS[chosen_format or _format_of(out)]
    if out.exists():
        raise BadInput(f"{out} exists; choose another name, or remove it first")
    if not out.parent.is_dir():
        raise BadInput(f"{out}: there is no directory {out.parent}")
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    with open_recording(directory) as recording:
        recording.require_readable()
        reader = recording.reader
        wanted, span = selected(reader, options), stretch(reader, options)
        head = reader.head().seq
        first, last = (span.first, span.last) if span else (1, head)
        info = summary(reader)
        count = 0

        def facts() -> Iterator[Exported]:
            nonlocal count
            for fact in chosen(reader.rows(max(0, first - 2), until=last), Selection(*wanted), first, last):
                count += 1
                yield fact

        def about() -> Iterator[About]:
            yield About(count, head, info.name, options.words(), info.handled_from, info.origin, reader.cursors())

        try:
            with part.open("xb") as file:
                if not write(file, facts(), about()):
                    raise BadInput(f"{directory} has no fact that was asked for: there is nothing to export")
                file.flush()
                os.fsync(file.fileno())
            part.rename(out)
            sync_directory(out.parent)
        except OSError as error:
            raise BadInput(f"cannot write {out}: {error.strerror}; see to the disk, or choose another place") from error
        finally:
            part.unlink(missing_ok=True)
    told = {"file": str(out), "facts": count, "of": head, "selection": options.words()}
    print(msgspec.json.encode(told).decode() if as_json else f"exported {count} of {head} facts to {out}")


def import_log(file: Path, directory: Path, *, chosen_format: Format | None, as_json: bool) -> None:
    """Makes the log that an export was made from. Raises `BadInput` for a changed line; then nothing is left behind."""
    _, read = _FORMATS[chosen_format or _format_of(file)]
    if not file.is_file():
        raise BadInput(f"{file}: {'is a directory' if file.is_dir() else 'there is no such file'}; give an export")
    with directory_for(directory):
        about = _imported(file, directory / LOG_NAME, read)
    told = {"directory": str(directory), "facts": about.facts, "of": about.of, "selection": about.selection}
    part = f" of {about.of} ({about.selection}): a part, numbered anew, to look at and not to re-run" if about.selection else ""
    print(msgspec.json.encode(told).decode() if as_json else f"imported into {directory}: {about.facts} facts{part}")


def _imported(file: Path, log: Path, read: Read) -> About:
    """Checks first, so that what stands at the end is known when the log is written; exports are read twice for that."""
    about = _checked(file, read)
    meta = {}
    if about.handled_from and not about.selection:
        meta[HANDLED_FROM] = str(about.handled_from)
    origin = about.origin
    if about.selection:
        origin = Origin(PARTIAL, about.name, f"{about.facts} facts selected by {about.selection}", about.of)
    if origin:
        meta[ORIGIN] = msgspec.json.encode(origin).decode()
    write_log(log, _entries(file, read), meta=meta, cursors={} if about.selection else about.cursors)
    return about


def _checked(file: Path, read: Read) -> About:
    checker, about = Checker(), None
    try:
        for each in read(file):
            if isinstance(each, About):
                about = each
            elif about is not None:
                raise BadInput(f"{each.where}: stands after the export's end")
            else:
                checker.take(each)
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error
    if not checker.count:
        raise BadInput(f"{file}: holds no fact; give an export")
    return checker.finish(about, str(file))


def _entries(file: Path, read: Read) -> Iterator[tuple[int, Entry]]:
    checker = Checker()
    return (checker.take(each) for each in read(file) if isinstance(each, Imported))


def _format_of(path: Path) -> Format:
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in list(Format):
        raise BadInput(f"{path}: end its name in .jsonl or .mcap, or state one by --format")
    return Format(suffix)
