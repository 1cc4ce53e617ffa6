"""The shipped tiny model, for tests that run the real loop."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def tiny_model() -> Path:
    """models/tiny."""
    return ROOT / "models" / "tiny"
