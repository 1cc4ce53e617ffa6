"""Size is a budget: `python tests/flow/test_sizes.py` lists it, and the test holds the code to it."""

import ast
import statistics
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("services", "shared", "console") for path in (ROOT / folder).rglob("*.py"))


def lines_of(path: Path) -> int:
    """Lines of a module."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions_of(path: Path) -> list[tuple[int, str]]:
    """Lines and name of every function and method, docstring included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    return [((node.end_lineno or 0) - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.name}") for node in found]


FILLED = [path for path in MODULES if lines_of(path) > 1]
FUNCTIONS = sorted(function for path in MODULES for function in functions_of(path))


def test_modules_are_small() -> None:
    """Half of all modules are under 100 lines; the only one above 400 is the list of all messages."""
    sizes = {path.relative_to(ROOT).as_posix(): lines_of(path) for path in FILLED}
    assert statistics.median(sizes.values()) < 100
    assert [name for name, size in sizes.items() if size > 400] in ([], ["shared/messages.py"])


def test_functions_are_short() -> None:
    """Nine functions in ten are under 30 lines and none is above 60."""
    sizes = [size for size, _ in FUNCTIONS]
    assert sizes[len(sizes) * 9 // 10] < 30
    assert [name for size, name in FUNCTIONS if size > 60] == []


if __name__ == "__main__":
    modules = sorted((lines_of(path), path.relative_to(ROOT).as_posix()) for path in FILLED)
    print(f"{len(modules)} modules, median {statistics.median(size for size, _ in modules):.0f} lines; the longest:")
    print("\n".join(f"{size:5d} {name}" for size, name in modules[-8:]))
    lengths = [size for size, _ in FUNCTIONS]
    print(f"{len(lengths)} functions, median {statistics.median(lengths):.0f} lines; the longest:")
    print("\n".join(f"{size:5d} {name}" for size, name in FUNCTIONS[-8:]))
