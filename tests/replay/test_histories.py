"""Old decisions stay as they were: every role, run again on every recording in histories/, says what it said then.

A failure names role, history and the first fact that is not the same. If the change is meant, CONTRIBUTING.md says what to do.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from console.rerun.again import Rerun, Wishes
from console.rerun.command import SERVICES
from console.rerun.report import as_text
from console.rerun.result import Result
from console.rerun.role import build_of
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.messages import Role

HISTORIES = sorted(Path(__file__).parent.glob("histories/*/log.sqlite"))
MAX_BYTES = 400_000
ROLES = [role for role in SERVICES if role is not Role.INFERENCE]


CASES = [(log, role) for log in HISTORIES for role in ROLES if (log.parent.name, role) != ("slice", Role.LEARNER)]


def again(log: Path, role: Role) -> Result:
    """A role's re-run."""
    with closing(LogReader(log)) as reader:
        rerun = Rerun(reader, role, build_of(role), Wishes())
        rerun.play()
        return rerun.result()


@pytest.mark.parametrize(("log", "role"), CASES, ids=lambda value: getattr(value, "parent", Path(value)).name)
def test_a_role_decides_as_it_did(log: Path, role: Role) -> None:
    """The re-run is identical; only the Learner may round otherwise, and only on another processor or other versions."""
    result = again(log, role)
    if not result.identical and role is Role.LEARNER and result.elsewhere:
        pytest.skip(f"weights repeat only where they were made: {result.elsewhere}")
    assert result.identical, f"{role} on {log.parent.name}: {as_text(result)}"
    assert not result.nothing_to_do


def test_the_learner_does_not_begin_in_the_midst_without_weights() -> None:
    """A part of a run that begins with its second step needs weights that a recording does not carry: one line says so."""
    (log,) = [log for log in HISTORIES if log.parent.name == "slice"]
    with pytest.raises(BadInput, match="begins at step 2, and the run's folder no longer has the weights"):
        again(log, Role.LEARNER)


@pytest.mark.parametrize("log", HISTORIES, ids=lambda log: log.parent.name)
def test_a_history_is_small_and_whole(log: Path) -> None:
    """A recording is one plain file of at most 400 KB without a damaged fact."""
    assert [entry.name for entry in log.parent.iterdir()] == ["log.sqlite"]
    assert log.stat().st_size <= MAX_BYTES
    with closing(LogReader(log)) as reader:
        assert list(reader.verify()) == []


def test_the_histories_hold_what_a_run_can_come_to() -> None:
    """A commit, a rollback, a step that expired, unreadable replies, and a run that was killed are among them."""
    found: dict[str, dict[str, int]] = {}
    for log in HISTORIES:
        with closing(LogReader(log)) as reader:
            found[log.parent.name] = reader.counts()
    assert "PolicyCommitted" in found["commit"]
    assert "PolicyRolledBack" in found["harm"]
    assert {"StepExpired", "TaskMalformed"} <= found["deadline"].keys()
    assert "RunEnded" not in found["killed"]
    assert all("RunEnded" in found[name] for name in ("commit", "harm", "deadline"))
    with closing(LogReader(HISTORIES[0].parents[1] / "slice" / "log.sqlite")) as reader:
        assert reader.handled_from() > 0
