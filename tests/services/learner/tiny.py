"""A random Llama of a few thousand weights with its own tokenizer, and sequences sampled from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from services.learner.batch import TrainingSequence

VOCABULARY = 40


def make_model(folder: Path, seed: int = 0) -> Path:
    """Writes a complete transformers folder."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="w1", pad_token="w0").save_pretrained(folder)
    return folder


def logprobs_of(folder: Path, prompt: list[int], completion: list[int]) -> np.ndarray:
    """Log-probabilities by one plain forward pass of transformers, without padding, mask or company."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(torch.tensor([prompt + completion])).logits[0].log_softmax(-1)
    start = len(prompt) - 1
    return np.array([float(logits[start + i, token]) for i, token in enumerate(completion)], dtype=np.float32)


def sequences_of(folder: Path, count: int, seed: int = 0) -> list[TrainingSequence]:
    """Random sequences of mixed length with the model's own log-probabilities and mixed advantages."""
    draw = np.random.default_rng(seed)
    made = []
    for i in range(count):
        prompt = draw.integers(2, VOCABULARY, draw.integers(1, 9)).tolist()
        completion = draw.integers(2, VOCABULARY, draw.integers(1, 13)).tolist()
        recorded = logprobs_of(folder, prompt, completion)
        ids = np.array(prompt, dtype=np.int32), np.array(completion, dtype=np.int32)
        made.append(TrainingSequence(*ids, recorded, float(draw.normal()), ("solver", "planner")[i % 2]))
    return made
