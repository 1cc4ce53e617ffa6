"""The tiny model's tokenizer: tags, words with their leading space, line breaks with their indent, and whole numbers as tokens.

A number is one token (" 14"), so sums are facts to know and not spelling to learn. Joining the tokens gives the text back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PIECES = r"</?[a-z]+>|\n(?: {4})?| ?[0-9]+| ?[A-Za-z]+| ?[^\sA-Za-z0-9]| "
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
MAX_NUMBER = 199
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}{{ '\n' }}{% endif %}"
)


def build_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A closed vocabulary: every piece of the texts, and every number from 0 to `MAX_NUMBER`."""
    pieces = sorted({piece for text in texts for piece in re.findall(PIECES, text)})
    numbers = [f" {number}" for number in range(MAX_NUMBER + 1)]
    words = [piece for piece in pieces if not re.fullmatch(r" [0-9]+", piece)]
    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *numbers, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=256,
    )
