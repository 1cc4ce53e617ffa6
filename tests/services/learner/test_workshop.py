"""Making policies: trying again after a failure, and the whole way with the real trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from services.learner.batch import TrainingSequence
from services.learner.service import build
from services.learner.workshop import Workshop
from shared.messages import PolicyTrained, Role, RunStarted, SampleCompleted, StepClosed, StepOpened, named
from shared.store import PolicyStore
from tests.services.learner.stage import TextTrainer
from tests.services.learner.story import earned, opened
from tests.services.learner.tiny import logprobs_of, make_model


class Stumbling(TextTrainer):
    """Breaks in the middle of its second update, when weights have changed already."""

    updates = 0

    def update(self, sequences: Sequence[TrainingSequence], seed: int) -> dict[str, float]:
        """Fails the second time."""
        self.updates += 1
        metrics = super().update(sequences, seed)
        if self.updates == 2:
            raise RuntimeError("out of memory")
        return metrics


def test_failed_update_is_done_again_from_the_files(tmp_path: Path) -> None:
    """Half a step's changes never reach a policy: the next try starts from the stored weights and optimizer state."""
    names = []
    for number, kind in enumerate((TextTrainer, Stumbling)):
        store = PolicyStore(tmp_path / str(number) / "policies")
        base = store.write(lambda folder: (folder / "weights").write_text("base"))
        made = [base]
        workshop = Workshop(store, lambda s=store, b=base, k=kind: k(s.path(b)), tmp_path / str(number) / "learner")
        for step in (1, 2):
            fact = opened(step=step, policy=made[-1])
            if (step, kind) == (2, Stumbling):
                with pytest.raises(RuntimeError, match="out of memory"):
                    workshop.make(fact, [], fresh=False)
            made.append(workshop.make(fact, [], fresh=step == 1).policy)
        names.append(made)
    assert names[0] == names[1]


async def test_real_step_from_log_to_policy(tmp_path: Path) -> None:
    """Built from a run's first fact, the Learner trains the real model in a worker thread and stores a loadable policy."""
    store = PolicyStore(tmp_path / "policies")
    base = store.add_folder(make_model(tmp_path / "model"))
    config = {"run": {"steps": 1}, "solver": {"train_on_difficulty": True}, "sage": {"solve_attempts": 3}}
    learner = {"num_challenges": 0, "num_assignments": 1, "threads": 1, "warmup_steps": 0, "minibatches": 1}
    run = RunStarted(seed=0, config=config | {"learner": learner}, base_policy=base, store=str(store.root))
    run = named(run, "run")
    service = build(run, None)  # type: ignore[arg-type]
    (first,) = [named(fact, run) async for fact in service.handle(run)]
    assert isinstance(first, StepOpened)
    service.observe(first)
    for number, role in enumerate((Role.PLANNER, Role.SOLVER, Role.SOLVER, Role.SOLVER)):
        completion = [7 + number, 9, 1]
        sample = SampleCompleted(
            id=f"x{number}", request="r", role=role, policy=base, prompt_ids=(2, 3, 4), completion_ids=tuple(completion),
            logprobs=tuple(logprobs_of(store.path(base), [2, 3, 4], completion).tolist()), text="", finish="stop",
        )  # fmt: skip
        service.observe(sample)
        service.observe(earned("s1.a0", role, sample.id, reward=float(number == 1)))
    following = service.handle(first)
    closed, trained = await anext(following), await anext(following)
    await following.aclose()
    assert isinstance(closed, StepClosed)
    assert isinstance(trained, PolicyTrained)
    assert closed.rewards == {"planner": 0.0, "solver": pytest.approx(1 / 3)}
    assert trained.metrics["logprob_gap"] < 1e-5
    assert trained.metrics["tokens"] == 12.0
    assert (trained.metrics["advantage.planner"], trained.parent) == (0.0, base)
    better, worse = ([7 + number, 9, 1] for number in (1, 2))
    for completion, up in ((better, True), (worse, False)):
        before, after = (logprobs_of(store.path(name), [2, 3, 4], completion) for name in (base, trained.policy))
        assert (np.sum(after) > np.sum(before)) == up
