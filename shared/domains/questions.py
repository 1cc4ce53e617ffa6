"""Questions with numeric answers from a local JSONL file, such as GSM8K's training set.

Sides of the hold-out are disjoint by construction: a hash of the question's text decides, whoever asks, in whatever row order.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

from shared.domains.port import Exhausted, Split
from shared.errors import BadInput
from shared.messages import Key, Task, digest

KIND = "math"
_FINAL = re.compile(r"####\s*(\S[^\n]*)")
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?(?:/\d+)?$")


class QuestionsDomain:
    """A finite domain: 6 in 10 questions train, 2 feed the gate, 2 the final test."""

    def __init__(self, path: Path, limit: int = 0) -> None:
        """Reads the file. Raises `BadInput` when it is missing, empty or has a damaged row (with its line number)."""
        self._path = path
        self._by_split: dict[Split, list[tuple[Task, Key]]] = {split: [] for split in Split}
        for task, key in _read(path, limit):
            self._by_split[self.split_of(task.question)].append((task, key))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Only ``math``."""
        return (KIND,)

    def seeds(self, count: int, seed: int) -> list[tuple[Task, Key]]:
        """`count` training tasks in a seeded order; 0 means all."""
        rows = list(self._by_split[Split.TRAIN])
        random.Random(seed).shuffle(rows)
        if count > len(rows) or not rows:
            raise BadInput(
                f"domain.seeds asks for {count or 'at least 1'} seed tasks, but {self._path} holds {len(rows)} on its training "
                f"side: give a longer file or a smaller number (0 takes all)"
            )
        return rows[:count] if count else rows

    def instance(self, split: Split, seed: int, index: int) -> tuple[Task, Key]:
        """The `index`-th task of a seeded permutation of this side."""
        rows = self._by_split[split]
        if index >= len(rows):
            raise Exhausted(f"{self._path} holds only {len(rows)} questions on the {split} side")
        order = list(range(len(rows)))
        random.Random(seed).shuffle(order)
        return rows[order[index]]

    def split_of(self, question: str) -> Split:
        """By a hash of the question with case and spacing levelled."""
        bucket = int(digest("split", " ".join(question.lower().split())), 16) % 10
        return Split.GATE if bucket < 2 else Split.TEST if bucket < 4 else Split.TRAIN


def _read(path: Path, limit: int) -> list[tuple[Task, Key]]:
    if path == Path():
        raise BadInput("domain.path is empty: name a JSONL file of questions, as in --set domain.path=gsm8k_train.jsonl")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInput(f"cannot read the questions file '{path}': {why}; set domain.path to a JSONL file") from error
    rows = [_row(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    unique = list({task.id: (task, key) for task, key in rows}.values())
    if not unique:
        raise BadInput(f"the questions file '{path}' holds no rows")
    return unique[:limit] if limit else unique


def _row(line: str, where: str) -> tuple[Task, Key]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not JSON ({error.msg}); every row is one JSON object") from error
    question = row.get("question", row.get("problem")) if isinstance(row, dict) else None
    answer = row.get("answer") if isinstance(row, dict) else None
    if not isinstance(question, str) or not question.strip() or not isinstance(answer, str | int | float):
        raise BadInput(f"{where}: needs a text field 'question' and a field 'answer'")
    final = _FINAL.search(str(answer))
    number = (final.group(1) if final else str(answer)).replace(",", "").replace("$", "").strip()
    if not _NUMBER.match(number):
        raise BadInput(f"{where}: the answer '{number[:40]}' is no number; only numeric answers can be graded here")
    return Task(digest("task", question), question.strip(), KIND), Key(number)
