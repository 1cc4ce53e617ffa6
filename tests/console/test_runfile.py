"""From a TOML file and options to a checked run, and what bad input gets."""

from pathlib import Path
from typing import Any

import pytest

from console.runfile import SECTIONS, RunFile, key_lines, load_run_file, parse_setting
from shared.errors import BadInput

TOML = """\
# a run
[run]
name = "trial"
steps = 5

[model]
path = "models/tiny"

[learner]
lr = 0.001
"""


def load(tmp_path: Path, text: str = TOML, settings: tuple[str, ...] = (), **overrides: Any) -> RunFile:
    """The run that this text and these options make."""
    path = tmp_path / "trial.toml"
    path.write_text(text)
    return load_run_file(path, settings, overrides)


def line(tmp_path: Path, text: str = TOML, settings: tuple[str, ...] = (), **overrides: Any) -> str:
    """What the user is told, without the directory of the file."""
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text, settings, **overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_file_then_settings_then_options(tmp_path: Path) -> None:
    """An option wins over --set, which wins over the file; what nobody says has its default."""
    run = load(tmp_path, settings=("learner.lr=0", "run.steps=7", "solver.prompts=plain", "run.seed=1"), seed=4)
    assert (run.run.steps, run.run.seed, run.learner.lr, run.solver.prompts) == (7, 4, 0.0, "plain")
    assert run.sage.alpha == 0.7


def test_the_directory_follows_the_name(tmp_path: Path) -> None:
    """Without a directory the run goes to out/NAME; without a name the file names the run."""
    assert load(tmp_path).directory == Path("out/trial")
    assert load(tmp_path, dir="elsewhere").directory == Path("elsewhere")
    assert load(tmp_path, TOML.replace('name = "trial"\n', "")).run.name == "trial"


def test_the_description_states_every_section_in_plain_values(tmp_path: Path) -> None:
    """Every section is described, tuples as lists, so that what is read back from a log equals it."""
    described = load(tmp_path).describe()
    assert described.keys() == SECTIONS.keys()
    assert described["challenger"]["stop"] == ["</check>"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("lr = 0.001", "lrr = 0.001", "trial.toml:10: learner.lrr: no such key; did you mean 'lr'?"),
        ("lr = 0.001", 'lr = "fast"', "trial.toml:10: learner.lr: expected a number, got 'fast'"),
        ("steps = 5", "steps = 0", "trial.toml:4: run.steps: expected a whole number >= 1, got 0"),
        ("[learner]", "[lerner]", "trial.toml:9: unknown section [lerner]; did you mean 'learner'?"),
        ("# a run", "gate = 3", "trial.toml:1: 'gate' is a section; write [gate] and its keys below"),
        ("# a run", "stepz = 3", "trial.toml:1: unknown key 'stepz' outside a section; there are: "),
        ('path = "models/tiny"', "", "trial.toml:6: model.path: missing; add it"),
        ("[run]", "[run", "trial.toml: not valid TOML: "),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Each mistake is one line with file, line, key, and what would be right."""
    assert line(tmp_path, TOML.replace(old, new)).startswith(expected)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("learner.lr", "--set learner.lr: expected SECTION.KEY=VALUE, such as learner.lr=0.001"),
        ("lr=3", "--set lr=3: expected SECTION.KEY=VALUE"),
        ("lerner.lr=3", "--set lerner.lr=3: no such section 'lerner'; did you mean 'learner'?"),
        ("learner.lrr=3", "--set: learner.lrr: no such key; did you mean 'lr'?"),
        ("gate.alpha=2", "--set: gate.alpha: expected a number < 1.0, got 2"),
        ("gate.bettor=gird", "--set: gate.bettor: expected 'fixed' or 'grid', got 'gird'"),
        ("run.name=../x", "--set: run.name: expected text in quotes matching"),
    ],
)
def test_mistakes_in_settings(tmp_path: Path, setting: str, expected: str) -> None:
    """A mistake in --set names the option and the key."""
    assert line(tmp_path, settings=(setting,)).startswith(expected)


def test_mistakes_in_options(tmp_path: Path) -> None:
    """A mistake in an option names the option."""
    assert line(tmp_path, steps=0).startswith("--steps: run.steps: expected a whole number >= 1, got 0")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a directory and bytes that are no text get one line."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for path, expected in [
        (tmp_path / "none.toml", "no such run file"),
        (tmp_path, "cannot be read as text: Is a directory"),
        (tmp_path / "bytes.toml", "cannot be read as text"),
    ]:
        with pytest.raises(BadInput, match=expected):
            load_run_file(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("1e-3", 0.001), ("true", True), ('"3"', "3"), ("[1.0, 0.0]", [1.0, 0.0]), ("a/b.jsonl", "a/b.jsonl"),
        ("", ""), ("a = b", "a = b"), ("1\nx = 2", "1\nx = 2"),
    ],
)  # fmt: skip
def test_values_of_settings(text: str, value: Any) -> None:
    """A value is a TOML literal, or text when it is none."""
    assert parse_setting(f"domain.path={text}") == ("domain", "path", value)


def test_lines_of_keys() -> None:
    """Each key's line is found in its section; comments are not keys."""
    assert key_lines("# a = 1\n[b] # c\nd = 2\n") == {("b", ""): 2, ("b", "d"): 3}


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "runs").glob("*.toml")), ids=lambda path: path.name)
def test_the_run_files_of_the_project_are_right(path: Path) -> None:
    """Every run file in runs/ passes its own checks."""
    assert load_run_file(path).run.name == path.stem


def test_a_trained_role_must_sample_at_the_learner_s_temperature(tmp_path: Path) -> None:
    """Ratios against samples of another distribution would be wrong; a role that is not trained may differ."""
    assert "solver.temperature is 0.5 but learner.temperature is 1" in line(tmp_path, settings=("solver.temperature=0.5",))
    others = 'learner.roles=["challenger", "planner", "critic"]'
    assert load(tmp_path, settings=("solver.temperature=0.5", others)).solver.temperature == 0.5


def test_a_mistyped_prompt_set_is_found_before_anything_starts(tmp_path: Path) -> None:
    """The line names the role and the sets that exist."""
    mistake = line(tmp_path, settings=("solver.prompts=ters",))
    assert "solver.prompts: no prompt set 'ters'" in mistake
    assert mistake.endswith("there are: plain, terse")


def test_replicas_by_table_and_by_entry(tmp_path: Path) -> None:
    """A setting may give the whole table or one entry of it, and entries add up; so do a section of TOML and a setting."""
    assert load(tmp_path, settings=("run.replicas={ solver = 2 }", "run.replicas.critic=3")).run.replicas == {
        "solver": 2,
        "critic": 3,
    }
    assert parse_setting("run.replicas.solver=2") == ("run", "replicas", {"solver": 2})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("run.replicas.solvr=2", "--set: run.replicas.solvr: no such role; did you mean 'solver'?"),
        ("run.replicas.console=2", "--set: run.replicas.console: no such role"),
        ("run.replicas.solver=0", "run.replicas"),
        ("run.replicas.solver=two", "run.replicas"),
        ("run.replicas=2", "run.replicas: expected a table, got 2"),
        ("run.steps.x=1", "run.steps: expected a whole number"),
    ],
)
def test_replicas_that_make_no_sense(tmp_path: Path, setting: str, expected: str) -> None:
    """Unknown roles, and counts that are none, are one line."""
    assert expected in line(tmp_path, settings=(setting,))
