"""The sampler beside transformers' generate, in one run: output tokens a second, prompts included.

Both answer the same prompts with a random model of the tiny world's size, at temperature 1, in batches of the same size and
with the same number of threads: once with 48 tokens for every prompt, which suits a fixed batch best, and once with 8 to 88,
as answers of real lengths are. There a fixed batch waits for its longest row, and its neighbours' surplus tokens do not count.
``python -m benchmarks.bench_engine``.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import Tokenizer, decoders, models

from shared.engine.batch import Completion, SampleJob, Sampler
from shared.messages import Sampling, Turn

VOCABULARY = 512
LENGTHS = {"48 tokens each": (48, 48), "8 to 88 tokens": (8, 88)}
BATCHES = (32, 64, 128)


def tiny_world_model() -> tuple[Any, Any]:
    """A random Llama of 0.92M weights and a tokenizer of 512 pieces, a character each."""
    characters = [chr(code) for code in range(32, 127)] + ["\n"]
    pieces = ["<pad>", *characters, *(f"<{index}>" for index in range(VOCABULARY - len(characters) - 1))]
    bpe = Tokenizer(models.BPE({piece: index for index, piece in enumerate(pieces)}, []))
    bpe.decoder = decoders.Fuse()
    config = transformers.LlamaConfig(
        hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4, intermediate_size=384,
        vocab_size=VOCABULARY, max_position_embeddings=512, tie_word_embeddings=True, eos_token_id=None, bos_token_id=None,
        pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    return model, transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>", padding_side="left")


class Wish(NamedTuple):
    """A prompt and how many tokens to write."""

    prompt: str
    length: int


def ours(sampler: Sampler, wishes: list[Wish]) -> None:
    """The sampler's way."""
    jobs = [SampleJob(str(i), "p", (Turn("user", w.prompt),), Sampling(max_tokens=w.length), i) for i, w in enumerate(wishes)]
    for outcome, wish in zip(sampler.run(jobs), wishes, strict=True):
        assert isinstance(outcome, Completion)
        assert len(outcome.completion_ids) == wish.length


def theirs(model: Any, tokenizer: Any, batch: int, wishes: list[Wish]) -> None:
    """The way of generate: batch after batch, each as long as its longest row."""
    for start in range(0, len(wishes), batch):
        part = wishes[start : start + batch]
        inputs = tokenizer([f"{wish.prompt}\n" for wish in part], return_tensors="pt", padding=True)
        length = max(wish.length for wish in part)
        with torch.inference_mode():
            model.generate(
                inputs["input_ids"], attention_mask=inputs["attention_mask"], do_sample=True, top_k=0, top_p=1.0,
                temperature=1.0, max_new_tokens=length, min_new_tokens=length, pad_token_id=0,
            )  # fmt: skip


def rate(run: Callable[[list[Wish]], None], wishes: list[Wish], batch: int) -> float:
    """Wished-for tokens a second, after a warm-up of one batch."""
    run(wishes[:batch])
    start = time.perf_counter()
    run(wishes)
    return sum(wish.length for wish in wishes) / (time.perf_counter() - start)


def measure(threads: int, shortest: int, longest: int, batches: int = 3) -> list[tuple[int, float, float]]:
    """Batch size, our tokens a second, theirs."""
    model, tokenizer = tiny_world_model()
    rnd = random.Random(0)
    results = []
    for batch in BATCHES:
        sampler = Sampler(lambda _: (model, tokenizer), max_rows=batch, threads=threads)
        prompts = ["".join(rnd.choices("abcdefgh 0123", k=rnd.randint(40, 90))) for _ in range(batch * batches)]
        wishes = [Wish(prompt, rnd.randint(shortest, longest)) for prompt in prompts]
        our_rate = rate(partial(ours, sampler), wishes, batch)
        results.append((batch, our_rate, rate(partial(theirs, model, tokenizer, batch), wishes, batch)))
    return results


def main() -> None:
    """Prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="torch threads, for both")
    threads = parser.parse_args().threads
    transformers.utils.logging.set_verbosity_error()
    print(f"output tokens a second, {threads} thread(s), torch {torch.__version__}, transformers {transformers.__version__}")
    for title, (shortest, longest) in LENGTHS.items():
        print(f"\n{title}:\n| batch | sampler | generate | ratio |\n|---|---|---|---|")
        for batch, our_rate, their_rate in measure(threads, shortest, longest):
            print(f"| {batch} | {our_rate:,.0f} | {their_rate:,.0f} | {our_rate / their_rate:.2f} |")


if __name__ == "__main__":
    main()
