"""Where a re-run finds policies, and that it writes only to its scratch store."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.rerun.weights import Weights
from shared.errors import BadInput
from shared.messages import PolicyTrained, RunStarted, StepOpened
from shared.store import PolicyStore

P1 = "p" + 16 * "1"


def folder(place: Path, content: str) -> Path:
    """A model folder."""
    place.mkdir(parents=True)
    (place / "weights").write_text(content, encoding="utf-8")
    return place


def weights(tmp_path: Path, base: str, *, store: Path | None = None, model: Path | None = None, path: str = "") -> Weights:
    """Weights for a run with this base policy, whose recording lies in tmp_path/run."""
    run = RunStarted(seed=1, config={"model": {"path": path}}, base_policy=base, store=str(store or tmp_path / "gone"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Weights(scratch, run, tmp_path / "run", model)


def name_of(tmp_path: Path, content: str) -> str:
    """The name of a policy with this content."""
    return PolicyStore(tmp_path / "names").write(lambda target: (target / "weights").write_text(content))


def opened(step: int) -> StepOpened:
    """A step that begins with policy `P1`."""
    return StepOpened(step=step, policy=P1, num_challenges=0, num_assignments=0)


def trained(policy: str) -> PolicyTrained:
    """A first step's policy."""
    return PolicyTrained(step=1, policy=policy, parent="p", metrics={})


def test_policies_come_from_beside_the_log_or_from_where_the_run_had_them(tmp_path: Path) -> None:
    """A run folder that was moved still has its own; one that was not is found where it was."""
    folder(tmp_path / "run" / "policies" / P1, "one")
    moved = weights(tmp_path, P1)
    assert moved.has(P1)
    assert (moved.store.path(P1) / "weights").read_text() == "one"
    assert not moved.has("p" + 16 * "2")


def test_a_name_that_is_no_policy_s_leads_nowhere(tmp_path: Path) -> None:
    """A recording cannot lead a re-run out of its scratch store."""
    folder(tmp_path / "run" / "secret", "one")
    (tmp_path / "run" / "policies").mkdir()
    assert not weights(tmp_path, P1).has("../secret")


def test_a_store_elsewhere_is_found_by_the_first_fact(tmp_path: Path) -> None:
    """A copied log leads to the store that the run wrote to."""
    folder(tmp_path / "elsewhere" / P1, "one")
    assert weights(tmp_path, P1, store=tmp_path / "elsewhere").has(P1)


@pytest.mark.parametrize("given", ["model", "path"])
def test_a_base_policy_is_known_by_its_content(tmp_path: Path, given: str) -> None:
    """A folder that holds what the name says will do, wherever it lies."""
    base = name_of(tmp_path, "base")
    place = folder(tmp_path / "somewhere", "base")
    found = weights(tmp_path, base, model=place) if given == "model" else weights(tmp_path, base, path=str(place))
    found.need_base()
    assert (found.store.path(base) / "weights").read_text() == "base"


def test_another_folder_than_the_base_policy_is_refused(tmp_path: Path) -> None:
    """Also an empty one: the name is said on both sides."""
    place = folder(tmp_path / "somewhere", "another")
    with pytest.raises(BadInput, match=f"it holds {name_of(tmp_path, 'another')}, but .* is {P1}"):
        weights(tmp_path, P1, model=place).need_base()


def test_a_later_step_needs_weights_and_optimizer(tmp_path: Path) -> None:
    """After a rollback it needs weights alone, since the optimizer begins afresh."""
    folder(tmp_path / "run" / "policies" / P1, "one")
    at_hand = weights(tmp_path, P1)
    with pytest.raises(BadInput, match="no longer has the optimizer's state that goes with p1"):
        at_hand.need_step(opened(3), fresh=False)
    at_hand.need_step(opened(3), fresh=True)
    (tmp_path / "run" / "learner").mkdir()
    (tmp_path / "run" / "learner" / f"s2-{P1}.pt").write_text("state", encoding="utf-8")
    at_hand.need_step(opened(3), fresh=False)
    assert (tmp_path / "scratch" / "learner" / f"s2-{P1}.pt").read_text() == "state"


def test_other_weights_go_on_under_the_recorded_name(tmp_path: Path) -> None:
    """The recorded name then leads to what was made now, also when that is removed under its own name."""
    made = weights(tmp_path, P1)
    other = made.store.write(lambda target: (target / "weights").write_text("other"))
    (tmp_path / "scratch" / "learner" / f"s1-{other}.pt").write_text("state", encoding="utf-8")
    made.go_on_as(trained(P1), trained(other))
    made.store.prune({P1})
    assert (made.store.path(P1) / "weights").read_text() == "other"
    assert (tmp_path / "scratch" / "learner" / f"s1-{P1}.pt").read_text() == "state"
    made.go_on_as(trained(P1), trained(P1))


def test_nothing_of_the_recording_is_ever_removed(tmp_path: Path) -> None:
    """When the Learner tidies up its scratch store, the policies that it was lent stay where they lie."""
    lent = folder(tmp_path / "run" / "policies" / P1, "one")
    scratch = weights(tmp_path, P1)
    scratch.need_base()
    scratch.store.prune(set())
    assert not scratch.store.names()
    assert (lent / "weights").read_text() == "one"
