"""Where tasks come from. A domain is one entry below; `load_domain` makes it from the run file's ``[domain]`` section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from shared.config import read_section
from shared.domains.port import Domain, Exhausted, Split
from shared.domains.questions import QuestionsDomain
from shared.domains.tiny import TinyDomain
from shared.domains.tiny.oracle import key_is_right
from shared.errors import BadInput


class DomainConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run file's ``[domain]`` section."""

    name: Literal["tiny", "questions"] = "tiny"
    """``tiny``: the built-in world of word problems and small functions. ``questions``: a local file."""
    seeds: Annotated[int, msgspec.Meta(ge=0)] = 500
    """How many seed tasks start the dataset. For ``questions``, 0 takes all that the file's training side holds."""
    path: str = ""
    """``questions``: a JSONL file with a question and an answer in every row (GSM8K's own format is read as it is)."""
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0
    """``questions``: read only the first so many rows; 0 reads all."""


DOMAINS: dict[str, Callable[[DomainConfig], Domain]] = {
    "tiny": lambda config: TinyDomain(),
    "questions": lambda config: QuestionsDomain(Path(config.path), config.limit),
}

ORACLES: dict[str, Callable[[str, str, str], bool | None]] = {"tiny": key_is_right}
"""Independent readings of question, kind and key, where a domain has one: to measure wrong keys with, never to train."""


def load_domain(section: Mapping[str, Any] | DomainConfig) -> Domain:
    """The domain that the section names. Raises `BadInput` for a wrong section, a missing file or a damaged row."""
    config = section if isinstance(section, DomainConfig) else read_section(DomainConfig, section, "domain")
    if config.path and config.name != "questions":
        raise BadInput(f"domain.path: the domain {config.name!r} reads no file; leave it out, or set domain.name=questions")
    return DOMAINS[config.name](config)


__all__ = ["DOMAINS", "ORACLES", "Domain", "DomainConfig", "Exhausted", "Split", "load_domain"]
