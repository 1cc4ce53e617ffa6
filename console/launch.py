"""What a run is started with: its base policy in the store, its first facts, and the commands of its processes."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from console.child import Child, RestartPolicy, python_module
from console.place import Place, check_model
from console.recording import open_recording
from console.runfile import PACKAGED_MODEL, RunFile
from shared.bus.address import bus_address_for
from shared.domains import load_domain
from shared.errors import BadInput
from shared.flow import FLOW
from shared.logs import RUN_VARIABLE
from shared.messages import Fact, Key, Role, RunStarted, Task, TaskSeeded, digest, named
from shared.parent import PARENT_VARIABLE
from shared.store import PolicyStore

HERE = Path(__file__).resolve().parents[1]
"""The folder that holds the project's own files, such as the tiny model."""
FREE_TO_CHANGE = {
    ("run", key)
    for key in (
        "name", "dir", "stall_s", "max_fault_share", "min_free_mb",
        "frozen_s", "stuck_s", "leave_s", "max_restarts", "replicas",
    )
}  # fmt: skip
"""Keys that may differ when a run goes on: they change none of its facts."""
_VERSIONS = ("sage-pace", "torch", "transformers", "tokenizers", "numpy", "pyzmq", "msgspec")
_PROCESSOR = ("cpu family", "model", "CPU implementer", "CPU part")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def model_folder(path: str) -> Path | None:
    """The folder of `model.path`, or None for the packaged model. It is looked for here and then beside the project.

    Raises `BadInput` when it can be no model.
    """
    if path == PACKAGED_MODEL:
        return None
    folder = Path(path).expanduser()
    if not folder.is_dir() and (HERE / folder).is_dir():
        folder = HERE / folder
    check_model(folder)
    return folder


def install_base(folder: Path | None, place: Place) -> str:
    """Puts the base policy (None: the packaged model) into the run's store and gives its name."""
    store = PolicyStore(place.policies)
    return store.write(_import_packaged) if folder is None else store.add_folder(folder)


def _import_packaged(target: Path) -> None:
    done = subprocess.run(python_module("console.import_model", str(target)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadInput(f"model.path: {PACKAGED_MODEL}: {done.stderr.strip().splitlines()[-1]}")


def seed_tasks(run: RunFile) -> list[tuple[Task, Key]]:
    """The seed tasks of the run's domain. Raises `BadInput` for a missing or damaged seed file, or too few seeds."""
    return load_domain(run.domain).seeds(run.domain.seeds, run.run.seed)


def first_facts(run: RunFile, place: Place, base_policy: str, tasks: Sequence[tuple[Task, Key]]) -> list[Fact]:
    """The run's first fact and its seed tasks. Their ids follow from the seed alone, not from names or places."""
    started = RunStarted(
        seed=run.run.seed,
        config=run.describe(),
        base_policy=base_policy,
        store=str(place.policies.resolve()),
        versions=versions(),
    )
    started = named(started, digest("run", run.run.seed))
    seeded = [TaskSeeded(task=task, key=key, lineage=f"seed.{index}") for index, (task, key) in enumerate(tasks)]
    return [started, *(named(fact, started, index) for index, fact in enumerate(seeded))]


def versions() -> dict[str, str]:
    """Versions of Python, of the libraries that matter for a repeat, and the processor, whose rounding does too."""
    found = {"python": platform.python_version(), "cpu": processor()}
    for package in _VERSIONS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """What the system tells of the processor, such as ``AMD EPYC, cpu family 26, model 2``; at least its architecture.

    A virtual machine often hides the name's ending, so family and model stand beside it.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = told.get("model name") or platform.processor() or platform.machine()
    return ", ".join([name, *(f"{key} {told[key]}" for key in _PROCESSOR if key in told)])


def require_whole_run(place: Place) -> None:
    """Raises `BadInput` when the log in `place` is no run's that can be gone on with: a part of one, or damaged."""
    with open_recording(place.root) as recording:
        if (origin := recording.reader.origin()) is not None:
            raise BadInput(f"{place.root}: holds a part of the run {origin.name} ({origin.what}), which cannot be gone on with")
        recording.reader.require_sound()


def recorded_start(place: Place) -> RunStarted:
    """The first fact of the run in `place`. Raises `BadInput` when its log has none."""
    with open_recording(place.root) as recording:
        for _, _, fact in recording.facts([RunStarted]):
            assert isinstance(fact, RunStarted)
            return fact
    raise BadInput(f"{place.root}: its log is empty, there is nothing to go on with; remove the directory and start anew")


def check_same(recorded: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]], place: Place) -> None:
    """Refuses to go on with a run under other settings. Raises `BadInput` with the first difference."""
    for section in sorted({*recorded, *wanted}):
        old, new = recorded.get(section, {}), wanted.get(section, {})
        for key in sorted({*old, *new}):
            if (section, key) not in FREE_TO_CHANGE and old.get(key) != new.get(key):
                raise BadInput(
                    f"{place.root}: was started with {section}.{key} = {old.get(key)}, not {new.get(key)}; give it the same "
                    "settings, or start a new run in another place with --dir"
                )


def broker_child(place: Place, run: RunFile) -> Child:
    """The broker of the run."""
    address, leave = bus_address_for(place.root), f"{run.run.leave_s:g}"
    command = python_module("services.bus", "--bus", address, "--log", str(place.log), "--leave", leave)
    return _child("bus", command, place, run, 1)


def service_children(place: Place, run: RunFile) -> list[Child]:
    """The seven roles and inference, in the order of the flow table; several of a role where the run file says so."""
    address = bus_address_for(place.root)
    children = []
    for role in FLOW:
        if role is Role.CONSOLE:
            continue
        threads = {Role.LEARNER: run.learner.threads, Role.INFERENCE: run.inference.threads}.get(role, 1)
        for name in replica_names(role, run):
            command = python_module(f"services.{role}", "--bus", address, "--replica", name)
            children.append(_child(name, command, place, run, threads))
    return children


def replica_names(role: Role, run: RunFile) -> list[str]:
    """The names of a role's processes: the role's own when there is one, else numbered."""
    count = run.run.replicas.get(role, 1)
    return [str(role)] if count == 1 else [f"{role}-{number}" for number in range(1, count + 1)]


def _child(name: str, command: list[str], place: Place, run: RunFile, threads: int) -> Child:
    child = Child(name, command, place.output / f"{name}.log", _environment(run, threads))
    child.policy = RestartPolicy(run.run.max_restarts)
    return child


def _environment(run: RunFile, threads: int) -> dict[str, str]:
    named = {RUN_VARIABLE: run.run.name, PARENT_VARIABLE: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
    return named | {name: str(threads) for name in _THREAD_VARIABLES}
