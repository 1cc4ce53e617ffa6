"""Mistakes in a section of a run file: one line that says what, where and what to do."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from shared.config import nearest, read_section
from shared.errors import BadInput


class Bettor(StrEnum):
    """An enumeration of values."""

    FIXED = "fixed"
    GRID = "grid"


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table inside the section."""

    size: int = 1


class Knobs(msgspec.Struct, frozen=True):
    """A section with one knob of each sort; it does not forbid unknown fields itself."""

    path: str
    steps: Annotated[int, msgspec.Meta(ge=1, le=500)] = 10
    rate: Annotated[float, msgspec.Meta(gt=0)] = 0.5
    bettor: Bettor = Bettor.GRID
    device: Literal["cpu", "cuda"] = "cpu"
    limit: int | None = None
    temperatures: tuple[float, ...] = (1.0,)
    careful: bool = True
    inner: Inner = Inner()


def line(table: dict[str, Any], origins: dict[str, str] | None = None) -> str:
    """What the user is told about the section `knobs`."""
    with pytest.raises(BadInput) as caught:
        read_section(Knobs, {"path": "x"} | table, "knobs", origins)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_right_section_becomes_a_record() -> None:
    """Right keys make the record, a whole number serves where a number is wanted, and defaults fill the rest."""
    record = read_section(Knobs, {"path": "x", "rate": 2, "bettor": "fixed", "temperatures": [0, 1]}, "knobs")
    assert record == Knobs(path="x", rate=2.0, bettor=Bettor.FIXED, temperatures=(0.0, 1.0))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"stps": 3}, "knobs.stps: no such key; did you mean 'steps'?"),
        ({"steps": 0}, "knobs.steps: expected a whole number >= 1, got 0"),
        ({"steps": 501}, "knobs.steps: expected a whole number <= 500, got 501"),
        ({"steps": "3"}, "knobs.steps: expected a whole number, got '3'"),
        ({"steps": 1.5}, "knobs.steps: expected a whole number, got 1.5"),
        ({"steps": True}, "knobs.steps: expected a whole number, got true"),
        ({"rate": 0}, "knobs.rate: expected a number > 0.0, got 0"),
        ({"rate": float("nan")}, "knobs.rate: expected a finite number, got nan"),
        ({"bettor": "gird"}, "knobs.bettor: expected 'fixed' or 'grid', got 'gird'"),
        ({"device": "tpu"}, "knobs.device: expected 'cpu' or 'cuda', got 'tpu'"),
        ({"limit": "all"}, "knobs.limit: expected a whole number or nothing, got 'all'"),
        ({"temperatures": [1.0, "hot"]}, "knobs.temperatures[1]: expected a number, got 'hot'"),
        ({"careful": 1}, "knobs.careful: expected true or false, got 1"),
        ({"inner": {"sise": 2}}, "knobs.inner.sise: no such key"),
    ],
)
def test_each_mistake_names_key_expectation_and_gift(table: dict[str, Any], expected: str) -> None:
    """Unknown keys, wrong types and wrong ranges each get one plain sentence."""
    assert line(table) == expected


def test_a_missing_key_is_named() -> None:
    """A required key that is not there is named with its section."""
    with pytest.raises(BadInput, match=r"^knobs\.path: missing; add it$"):
        read_section(Knobs, {}, "knobs")


def test_the_place_of_a_key_comes_first() -> None:
    """Where the key stands, a file and line or an option, leads the sentence."""
    assert line({"steps": 0}, {"steps": "runs/x.toml:7"}).startswith("runs/x.toml:7: knobs.steps: ")


def test_nearest_lists_all_when_nothing_is_similar() -> None:
    """Where no name is similar, all right names are listed."""
    assert nearest("zzzz", ["beta", "alpha"]) == "there are: alpha, beta"
