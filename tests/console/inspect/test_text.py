"""Times, units of work and options as text."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.inspect.order import LAST, place
from console.inspect.selected import Options, Selected, selected, steps, stretch
from console.inspect.times import duration, exact, moment, parsed
from console.recording import LOG_NAME
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from tests.console.inspect.recordings import REAL, opened, record, started


@given(st.integers(-(2**62), 2**62))
def test_an_exact_time_comes_back_to_the_nanosecond(time_ns: int) -> None:
    """Whatever a log's clock said."""
    assert parsed(exact(time_ns)) == time_ns


@pytest.mark.parametrize(
    "text", ["", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.250Z", "tomorrow", "2026-13-01T00:00:00.000000000Z"]
)
def test_other_times_are_refused(text: str) -> None:
    """An import never guesses a time."""
    with pytest.raises(ValueError):
        parsed(text)


def test_times_for_people() -> None:
    """To the millisecond, and spans in the largest two units."""
    assert moment(1_769_860_801_250_000_000) == "2026-01-31 12:00:01.250 UTC"
    assert [duration(s) for s in (0.04, 9.94, 59.2, 200, 3599.9, 7500)] == [
        "0.0 s", "9.9 s", "59 s", "3 min 20 s", "1 h 00 min", "2 h 05 min",
    ]  # fmt: skip


def test_units_of_work_are_ordered_as_a_run_comes_to_them() -> None:
    """Numbers count as numbers, a step's test follows the step, the evaluation follows all steps."""
    order = [
        "",
        "seed.2",
        "seed.10",
        "s3",
        "s3.a0",
        "s3.c2",
        "s3.c10",
        "g3",
        "g3.p0",
        "g3.p0.candidate",
        "s10",
        "e0",
        "e0.t1",
        "x",
    ]
    shuffled = order[::2] + order[1::2]
    assert sorted(shuffled, key=place) == order
    assert max(map(place, order)) < LAST


@pytest.mark.parametrize(("text", "found"), [("3", [3]), ("3:5", [3, 4, 5]), ("7:7", [7])])
def test_steps(text: str, found: list[int]) -> None:
    """One or several."""
    assert list(steps(text)) == found


@pytest.mark.parametrize("text", ["", "0", "5:3", "3:", "-1", "three", "1:99999", "1:2:3"])
def test_what_are_no_steps(text: str) -> None:
    """One line each."""
    with pytest.raises(BadInput, match=f"--step {text}"):
        steps(text)


def test_options_are_checked_against_the_log() -> None:
    """Names may be repeated or separated by commas; a mistyped one gets the nearest; a step is itself and its test."""
    with closing(LogReader(REAL / LOG_NAME)) as reader:
        chosen = selected(reader, Options(only=("TaskJudged,PlanJudged", "StepOpened"), roles=("critic",)))
        assert chosen == Selected(frozenset({"TaskJudged", "PlanJudged", "StepOpened"}), frozenset({"critic"}), None)
        assert selected(reader, Options(step="1:2")).lineages == ["s1", "g1", "s2", "g2"]
        assert stretch(reader, Options()) is None
        assert stretch(reader, Options(first="3", until="5")) == (3, 5)
        for options, said in [
            (Options(only=("TaskJuged",)), "did you mean 'TaskJudged'?"),
            (Options(roles=("solvr",)), "no such role; did you mean 'solver'?"),
            (Options(step="1", lineage="s1"), "give one of them"),
            (Options(lineage="s1; DROP"), "no unit of work is called so"),
        ]:
            with pytest.raises(BadInput, match=said):
                selected(reader, options)


def test_facts_of_a_newer_version_can_be_selected(tmp_path: Path) -> None:
    """What the log has may be named, known here or not."""
    record(tmp_path, [started(), opened(started(), 1)])
    with closing(LogReader(tmp_path / LOG_NAME)) as reader:
        reader.counts = lambda: {"NewFact": 1}  # type: ignore[method-assign]
        assert selected(reader, Options(only=("NewFact",))).types == {"NewFact"}
