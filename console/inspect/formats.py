"""What a log can be exported as. Apart from the rest, so that the command line knows the names at once."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """The formats, by the endings of their files."""

    JSONL = "jsonl"
    MCAP = "mcap"
