"""Tests that hold README, docs and role docstrings to the code: what they name exists and is what they say it is."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
import typer.main

from console import diagram
from console.cli import app
from console.runfile import SECTIONS, parse_setting
from shared.codec import BY_NAME
from shared.errors import BadInput
from shared.flow import EXPERIENCE, FLOW
from shared.messages import Role

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("services", "shared", "console", "tests", "runs", "docs", "benchmarks")
OURS = re.compile(r"\b(?:Run|Task|Step|Plan|Trial|Answer|Experience|Policy|Candidate|Instance|Pair|Wealth|Training|Evaluation"
                  r"|Sample|Work)[A-Z]\w*")  # fmt: skip
"""How the names of facts begin; a name like that in code is meant to be one."""
VALUES = {"RunFile", "SampleJob", "PairedTest", "PolicyStore"}
"""Names of other things that look like a fact's."""

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def code(text: str) -> Iterator[str]:
    """What a page sets as code: the lines of its fenced blocks and its inline spans, recorded output excepted."""
    text = re.sub(r"<!-- output:begin -->.*?<!-- output:end -->", "", text, flags=re.DOTALL)
    fences = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    for language, body in fences.findall(text):
        if language != "mermaid":
            yield from body.splitlines()
    yield from re.findall(r"`([^`]+)`", fences.sub("", text))


def calls(page: Path, program: str) -> Iterator[list[str]]:
    """The words after `program` wherever the page's code runs it, comments left out."""
    for piece in code(page.read_text(encoding="utf-8")):
        for found in re.finditer(rf"(?:^|&& ){re.escape(program)}(?= |$)([^#|;&]*)", piece.strip()):
            yield shlex.split(found[1].replace("\n", " "))


def test_the_readme_s_pictures_are_current():
    """Diagram and table are what shared/flow.py draws today."""
    assert diagram.main(["--check", str(ROOT / "README.md")]) == 0


def test_a_stale_picture_is_noticed_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """One line and status 1 for another picture, 0 once it is written; missing marks are bad input."""
    page = tmp_path / "README.md"
    page.write_text((ROOT / "README.md").read_text(encoding="utf-8").replace('|"StepOpened"|', '|"StepShut"|'))
    assert diagram.main(["--check", str(page)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert diagram.main(["--write", str(page)]) == 0
    assert diagram.main(["--check", str(page)]) == 0
    page.write_text("no marks")
    assert diagram.main(["--write", str(page)]) == 2
    assert page.read_text() == "no marks"
    assert diagram.main(["--check", str(tmp_path / "missing.md")]) == 2


def test_the_diagram_shows_every_fact_that_passes_between_roles():
    """Each fact that one role gives and another takes is on an arrow, but for those that the page says are left out."""
    drawn = {name for _, _, names in diagram.arrows() for name in names}
    taken = {
        fact for role, port in FLOW.items() for fact in port.takes if any(fact in o.gives for r, o in FLOW.items() if r != role)
    }
    assert drawn >= {fact.__name__ for fact in taken - diagram.UNDRAWN}


@each_page
def test_make_targets_exist(page: Path):
    """Every `make` target that a page names is in the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for words in calls(page, "make") for word in words if "=" not in word}
    assert named <= targets


@each_page
def test_commands_and_options_exist(page: Path):
    """Every `sagepace` command line that a page shows has known commands and options, and settings that the run file takes."""
    for words in calls(page, "sagepace"):
        command: click.Command = typer.main.get_command(app)
        rest = list(words)
        while isinstance(command, typer.main.TyperGroup) and rest and not rest[0].startswith("-"):
            name = rest.pop(0)
            assert name in command.commands, f"sagepace {' '.join(words)}: no command {name}"
            command = command.commands[name]
        known = {option for parameter in command.params for option in parameter.opts}
        unknown = {word for word in rest if word.startswith("--")} - known - {"--help"}
        assert not unknown, f"sagepace {' '.join(words)}: no option {unknown}"


@each_page
def test_settings_in_commands_are_taken(page: Path):
    """What a page gives to `--set` names a section and a key."""
    for piece in code(page.read_text(encoding="utf-8")):
        for setting in re.findall(r"--set ([\w.]+=\S+)", piece):
            section, key, _ = parse_setting(setting)
            assert key in SECTIONS[section].__struct_fields__, setting


@each_page
def test_run_file_keys_exist(page: Path):
    """Every `section.key` in a page's code is a key of the run file."""
    pattern = re.compile(rf"(?<![\w./-])({'|'.join(SECTIONS)})\.([a-z_]+)(?![\w/(])")
    for piece in code(page.read_text(encoding="utf-8")):
        for section, key in pattern.findall(piece):
            assert key in SECTIONS[section].__struct_fields__, f"{section}.{key}"


def test_defaults_in_the_table_of_departures_are_the_code_s():
    """docs/decisions.md states the defaults that the records have."""
    rows = re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \|", (ROOT / "docs/decisions.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows
    for name, default in rows:
        section, key, value = parse_setting(f"{name}={default}")
        fields = {field.name: field.default for field in msgspec.structs.fields(SECTIONS[section])}
        assert fields[key] == value, name


@each_page
def test_modules_that_are_run_exist(page: Path):
    """Every `python -m MODULE` names a module of the project."""
    for module, *_ in calls(page, "python -m"):
        assert "<" in module or importlib.util.find_spec(module), module


@each_page
def test_links_and_paths_lead_somewhere(page: Path):
    """Relative links resolve, and so do the project's paths in code."""
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    spans = [span for span in code(text) if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*", span)]
    missing += [span for span in spans if not (ROOT / span).exists()]
    assert not missing


@each_page
def test_facts_that_are_named_exist(page: Path):
    """Whatever a page's code names like a fact is one."""
    named = {name for piece in code(page.read_text(encoding="utf-8")) for name in OURS.findall(piece)}
    assert named - VALUES <= set(BY_NAME)


def test_the_walk_names_real_fields():
    """Each line of docs/one-task.md shows fields that the fact has, and a cause of a type that exists."""
    lines = [line for line in code((ROOT / "docs/one-task.md").read_text(encoding="utf-8")) if "  " in line and "=" in line]
    assert len(lines) > 20
    for line in lines:
        match = re.fullmatch(r"([sge]\d[\w.]*) +(\w+)  (.*?)(?:    <- (\w+))?", line)
        assert match, line
        fields = re.findall(r"(?:^| )([a-z_]+)=", re.sub(r'"[^"]*"', '""', match[3]))
        assert set(fields) <= set(BY_NAME[match[2]].__struct_fields__), line
        assert match[4] is None or match[4] in BY_NAME, line


TOLD_IN_WORDS = {role: EXPERIENCE for role, port in FLOW.items() if port.speaks}
"""Facts that a role's docstring speaks of without their names: "an experience"."""


@pytest.mark.parametrize("role", [role for role in FLOW if role is not Role.CONSOLE])
def test_a_role_s_docstring_is_its_row_of_the_table(role: Role):
    """services/<role>/__init__.py names every fact that the role takes and gives, and no other."""
    words = importlib.import_module(f"services.{role}").__doc__ or ""
    named = {BY_NAME[name] for name in re.findall(r"`(\w+)`", words) if name in BY_NAME}
    row = FLOW[role].takes | FLOW[role].gives
    assert named <= row
    assert row - named <= TOLD_IN_WORDS.get(role, set())


def test_missing_marks_are_said_in_one_line():
    """A page without marks is refused with the mark that is missing."""
    with pytest.raises(BadInput, match="no '<!-- flow:begin -->'"):
        diagram.drawn("text", "page.md")
