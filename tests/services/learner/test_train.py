"""The real update on a tiny random Llama."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from services.learner.batch import TrainingSequence
from services.learner.config import LearnerConfig
from services.learner.train import Trainer
from shared.engine.batch import Completion, SampleJob, Sampler, folder_loader
from shared.messages import Sampling, Turn
from shared.store import content_name
from tests.services.learner.tiny import logprobs_of, make_model, sequences_of

CONFIG = LearnerConfig(threads=1, lr=3e-3, warmup_steps=0, kl=0.05, entropy=0.01)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base policy's folder."""
    return make_model(tmp_path_factory.mktemp("base"))


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The saved tensors."""
    return load_file(folder / "model.safetensors")


def saved(trainer: Trainer, folder: Path) -> dict[str, torch.Tensor]:
    """The tensors that the trainer writes."""
    trainer.save(folder)
    return weights(folder)


def same_bits(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    """Whether all tensors agree bit for bit."""
    return left.keys() == right.keys() and all(torch.equal(left[k].view(torch.int32), right[k].view(torch.int32)) for k in left)


def changed(**knobs: object) -> LearnerConfig:
    """The test's configuration with some knobs turned."""
    return msgspec.structs.replace(CONFIG, **knobs)


def test_recomputed_logprobs_equal_recorded_ones(base: Path) -> None:
    """Before the first change the ratio is one and the gap to the recorded log-probabilities is rounding only."""
    metrics = Trainer(base, changed(minibatches=1)).update(sequences_of(base, 12), seed=1)
    assert metrics["logprob_gap"] < 1e-6
    assert metrics["logprob_gap_max"] < 1e-5
    assert metrics["ratio_mean"] == pytest.approx(1.0, abs=1e-5)
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_sampling_and_training_agree(base: Path, temperature: float) -> None:
    """The log-probabilities that the sampler records equal the ones that the Learner recomputes on the same weights."""
    turns = [(Turn("user", f"w{3 + i % 30} w5 w9"),) for i in range(24)]
    jobs = [SampleJob(str(i), "p", turn, Sampling(temperature, 3 + i), seed=i) for i, turn in enumerate(turns)]
    outcomes = Sampler(folder_loader(lambda _: base)).run(jobs)
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    sequences = [
        TrainingSequence(
            np.array(o.prompt_ids, np.int32),
            np.array(o.completion_ids, np.int32),
            np.array(o.logprobs, np.float32),
            1.0,
            "solver",
        )
        for o in outcomes
    ]
    trainer = Trainer(base, changed(temperature=temperature))
    assert trainer.update(sequences, seed=0)["logprob_gap_max"] < 2e-5


def test_update_moves_probabilities_the_right_way(base: Path, tmp_path: Path) -> None:
    """A sequence with a positive advantage becomes more likely, one with a negative advantage less."""
    good, bad = (s._replace(advantage=a) for s, a in zip(sequences_of(base, 2, seed=5), (1.0, -1.0), strict=True))
    trainer = Trainer(base, changed(minibatches=1, kl=0.0))
    trainer.update([good, bad], seed=0)
    trainer.save(tmp_path)
    after = [logprobs_of(tmp_path, s.prompt_ids.tolist(), s.completion_ids.tolist()).sum() for s in (good, bad)]
    assert after[0] > good.logprobs.sum()
    assert after[1] < bad.logprobs.sum()


def test_zero_learning_rate_keeps_every_bit(base: Path, tmp_path: Path) -> None:
    """With lr = 0 the saved weights are the base's, bit for bit, and so is the policy's name."""
    trainer = Trainer(base, changed(lr=0.0, epochs=2))
    trainer.update(sequences_of(base, 6), seed=3)
    assert same_bits(saved(trainer, tmp_path), weights(base))
    assert content_name(tmp_path) == content_name(base)


def test_micro_batches_equal_one_big_batch(base: Path, tmp_path: Path) -> None:
    """The gradient does not depend on how many tokens go through the model at once."""
    sequences = sequences_of(base, 14)
    gradients = []
    for size in (1, 40, 100_000):
        trainer = Trainer(base, changed(minibatches=1, micro_tokens=size, grad_clip=1e9))
        trainer.update(sequences, seed=0)
        gradients.append(torch.cat([p.grad.flatten() for p in trainer._model.parameters()]))
    for gradient in gradients[:2]:
        torch.testing.assert_close(gradient, gradients[2], atol=1e-6, rtol=1e-5)


def test_loss_and_gradient_equal_a_plain_float64_sum(base: Path) -> None:
    """The joint update's gradient equals the token mean written out in float64, sequence by sequence, without padding."""
    from transformers import LlamaForCausalLM

    stale = [s._replace(logprobs=s.logprobs + np.float32(0.3) * (-1) ** i) for i, s in enumerate(sequences_of(base, 6))]
    trainer = Trainer(base, changed(minibatches=1, grad_clip=1e9, kl=0.0, entropy=0.02))
    metrics = trainer.update(stale, seed=0)
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.float64).eval()
    total, tokens = torch.zeros((), dtype=torch.float64), 0
    for s in stale:
        rows = model(torch.tensor([[*s.prompt_ids, *s.completion_ids]])).logits[0].log_softmax(-1)[len(s.prompt_ids) - 1 : -1]
        for row, token, recorded in zip(rows, s.completion_ids, s.logprobs, strict=True):
            ratio = torch.exp(row[int(token)] - float(recorded))
            bounded = torch.clamp(ratio, 0.8, 1.2)
            total = total - torch.minimum(ratio * s.advantage, bounded * s.advantage) + 0.02 * (row.exp() * row).sum()
            tokens += 1
    (total / tokens).backward()
    assert metrics["loss"] == pytest.approx(float((total / tokens).detach()), abs=1e-5)
    assert 0 < metrics["clip_share"] < 1
    for ours, reference in zip(trainer._model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.double(), reference.grad, atol=2e-6, rtol=1e-4)


def test_repeat_is_bitwise_and_resume_goes_on_alike(base: Path, tmp_path: Path) -> None:
    """Two updates in one go equal an update, a save, a load in a new trainer and a second update, bit for bit."""
    sequences = sequences_of(base, 10)
    through = Trainer(base, changed(warmup_steps=3))
    first_metrics = [through.update(sequences, seed=1), through.update(sequences, seed=2)]
    broken = Trainer(base, changed(warmup_steps=3))
    metrics = [broken.update(sequences, seed=1)]
    broken.save(tmp_path / "one")
    broken.save_optimizer(tmp_path / "one.pt")
    again = Trainer(base, changed(warmup_steps=3))
    again.load(tmp_path / "one")
    again.load_optimizer(tmp_path / "one.pt")
    metrics.append(again.update(sequences, seed=2))
    assert metrics == first_metrics
    assert same_bits(saved(through, tmp_path / "a"), saved(again, tmp_path / "b"))
    assert content_name(tmp_path / "a") == content_name(tmp_path / "b")


def test_worker_thread_comes_to_the_same_bits(base: Path, tmp_path: Path) -> None:
    """An update in another thread equals one in the main thread, with two threads of arithmetic as well."""
    sequences = sequences_of(base, 10)
    here, there = (Trainer(base, changed(threads=2)) for _ in range(2))
    here.update(sequences, seed=1)
    with ThreadPoolExecutor(1) as worker:
        worker.submit(there.update, sequences, 1).result()
    assert same_bits(saved(here, tmp_path / "a"), saved(there, tmp_path / "b"))


def test_warm_up_is_linear_and_starts_again_after_a_load(base: Path) -> None:
    """The learning rate rises by equal parts; taking another policy without its optimizer starts over."""
    trainer = Trainer(base, changed(lr=0.004, warmup_steps=4))
    sequences = sequences_of(base, 2)
    rates = [trainer.update(sequences, seed=0)["lr"] for _ in range(5)]
    assert rates == pytest.approx([0.001, 0.002, 0.003, 0.004, 0.004])
    trainer.load(base)
    assert trainer.update(sequences, seed=0)["lr"] == pytest.approx(0.001)


def test_saved_policy_is_a_complete_folder(base: Path, tmp_path: Path) -> None:
    """The saved folder loads with AutoTokenizer and gives the same ids as the base's tokenizer."""
    Trainer(base, changed(kl=0.0)).save(tmp_path)
    text = "w3 w14 w39"
    assert AutoTokenizer.from_pretrained(tmp_path)(text).input_ids == AutoTokenizer.from_pretrained(base)(text).input_ids
    assert {f.name for f in base.iterdir()} == {f.name for f in tmp_path.iterdir()}


def test_divergence_is_measured_from_the_base(base: Path) -> None:
    """After a big change the k3 divergence is above zero, and a trainer that loaded another policy measures from its base."""
    trainer = Trainer(base, changed(lr=0.01, minibatches=1))
    sequences = sequences_of(base, 8)
    trainer.update(sequences, seed=0)
    assert trainer.update(sequences, seed=0)["kl"] > 1e-3


def test_nothing_to_train_on_changes_nothing(base: Path, tmp_path: Path) -> None:
    """An empty step gives metrics of zero and the same weights."""
    trainer = Trainer(base, CONFIG)
    empty = sequences_of(base, 1)[0]
    none = [empty._replace(completion_ids=empty.completion_ids[:0], logprobs=empty.logprobs[:0])]
    assert trainer.update(none, seed=0)["tokens"] == 0
    assert same_bits(saved(trainer, tmp_path), weights(base))
