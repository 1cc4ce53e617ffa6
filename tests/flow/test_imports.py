"""Tests of who may import what, by the contracts in pyproject.toml, and of how little the command needs to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """The command, run in the project's folder."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_import_contracts_hold():
    """import-linter finds every contract kept."""
    done = run(sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def test_a_broken_contract_would_be_noticed(tmp_path: Path):
    """The same check fails on a role that imports another: it is no check that always passes."""
    for name in ("services", "services/solver", "services/planner"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "services/solver/logic.py").write_text("import services.planner\n")
    (tmp_path / "contracts.ini").write_text(
        "[importlinter]\nroot_package = services\n\n[importlinter:contract:roles]\nname = roles\ntype = independence\n"
        "modules =\n    services.solver\n    services.planner\n"
    )
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--config", "contracts.ini", "--no-cache"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr


def test_the_command_starts_without_a_model_library():
    """Importing the command line loads none of the libraries that take seconds."""
    heavy = "torch", "transformers", "tokenizers", "scipy", "numpy", "zmq"
    done = run(sys.executable, "-c", f"import sys, console.cli; print(sorted(set({heavy!r}) & set(sys.modules)))")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
