"""Rendering prompts and noticing ends."""

from __future__ import annotations

from types import SimpleNamespace

from shared.engine.text import Text
from shared.messages import Turn
from tests.shared.engine.tiny_models import CLOSE, END, tiny_tokenizer


def test_the_chat_template_is_used_where_there_is_one() -> None:
    """Roles, and the opening of the model's own turn, come from the template."""
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[a]{% endif %}"
    )
    ids = Text(tokenizer, None).render([Turn("user", "ab"), Turn("assistant", "7")])
    assert tokenizer.decode(ids) == "[user]ab[assistant]7[a]"


def test_ends_are_gathered_from_tokenizer_model_and_generation_settings() -> None:
    """Each of the three may name one end token or several."""
    text = Text(tiny_tokenizer(), SimpleNamespace(eos_token_id=5), SimpleNamespace(eos_token_id=[7, 9]))
    assert text.ends == {END, 5, 7, 9}


def test_a_stop_text_is_found_however_it_is_spelt() -> None:
    """As one token, character by character, and with white space at its end; not before it is complete."""
    tokenizer = tiny_tokenizer()
    text = Text(tokenizer, None)
    one = tokenizer("ab" + CLOSE)["input_ids"]
    spelt = [tokenizer.convert_tokens_to_ids(c) for c in CLOSE]
    assert text.stopped(one, [CLOSE])
    assert text.stopped([*one[:-1], *spelt], [CLOSE])
    assert not text.stopped(spelt[:-1], [CLOSE])
    assert not text.stopped([*spelt, one[0]], ["</y>"])
    assert text.stopped(tokenizer("1\n\n")["input_ids"], ["\n\n"])


def test_an_older_stop_text_does_not_stop_again() -> None:
    """Only what the newest token completed counts; what ended before it is out of sight."""
    ids = tiny_tokenizer()("7;abcdabcd1 2 3 4;")["input_ids"]
    assert not Text(tiny_tokenizer(), None).stopped(ids, ["7;"])
