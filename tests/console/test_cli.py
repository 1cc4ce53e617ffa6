"""The command line as a user meets it: real processes, their output and exit status."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.bootstrap.make import DEFAULT_SEED
from console.cli import BOOTSTRAP_SEED
from console.recording import LOG_NAME
from shared.codec import encode
from shared.eventlog.entry import entries_of
from shared.eventlog.sqlite import SqliteJournal
from shared.messages import RunEnded, RunStarted, StepOpened, digest, named

ROOT = Path(__file__).parents[2]


def sagepace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [sys.executable, "-m", "console", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    """A directory with the log of a run of two steps that ended well."""
    started = named(RunStarted(seed=5, config={"run": {"name": "short"}}, base_policy="p0", store=""), digest("run", 5))
    steps = [
        named(StepOpened(step=n, policy="p0", num_challenges=1, num_assignments=1, lineage=f"s{n}"), started, n) for n in (1, 2)
    ]
    journal = SqliteJournal(tmp_path / LOG_NAME)
    journal.append(entries_of([encode(f) for f in (started, *steps, named(RunEnded(ok=True, reason="done"), started))]))
    journal.close()
    return tmp_path


def test_help_is_quick_and_loads_no_model_library() -> None:
    """`--help` answers within half a second (the best of three on a busy machine) and imports no model library."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        done = sagepace("--help")
        times.append(time.monotonic() - began)
    assert min(times) < 0.5
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("run", "log", "bootstrap", "version"))
    loaded = "import sys, console.cli; print(sorted({'torch', 'transformers', 'zmq', 'rich.live'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True, cwd=ROOT).strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("rn", "No such command 'rn'."),
        ("run --stps 3", "No such option: --stps"),
        ("run --steps many", "Invalid value for '--steps'"),
        ("run none.toml", "none.toml: no such run file; give the path of a .toml file such as runs/tiny.toml"),
        ("run --set learner.lrr=1", "--set: learner.lrr: no such key; did you mean 'lr'?"),
        ("run --steps 0 --dir {tmp}/x", "--steps: run.steps: expected a whole number >= 1, got 0"),
        ("run --set model.path={tmp} --dir {tmp}/x", "has no config.json; give a folder as transformers' save_pretrained"),
        ("run --resume --dir {tmp}/x", "there is no run to go on with; leave out --resume"),
        ("run --dir Makefile/x", "Makefile is a file; choose another place with --dir"),
        ("run runs/smollm.toml --set domain.path={tmp}/none.jsonl --dir {tmp}/x", "none.jsonl"),
        ("log info {tmp}", "log.sqlite is missing there; give the directory of a run"),
        (
            "log cat tests/replay/histories/commit --only StepOpend",
            "--only StepOpend: no such fact; did you mean 'StepOpened'?",
        ),
    ],
)
def test_mistakes_are_one_line_and_status_2(tmp_path: Path, arguments: str, expected: str) -> None:
    """Each mistake ends with status 2 and one line; there is no traceback and nothing is left behind."""
    done = sagepace(*arguments.format(tmp=tmp_path).split())
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("sagepace: ")
    assert len(done.stderr.splitlines()) == 1
    assert expected in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_damaged_seed_rows_are_named_with_file_and_line(tmp_path: Path) -> None:
    """A row that is no JSON is named by file and line."""
    seeds = tmp_path / "seeds.jsonl"
    seeds.write_text('{"question": "1 + 1?", "answer": "#### 2"}\n{"question": \n')
    done = sagepace("run", "runs/smollm.toml", "--set", f"domain.path={seeds}", "--dir", str(tmp_path / "x"))
    assert done.returncode == 2
    assert "seeds.jsonl" in done.stderr and "2" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_a_taken_directory(run_directory: Path) -> None:
    """A directory that holds a run is refused."""
    done = sagepace("run", "--dir", str(run_directory))
    assert (done.returncode, done.stdout) == (2, "")
    assert "already holds a run; go on with it by --resume" in done.stderr


def test_log_info(run_directory: Path) -> None:
    """Counts, seed and ending, for people and as JSON."""
    text = sagepace("log", "info", str(run_directory)).stdout
    assert text.startswith("short: ended well (done)")
    assert "StepOpened" in text
    info = json.loads(sagepace("log", "info", str(run_directory), "--json").stdout)
    assert (info["seed"], info["facts"], info["by_type"]["StepOpened"]) == (5, 4, 2)


def test_log_cat(run_directory: Path) -> None:
    """Facts one a line, selected by type, lineage, range and number."""
    place = str(run_directory)
    assert len(sagepace("log", "cat", place).stdout.splitlines()) == 4
    (line,) = sagepace("log", "cat", place, "--lineage", "s2").stdout.splitlines()
    assert "StepOpened step=2" in line
    (row,) = map(
        json.loads, sagepace("log", "cat", place, "--json", "--only", "StepOpened", "--limit", "1").stdout.splitlines()
    )
    assert (row["seq"], row["fact"], row["payload"]["step"]) == (2, "StepOpened", 1)
    ranged = sagepace("log", "cat", place, "--json", "--from", "2", "--until", "3").stdout.splitlines()
    assert [json.loads(text)["seq"] for text in ranged] == [2, 3]


def test_log_cat_follow_ends_at_its_limit(run_directory: Path) -> None:
    """--follow goes on with what is added later."""
    command = [sys.executable, "-m", "console", "log", "cat", str(run_directory), "--follow", "--limit", "5", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        first = [process.stdout.readline() for _ in range(4)]
        journal = SqliteJournal(run_directory / LOG_NAME)
        journal.append(entries_of([encode(named(RunEnded(ok=True, reason="again"), "x", 1))]))
        journal.close()
        last = process.stdout.readline()
    assert process.returncode == 0
    assert [json.loads(text)["seq"] for text in [*first, last]] == [1, 2, 3, 4, 5]


def test_log_verify(run_directory: Path) -> None:
    """A whole log is status 0; a changed byte is status 1 with the fact's number."""
    place = str(run_directory)
    whole = sagepace("log", "verify", place)
    assert (whole.returncode, whole.stdout) == (0, "the log is whole: 4 facts\n")
    log = run_directory / LOG_NAME
    log.write_bytes(log.read_bytes().replace(b"num_challenges\x01", b"num_challenges\x02", 1))
    damaged = sagepace("log", "verify", place, "--json")
    assert damaged.returncode == 1
    assert json.loads(damaged.stdout)["problems"][0]["seq"] in {2, 3}  # the file may hold either of the two rows first


def test_a_reader_that_goes_away_is_no_fault(run_directory: Path) -> None:
    """`sagepace log cat | head` ends without a traceback."""
    command = f"{sys.executable} -m console log cat {run_directory} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert done.stderr == ""


def test_the_bootstrap_seed_is_the_shipped_models() -> None:
    """The command's default seed is the one that the recipe states."""
    assert BOOTSTRAP_SEED == DEFAULT_SEED


@pytest.mark.parametrize("words", [("-h",), ("--help",), ("log", "cat", "-h")])
def test_help_is_asked_for_in_either_way(words: tuple[str, ...]) -> None:
    """`-h` and `--help`, of all commands and of one."""
    done = sagepace(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")


def test_the_version_is_told_as_option_and_as_command() -> None:
    """One line."""
    assert sagepace("--version").stdout == sagepace("version").stdout
    assert sagepace("version").stdout.startswith("sagepace ")


def test_an_argument_that_is_no_text_is_refused(run_directory: Path) -> None:
    """Bytes that are not UTF-8 would break whatever quotes them."""
    command = [sys.executable, "-m", "console", "log", "trace", os.fsencode(run_directory), b"s\xff1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "sagepace: argument 's\\udcff1': is not UTF-8; write it otherwise\n"


def test_a_reader_that_goes_ends_what_only_shows() -> None:
    """`sagepace log cat | head -1` is quiet, and no failure."""
    command = f"{sys.executable} -m console log cat tests/replay/histories/commit | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


@pytest.mark.parametrize("log", ["commit", "harm"])
def test_a_reader_that_goes_changes_no_answer(log: str) -> None:
    """The status of `log diff` is its answer; nobody has to read the words."""
    words = f"log diff tests/replay/histories/commit tests/replay/histories/{log}"
    command = f"{sys.executable} -m console {words} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (int(log != "commit"), "")


def test_a_full_device_is_one_line(run_directory: Path) -> None:
    """What was printed did not arrive, and that is said."""
    command = [sys.executable, "-m", "console", "log", "cat", str(run_directory)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "sagepace: no space left on the device: see to the disk\n"


def test_a_broker_leaves_a_file_that_is_no_log_as_it_is(tmp_path: Path) -> None:
    """It is refused, unchanged and with nothing beside it."""
    file = tmp_path / "letter.txt"
    file.write_text("dear broker\n")
    command = [sys.executable, "-m", "services.bus", "--bus", f"ipc://{tmp_path}/bus", "--log", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 2
    assert "is not a log" in done.stderr and len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert file.read_text() == "dear broker\n"
