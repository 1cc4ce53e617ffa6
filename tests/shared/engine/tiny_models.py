"""Small random models and a small tokenizer for the engine's tests."""

from __future__ import annotations

import random
import string
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

from shared.engine.batch import SampleJob
from shared.messages import Sampling, Turn

END, CLOSE = 2, "</x>"


def tiny_tokenizer() -> Any:
    """Characters, the words `ab` and `cd`, and the one-token text `</x>`, which may also be spelt character by character."""
    vocab = {"<pad>": 0, "<s>": 1, "</s>": END}
    for piece in [*string.printable[:95], "\n", "ab", "cd"]:
        vocab[piece] = len(vocab)
    bpe = Tokenizer(models.BPE(vocab, [("a", "b"), ("c", "d")]))
    bpe.decoder = decoders.Fuse()
    bpe.normalizer = normalizers.Sequence([])
    bpe.add_tokens([AddedToken(CLOSE, normalized=False)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


@cache
def tiny_model(seed: int = 0, kv_heads: int = 2, context: int = 640) -> Any:
    """A random Llama of two layers with grouped queries; its texts are noise with some structure."""
    config = transformers.LlamaConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=kv_heads, intermediate_size=96,
        vocab_size=len(tiny_tokenizer()), max_position_embeddings=context, tie_word_embeddings=True, initializer_range=0.08,
        pad_token_id=0, bos_token_id=1, eos_token_id=END,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return transformers.LlamaForCausalLM(config).eval()


def job(key: str = "0", text: str = "ab 1 + 2", policy: str = "p", seed: int = 1, **sampling: Any) -> SampleJob:
    """A request of one user turn."""
    return SampleJob(key, policy, (Turn("user", text),), Sampling(**({"max_tokens": 24} | sampling)), seed)


def many_jobs(count: int, seed: int, policies: tuple[str, ...] = ("p",)) -> list[SampleJob]:
    """Requests of all prompt lengths that matter inside, some prompts shared, with several temperatures and lengths."""
    rnd = random.Random(seed)
    lengths = [1, 2, 20, 30, 31, 32, 33, 62, 63, 64, 65, 100, 200]
    texts = ["".join(rnd.choices("abcd 0123+", k=rnd.choice(lengths))) for _ in range(max(1, 2 * count // 3))]
    return [
        job(
            key=str(index),
            text=rnd.choice(texts),
            policy=rnd.choice(policies),
            seed=rnd.getrandbits(63),
            temperature=rnd.choice([1.0, 1.0, 0.7, 0.0]),
            max_tokens=rnd.choice([1, 8, 40, 90]),
        )
        for index in range(count)
    ]
