"""Prompt templates: text files beside the role that speaks them.

A template is Markdown with ``{name}`` places. A line ``--- system ---`` or ``--- user ---`` starts a turn; a file without such
a line is one user turn. Templates lie in ``services/<role>/prompts/<set>/<name>.md``; the run file chooses the set.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from shared.messages import Task, Turn, digest

_TURN_LINE = re.compile(r"^--- (system|user|assistant) ---$", re.MULTILINE)
_PLACE = re.compile(r"\{([a-z_]+)\}")


class Prompt(NamedTuple):
    """Rendered turns and the hash of the template they came from."""

    turns: tuple[Turn, ...]
    template: str


class MissingTemplate(Exception):
    """No such prompt file; the message names it and the sets that exist."""


class Template:
    """One prompt file, read once."""

    def __init__(self, text: str) -> None:
        pieces = _TURN_LINE.split(text.strip("\n"))
        if pieces[0].strip():
            pieces = ["", "user", text.strip("\n")]
        self._turns = [(role, body.strip("\n")) for role, body in zip(pieces[1::2], pieces[2::2], strict=True)]
        self.hash = digest("template", text)

    @property
    def places(self) -> set[str]:
        """Names that `render` must be given."""
        return {name for _, body in self._turns for name in _PLACE.findall(body)}

    def render(self, task: Task | None = None, /, **texts: str) -> Prompt:
        """Fills the places in one pass, so that braces inside a value stay as they are. `task` offers ``{question}``."""
        values = {"question": task.question} | texts if task else texts
        turns = tuple(Turn(role, _PLACE.sub(lambda m: values[m.group(1)], body)) for role, body in self._turns)
        return Prompt(turns, self.hash)


def load_templates(role_folder: Path, prompt_set: str) -> dict[str, Template]:
    """All templates of one role in one set, by file name without the ending."""
    folder = role_folder / "prompts" / prompt_set
    files = sorted(folder.glob("*.md"))
    if not files:
        sets = sorted(p.name for p in (role_folder / "prompts").glob("*") if p.is_dir())
        raise MissingTemplate(f"no prompt set '{prompt_set}' in {role_folder / 'prompts'}; there are: {', '.join(sets)}")
    return {file.stem: Template(file.read_text(encoding="utf-8")) for file in files}
