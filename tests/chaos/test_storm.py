"""`make test-chaos`: runs in a storm of kills, freezes and interruptions say what they say in the calm. Real processes.

Every process is struck at random: broker, inference, all roles and the console, which is resumed. Nothing that was delivered
is ever lost, moved or said twice; at the end facts and policies equal those of an undisturbed run with the same seed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from console.recording import open_recording
from shared.flow import UPKEEP
from shared.messages import Fact, PolicyCommitted, PolicyTrained, RunEnded, RunStarted
from shared.store import PolicyStore, content_name
from tests.chaos.run_process import RunProcess, differences, said_in
from tests.chaos.storm import Storm, Weather

pytestmark = pytest.mark.chaos

ENOUGH = 200
TIME_S = 600.0
REPLICAS = ("--set", "run.replicas={ solver = 2, critic = 2, inference = 2, learner = 2, gate = 2 }", "--set", "run.leave_s=2")
"""Members that are missed after two seconds leave and join again all the time."""
ROUGH_FOR_THE_CONSOLE = Weather(kinds=(("kill", 10), ("freeze", 5), ("freeze for good", 2), ("console", 4)))
BLOWS: Counter[str] = Counter()


@pytest.mark.parametrize(
    ("seed", "steps", "options", "weather"),
    [
        (3, 6, (), Weather()),
        (4, 4, REPLICAS, Weather()),
        (5, 6, (), ROUGH_FOR_THE_CONSOLE),
        (6, 4, REPLICAS, ROUGH_FOR_THE_CONSOLE),
    ],
    ids=["one of each", "replicas", "one of each, console struck often", "replicas, console struck often"],
)
async def test_a_storm_changes_nothing(
    tmp_path: Path, seed: int, steps: int, options: tuple[str, ...], weather: Weather
) -> None:
    """The log is whole, holds what was delivered where it was delivered, and says what an undisturbed run says."""
    with RunProcess(tmp_path / "calm", steps=steps, seed=seed) as calm:
        assert calm.end() == 0, calm.output()
    storm = Storm(tmp_path / "storm", seed, *options, steps=steps, weather=weather)
    try:
        await storm.rage(TIME_S)
    finally:
        BLOWS.update(storm.blows)
        print(f"\nseed {seed}: {storm.blows.total()} blows: {dict(storm.blows.most_common())}")
    facts = log_of(tmp_path / "storm")
    assert len({fact.id for fact in facts.values()}) == len(facts)
    assert {seq: facts[seq].id for seq in storm.delivered} == storm.delivered
    assert differences(*(without_ends(said_in(tmp_path / name)) for name in ("calm", "storm"))) == []
    assert policies_in(tmp_path / "storm", facts) == policies_in(tmp_path / "calm", log_of(tmp_path / "calm"))


def test_it_was_a_storm() -> None:
    """All storms together struck at least 200 times, in every way and at every kind of process."""
    assert BLOWS.total() >= ENOUGH, BLOWS
    struck = {blow.split()[-1].split("-")[0] for blow in BLOWS}
    assert struck == {
        *("console", "bus", "inference", "challenger", "critic", "planner", "solver", "verifier", "learner", "gate")
    }


def log_of(folder: Path) -> dict[int, Fact]:
    """The facts of a log by sequence number."""
    with open_recording(folder) as recording:
        return {seq: fact for seq, _, fact in recording.facts()}


def without_ends(facts: dict[str, Fact]) -> dict[str, Fact]:
    """An interrupted run has another number of ends."""
    return {name: fact for name, fact in facts.items() if not isinstance(fact, RunEnded) and type(fact) not in UPKEEP}


def policies_in(folder: Path, facts: dict[int, Fact]) -> set[str]:
    """The base policy, the committed ones and the last trained one, each found whole in the store under its name."""
    trained = [fact.policy for fact in facts.values() if isinstance(fact, PolicyTrained)]
    named = {fact.policy for fact in facts.values() if isinstance(fact, PolicyCommitted)}
    named |= {fact.base_policy for fact in facts.values() if isinstance(fact, RunStarted)}
    store = PolicyStore(folder / "policies")
    for name in named:
        assert content_name(store.path(name)) == name
    assert content_name(store.path(trained[-1])) == trained[-1]
    return named | {trained[-1]}
