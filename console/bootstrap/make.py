"""`sagepace bootstrap`: makes the tiny model in a new folder, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from console.bootstrap.habits import Habits
from shared.errors import BadInput

DEFAULT_SEED = 7
"""The seed that made models/tiny."""


def make_model(folder: Path, *, seed: int, steps: int | None, threads: int, report: Callable[[str], None]) -> None:
    """Trains and saves the model. Raises `BadInput` when `folder` exists or cannot be written."""
    if folder.exists():
        raise BadInput(f"'{folder}' exists already: give another folder with --out, or remove it first")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_name(f".{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
    except OSError as error:
        raise BadInput(f"cannot write to '{folder.parent}': {error.strerror}") from error
    from console.bootstrap.pretrain import Recipe, pretrain

    recipe = Recipe(threads=threads) if steps is None else Recipe(steps=steps, threads=threads)
    pretrain(unfinished, seed, recipe, Habits(), report)
    unfinished.replace(folder)
