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
from tests.chaos.run_process import SERVICES, RunProcess, differences, said_in
from tests.chaos.storm import CONSOLE, Storm, Weather

pytestmark = pytest.mark.chaos

ENOUGH = 200
TIME_S = 600.0
REPLICAS = ("--set", "run.replicas={ solver = 2, critic = 2, inference = 2, learner = 2, gate = 2 }", "--set", "run.leave_s=2")
"""Members that are missed after two seconds leave and join again all the time."""
ROUGH_FOR_THE_CONSOLE = Weather(kinds=(("kill", 10), ("freeze", 5), ("freeze for good", 2), ("console", 4)))
LOOSE_GATE = [
    part for setting in ("gate.alpha=0.5", "gate.alpha_harm=0.5", "gate.min_pairs_per_kind=0") for part in ("--set", setting)
]
"""With so few pairs, policies are committed and rolled back all the same."""
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
    await ride_out(tmp_path, seed, *options, steps=steps, weather=weather)


async def test_it_was_a_storm(tmp_path: Path) -> None:
    """All storms together struck at least 200 times, at every kind of process; on a fast machine it takes more of them."""
    for seed in range(7, 30):
        if BLOWS.total() >= ENOUGH:
            break
        await ride_out(tmp_path / str(seed), seed, steps=6, weather=Weather())
    assert BLOWS.total() >= ENOUGH
    assert {blow.split()[-1].split("-")[0] for blow in BLOWS} == {CONSOLE, *SERVICES}


async def ride_out(folder: Path, seed: int, *options: str, steps: int, weather: Weather) -> None:
    """A calm run, the same run in a storm, and a comparison of what they leave."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - nothing else goes on here
    with RunProcess(folder / "calm", *LOOSE_GATE, steps=steps, seed=seed) as calm:
        assert calm.end() == 0, calm.output()
    storm = Storm(folder / "storm", seed, *LOOSE_GATE, *options, steps=steps, weather=weather)
    try:
        await storm.rage(TIME_S)
    finally:
        BLOWS.update(storm.blows)
        print(f"\nseed {seed}: {storm.blows.total()} blows: {dict(storm.blows.most_common())}")
    undisturbed, facts = log_of(folder / "calm"), log_of(folder / "storm")
    assert len({fact.id for fact in facts.values()}) == len(facts)
    assert {seq: facts[seq].id for seq in storm.delivered} == storm.delivered
    assert differences(*(without_ends(said_in(folder / name)) for name in ("calm", "storm"))) == []
    assert policies_in(folder / "storm", facts) == policies_in(folder / "calm", undisturbed)


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
