"""Where a run writes: one directory with log, policies, services' output and outcome; checked before it is made."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from console.outcome_report import OUTCOME_FILE
from console.recording import LOG_NAME
from shared.errors import BadInput

_OURS = ("policies", "output", "learner", "bus.", OUTCOME_FILE, LOG_NAME)
"""How the names of a run's own files begin."""
_MODEL_FILES = (
    ("config.json", ("config.json",)),
    ("tokenizer (tokenizer.json)", ("tokenizer.json", "tokenizer.model", "vocab.json")),
    ("weights (*.safetensors)", ("*.safetensors",)),
)


class Place(NamedTuple):
    """The directory of one run."""

    root: Path

    @property
    def log(self) -> Path:
        """The log's file."""
        return self.root / LOG_NAME

    @property
    def policies(self) -> Path:
        """The policy store."""
        return self.root / "policies"

    @property
    def output(self) -> Path:
        """What the services print: one file each."""
        return self.root / "output"

    def make(self) -> None:
        """Makes the directory and its folders. Raises `BadInput` when it cannot."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self.root}: cannot be made: {error.strerror}; choose another place with --dir") from error


def claim(root: Path, *, resume: bool, min_free_mb: int) -> Place:
    """Checks that a run may start (or go on, with `resume`) in `root`; makes nothing. Raises `BadInput`."""
    place = Place(root)
    _check_contents(place, resume=resume)
    there = next(folder for folder in (root.absolute(), *root.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise BadInput(f"{root}: {there} is a file; choose another place with --dir")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(f"{root}: no permission to write in {there}; choose another place with --dir")
    free_mb = shutil.disk_usage(there).free // 1_000_000
    if free_mb < min_free_mb:
        raise BadInput(
            f"{root}: only {free_mb} MB free on its disk, run.min_free_mb asks for {min_free_mb}; make room, or choose another "
            "place with --dir"
        )
    return place


def _check_contents(place: Place, *, resume: bool) -> None:
    if resume:
        if not place.log.is_file():
            raise BadInput(f"{place.root}: there is no run to go on with; leave out --resume, or name its directory with --dir")
        return
    if place.log.exists():
        raise BadInput(f"{place.root}: already holds a run; go on with it by --resume, or choose another place with --dir")
    names = sorted(entry.name for entry in place.root.iterdir()) if place.root.is_dir() else []
    if foreign := [name for name in names if not name.startswith(_OURS)]:
        raise BadInput(f"{place.root}: holds other files, such as {foreign[0]}; choose an empty or new place with --dir")


def check_model(folder: Path) -> None:
    """Looks whether `folder` can hold a transformers causal language model, without loading it. Raises `BadInput`."""
    if not folder.is_dir():
        raise BadInput(f"model.path: no model folder at {folder}; give one with --set model.path=FOLDER")
    for what, patterns in _MODEL_FILES:
        if not any(next(folder.glob(pattern), None) for pattern in patterns):
            raise BadInput(f"model.path: {folder} has no {what}; give a folder as transformers' save_pretrained writes it")
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"model.path: {folder / 'config.json'} cannot be read: {error}; copy the model again") from error
