"""Between turns and token ids: rendering prompts, decoding completions, and noticing where a completion ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.messages import Turn


class Text:
    """One policy's tokenizer, with what the sampler asks of it."""

    def __init__(self, tokenizer: Any, config: Any, generation_config: Any = None) -> None:
        """`config` and `generation_config` are the model's; both, and the tokenizer, may name tokens that end a text."""
        self._tokenizer = tokenizer
        named = [getattr(source, "eos_token_id", None) for source in (tokenizer, config, generation_config)]
        self.ends: frozenset[int] = frozenset(
            token for value in named if value is not None for token in (value if isinstance(value, list | tuple) else [value])
        )
        self._pieces: list[str] = []
        self._closers: dict[str, frozenset[int] | None] = {}

    def render(self, turns: Sequence[Turn]) -> list[int]:
        """Token ids of a prompt by the chat template where there is one, else the turns joined by blank lines."""
        if self._tokenizer.chat_template:
            messages = [{"role": turn.role, "content": turn.content} for turn in turns]
            ids = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
        else:
            ids = self._tokenizer("\n\n".join(turn.content for turn in turns) + "\n")["input_ids"]
        return list(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of completion ids, without special tokens."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def stopped(self, ids: Sequence[int], stops: Sequence[str]) -> bool:
        """Whether the newest token completed one of the stop texts, in however many tokens it was spelt.

        Every token holds at least one byte, so the last ``bytes + 1`` tokens hold a stop text that just ended. They are
        decoded only when the newest token holds the stop text's last character, which few tokens do.
        """
        for stop in stops:
            closers = self._closing(stop)
            if closers is not None and ids[-1] not in closers:
                continue
            tail = ids[-len(stop.encode()) - 1 :]
            if stop in self._tokenizer.decode(tail, skip_special_tokens=False, clean_up_tokenization_spaces=False):
                return True
        return False

    def _closing(self, stop: str) -> frozenset[int] | None:
        """Tokens that can complete `stop`; None when that cannot be told from a token alone (white space, several bytes)."""
        if stop not in self._closers:
            last = stop[-1]
            sure = last.isascii() and not last.isspace()
            self._closers[stop] = frozenset(i for i, piece in enumerate(self._all_pieces()) if last in piece) if sure else None
        return self._closers[stop]

    def _all_pieces(self) -> list[str]:
        if not self._pieces:
            ids = [[token] for token in range(len(self._tokenizer))]
            self._pieces = self._tokenizer.batch_decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return self._pieces
