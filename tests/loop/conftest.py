"""The shipped tiny model, for tests that run the real loop, and the log of one small run."""

import asyncio
from pathlib import Path

import pytest

from shared.messages import Fact
from tests.loop.small_run import ROOT, one_step


@pytest.fixture(scope="session")
def tiny_model() -> Path:
    """models/tiny."""
    return ROOT / "models" / "tiny"


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> list[Fact]:
    """The log of one step with seed 5."""
    return asyncio.run(one_step(tmp_path_factory.mktemp("one"), tiny_model, "run.seed=5"))
