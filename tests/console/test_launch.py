"""What a run is started with, and when it may go on."""

from pathlib import Path

import pytest

from console.launch import check_same, first_facts, model_folder, recorded_start, service_children
from console.place import Place
from console.recording import LOG_NAME
from console.run_command import resume_command
from console.runfile import PACKAGED_MODEL, RunFile, load_run_file
from shared.codec import encode
from shared.errors import BadInput
from shared.eventlog.entry import entries_of
from shared.eventlog.sqlite import SqliteJournal
from shared.flow import FLOW
from shared.messages import Fact, Key, Role, RunStarted, Task, TaskSeeded

RUNS = Path(__file__).parents[2] / "runs"
SEEDS = [(Task(id=f"t{i}", question=f"{i} + 1?", kind="words"), Key(check=f"{i} + 1")) for i in range(3)]


def a_run(**overrides: object) -> RunFile:
    """The tiny run with options."""
    return load_run_file(RUNS / "tiny.toml", overrides=overrides)


def ids(facts: list[Fact]) -> list[str]:
    """Their ids."""
    return [fact.id for fact in facts]


def test_first_facts_are_named_after_the_seed_alone() -> None:
    """Another name or directory gives the same ids, another seed gives others; seeds follow from the first fact."""
    here = first_facts(a_run(name="a"), Place(Path("a")), "p0", SEEDS)
    there = first_facts(a_run(name="b"), Place(Path("b")), "p0", SEEDS)
    other = first_facts(a_run(seed=1), Place(Path("a")), "p0", SEEDS)
    assert ids(here) == ids(there)
    assert not set(ids(here)) & set(ids(other))
    assert len(set(ids(here))) == 4
    assert isinstance(here[0], RunStarted)
    assert all(isinstance(fact, TaskSeeded) and fact.cause == here[0].id for fact in here[1:])
    assert [fact.lineage for fact in here[1:]] == ["seed.0", "seed.1", "seed.2"]


def test_other_settings_cannot_go_on() -> None:
    """A changed key is named with both values; keys that change no fact may differ."""
    recorded, place = a_run().describe(), Place(Path("out/tiny"))
    check_same(recorded, a_run(name="x", dir="y", stall_s=5).describe(), place)
    with pytest.raises(BadInput, match=r"^out/tiny: was started with run\.steps = \d+, not 3; give it the same settings"):
        check_same(recorded, a_run(steps=3).describe(), place)


def test_the_first_fact_is_read_back_equal(tmp_path: Path) -> None:
    """What a log gives back as configuration equals what was described; an empty log has nothing to go on with."""
    place = Place(tmp_path)
    journal = SqliteJournal(tmp_path / LOG_NAME)
    with pytest.raises(BadInput, match="its log is empty"):
        recorded_start(place)
    journal.append(entries_of([encode(fact) for fact in first_facts(a_run(), place, "p0", SEEDS)]))
    journal.close()
    check_same(recorded_start(place).config, a_run().describe(), place)


def test_each_role_is_started_once_with_its_own_log(tmp_path: Path) -> None:
    """The seven roles and inference are started; the console and the bus are no services."""
    assert {child.name for child in service_children(Place(tmp_path), a_run())} == {
        role for role in FLOW if role is not Role.CONSOLE
    }


def test_replicas_are_numbered(tmp_path: Path) -> None:
    """Where several processes share a role each has its own name, which changes none of the run's facts."""
    three = load_run_file(RUNS / "tiny.toml", ["run.replicas={ solver = 3 }", "run.replicas.gate=2"])
    names = [child.name for child in service_children(Place(tmp_path), three)]
    assert [name for name in names if name.startswith(("solver", "gate"))] == [
        "solver-1",
        "solver-2",
        "solver-3",
        "gate-1",
        "gate-2",
    ]
    assert ids(first_facts(three, Place(tmp_path), "p0", SEEDS)) == ids(first_facts(a_run(), Place(tmp_path), "p0", SEEDS))
    check_same(a_run().describe(), three.describe(), Place(tmp_path))


def test_model_paths() -> None:
    """The packaged model needs no folder; a folder that is not there is named."""
    assert model_folder(PACKAGED_MODEL) is None
    with pytest.raises(BadInput, match="no model folder at nowhere"):
        model_folder("nowhere")


def test_the_command_that_goes_on() -> None:
    """Ctrl-C tells how to go on: the same arguments, quoted, with --resume once."""
    assert resume_command(["/x/sagepace", "run", "--dir", "my run"]) == "sagepace run --dir 'my run' --resume"
    assert resume_command(["/x/console/__main__.py", "run", "--resume"]) == "python -m console run --resume"
