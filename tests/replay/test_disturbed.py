"""A run in which processes die, replicas share work, and everything is killed in the end, re-runs as any other."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from console.rerun.command import SERVICES
from console.rerun.report import as_text
from shared.messages import StepClosed
from tests.chaos.run_process import RunProcess
from tests.console.rerun.recordings import again

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cut", [False, True], ids=["to the end", "cut off"])
def test_every_role_is_identical_on_a_run_that_was_disturbed(tmp_path: Path, cut: bool) -> None:
    """What a killed process left half done, and another did again, is in the log once; that is what the re-run says."""
    rng = random.Random(int(cut))
    with RunProcess(tmp_path / "run", "--set", "run.replicas={solver=2}", steps=3, seed=5) as run:
        run.wait_for(lambda: run.head() > 60, "facts beyond the seeds")
        for _ in range(12):
            services = run.services()
            if services:
                with suppress(ProcessLookupError):
                    os.kill(services[rng.choice(sorted(services))], signal.SIGKILL)
            time.sleep(rng.uniform(0.2, 0.6))
        if cut:
            run.wait_for(lambda: run.count(StepClosed) > 0, "a step")
        else:
            assert run.end() == 0, run.output()
    for role in SERVICES:
        result = again(tmp_path / "run" / "log.sqlite", role)
        assert result.identical, f"{role}: {as_text(result)}"
