"""Reading replies of the form ``<tag> ... </tag>``. Upper and lower case are the same; tags have no attributes."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import NamedTuple


class TagCount(NamedTuple):
    """How often a tag occurs in a text. `pairs` counts openings that close before the next opening."""

    opened: int
    closed: int
    pairs: int

    @property
    def balanced(self) -> bool:
        """Every tag belongs to a pair, and there is one at least."""
        return self.pairs == self.opened == self.closed > 0


def _bodies(text: str, tag: str) -> list[str]:
    pattern = rf"<{tag}>((?:(?!<{tag}>).)*?)</{tag}>"
    return re.findall(pattern, text, re.DOTALL | re.IGNORECASE)


def count_tag(text: str, tag: str) -> TagCount:
    """Openings, closings and pairs of `tag` in `text`."""
    lowered = text.lower()
    return TagCount(lowered.count(f"<{tag}>"), lowered.count(f"</{tag}>"), len(_bodies(text, tag)))


def last_body(text: str, tag: str) -> str | None:
    """What stands in the last complete pair, without common indentation and outer blanks; None when that is nothing.

    The last one counts because a writer who corrects itself does so later in the text.
    """
    bodies = _bodies(text, tag)
    return (dedent(bodies[-1]).strip() or None) if bodies else None
