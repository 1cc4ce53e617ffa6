"""From the plain tables of a run file to frozen, checked records; every mistake becomes one line of `BadInput`.

A record states its ranges in its types (``Annotated[int, msgspec.Meta(ge=1)]``). This module says which key is wrong, where it
stands, what was expected, what was given and which right name is nearest.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import msgspec.inspect

from shared.errors import BadInput

Record = TypeVar("Record", bound=msgspec.Struct)

_AT = re.compile(r" - at `\$\.?(?P<path>.*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>.+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.+)`")
_EXPECTED = re.compile(r"Expected (?P<expected>.+?)(?:, got (?P<got>.+))?$")
_PLAIN_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def read_section(
    kind: type[Record], mapping: Mapping[str, Any], where: str, origins: Mapping[str, str] | None = None
) -> Record:
    """The table `mapping` as a record of type `kind`, unknown keys refused whatever the record says about them.

    `where` is the section's name, such as ``gate``; `origins` tells for each key where it stands (``runs/tiny.toml:12`` or
    ``--set``). Raises `BadInput` with one line.
    """
    origins = origins or {}
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key, value in mapping.items():
        if key not in names:
            raise BadInput(_line(origins, where, key, f"no such key; {nearest(key, names)}"))
        if not _finite(value):
            raise BadInput(_line(origins, where, key, f"expected a finite number, got {value}"))
    try:
        return msgspec.convert(dict(mapping), kind)
    except msgspec.ValidationError as error:
        path, text = _explained(str(error), mapping, kind)
        raise BadInput(_line(origins, where, path, text)) from error


def nearest(name: str, options: Iterable[str]) -> str:
    """Words that help who mistyped `name`: the most similar option, or all of them when none is similar."""
    options = sorted(options)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"there are: {', '.join(options)}" if options else "there is none to choose from"


def _line(origins: Mapping[str, str], where: str, path: str, text: str) -> str:
    key = re.split(r"[.\[]", path, maxsplit=1)[0]
    origin = origins.get(key) or origins.get("")
    full = f"{where}.{path}" if path else where
    return f"{origin}: {full}: {text}" if origin else f"{full}: {text}"


def _finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def _explained(message: str, mapping: Mapping[str, Any], kind: type[msgspec.Struct]) -> tuple[str, str]:
    """The key path and a sentence for a msgspec message such as "Expected `int` >= 1 - at `$.steps`"."""
    at = _AT.search(message)
    path = at.group("path") if at else ""
    text = message[: at.start()] if at else message
    if missing := _MISSING.match(text):
        return _joined(path, missing["field"]), "missing; add it"
    if unknown := _UNKNOWN.match(text):
        return _joined(path, unknown["field"]), "no such key"
    if expected := _EXPECTED.match(text):
        return path, f"expected {_in_words(expected['expected'])}, got {_shown(_value_at(mapping, path))}"
    if text.startswith("Invalid enum value"):
        given = _value_at(mapping, path)
        choices = _choices(kind, path)
        return path, f"expected {' or '.join(map(repr, choices)) or 'another value'}, got {_shown(given)}"
    return path, text


def _choices(kind: type[msgspec.Struct], path: str) -> list[Any]:
    """The values that an enumeration or a literal at the top of the record allows; empty when `path` is no such field."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        if field.encode_name == re.split(r"[.\[]", path, maxsplit=1)[0]:
            options = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
            return [value for option in options for value in _values(option)]
    return []


def _values(option: msgspec.inspect.Type) -> list[Any]:
    if isinstance(option, msgspec.inspect.LiteralType):
        return list(option.values)
    return [member.value for member in option.cls] if isinstance(option, msgspec.inspect.EnumType) else []


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _in_words(expected: str) -> str:
    """msgspec's "`int | null` >= 1" in plain words; only what stands between the backquotes is a type."""

    def types(found: re.Match[str]) -> str:
        return " or ".join(_PLAIN_WORDS.get(name, name) for name in found[1].split(" | "))

    return re.sub(r"`([^`]+)`", types, expected)


def _value_at(mapping: Mapping[str, Any], path: str) -> Any:
    """The value at a msgspec path: names parted by dots, ``[3]`` for a place in a list, ``[...]`` for some place in it."""
    value: Any = mapping
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]", path):
        if name:
            value = value[name]
        elif index == "...":
            return value
        else:
            value = value[int(index)]
    return value


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
