"""Records the histories anew: `make histories`, or `python -m tests.replay.record [NAME ...]` for some of them.

Each is a real run of a few seconds, with real processes, so small that its log can be kept in the repository. Where something
particular must have happened, seeds are tried in turn until it did.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.eventlog.sqlite import SqliteJournal
from tests.chaos.run_process import ROOT, RunProcess

HISTORIES = Path(__file__).parent / "histories"
SMALL = (
    "domain.seeds=12", "learner.num_challenges=3", "learner.num_assignments=2", "learner.threads=1",
    "learner.nominate_every=1", "gate.max_pairs=10", "gate.min_pairs_per_kind=1", "gate.block=4", "gate.test_tasks=3",
    "gate.test_temperatures=[1.0]",
)  # fmt: skip
MAX_BYTES = 400_000
"""Histories live in the repository; many small ones say more than a large one."""


class History(NamedTuple):
    """How a recording is made, and what must have happened in it."""

    settings: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Fact types that must occur."""
    kill_at: str = ""
    """The whole run is killed, like all its processes, as soon as a fact of this type is in the log."""


RUNS: dict[str, History] = {
    "commit": History(("gate.alpha=0.7", "gate.alpha_harm=0.3"), ("PolicyCommitted", "TaskAccepted", "PlanMalformed")),
    "harm": History(("gate.alpha_harm=0.6", "learner.lr=0.03", "learner.warmup_steps=0"), ("PolicyRolledBack",)),
    "deadline": History(
        ("learner.step_deadline_s=0.7", "learner.max_fault_share=1.0", "run.max_fault_share=1.0"),
        ("StepExpired", "TaskMalformed"),
    ),
    "killed": History(
        ("learner.nominate_every=2", "run.replicas={solver=2, verifier=2}"), ("StepClosed",), kill_at="CandidateNominated"
    ),
}
SEEDS = range(1, 40)


def cut() -> None:
    """Cuts the history `slice` out of `commit`."""
    target = HISTORIES / "slice"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "console", "log", "slice", str(HISTORIES / "commit"), str(target), "--step", "2"]
    subprocess.run(command, cwd=ROOT, check=True)


def record(name: str) -> None:
    """Makes one history, or raises `SystemExit` when no seed brings about what it needs."""
    history = RUNS[name]
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="sagepace-history-") as folder:
            log = Path(folder) / "run" / "log.sqlite"
            _run(history, log, seed)
            missing = set(history.needs) - _types(log)
            if missing:
                print(f"{name}: seed {seed} gives no {', '.join(sorted(missing))}")
                continue
            _fold(log)
            target = HISTORIES / name / "log.sqlite"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, target)
            assert target.stat().st_size <= MAX_BYTES, f"{name}: {target.stat().st_size} bytes; make the run smaller"
            print(f"{name}: seed {seed}, {target.stat().st_size:,} bytes")
            return
    raise SystemExit(f"{name}: no seed brings about {history.needs}; change its settings")


def _run(history: History, log: Path, seed: int) -> None:
    """The run, to its end or to the fact at which all its processes are killed."""
    options = [part for setting in (*SMALL, *history.settings) for part in ("--set", setting)]
    with RunProcess(log.parent, *options, steps=2, seed=seed) as run:
        if history.kill_at:
            run.wait_for(lambda: log.exists() and history.kill_at in _types(log), history.kill_at)
        else:
            assert run.end() == 0, run.output()


def _fold(log: Path) -> None:
    """Folds what a killed broker left beside the file into it, once the broker is gone."""
    for _ in range(100):
        with closing(LogReader(log)) as reader:
            if not reader.being_written():
                break
        time.sleep(0.1)
    SqliteJournal(log).close()


def _types(log: Path) -> set[str]:
    """The fact types that occur in a log; none while there is no log yet that can be read."""
    try:
        with closing(LogReader(log)) as reader:
            return set(reader.counts())
    except BadInput:
        return set()


def main() -> None:
    """Records the histories that are named, or all."""
    names = sys.argv[1:] or list(RUNS)
    for name in names:
        record(name)
    if "commit" in names:
        cut()


if __name__ == "__main__":
    main()
