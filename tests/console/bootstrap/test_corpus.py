"""The bootstrap corpus: nothing held out is in it, its tokenizer is exact, and its habits are what they are said to be."""

import itertools
import re
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from console.bootstrap.corpus import Transcript, one_line, transcripts
from console.bootstrap.habits import Habits
from console.bootstrap.pretrain import encode, vocabulary
from shared.domains import Split, load_domain
from shared.domains.tiny import split_of_numbers
from shared.domains.tiny.problems import Step

HABITS = Habits()


@pytest.fixture(scope="module")
def corpus() -> list[Transcript]:
    """The first transcripts of the stream that made the shipped model."""
    return list(itertools.islice(transcripts(8, HABITS), 20_000))


def questions_in(transcript: Transcript) -> set[str]:
    """Every question that a transcript shows or asks."""
    text = transcript.turns[0].content + "\n" + transcript.reply
    return set(re.findall(r"[A-Z][a-z]+ has [^?]*\?|(?:Write|Make) f\(x\): [^.]*\.", text))


def test_no_held_out_question_is_in_the_corpus(corpus: list[Transcript]) -> None:
    """The final test's questions and the gate's occur nowhere in the corpus, nor among the seeds, nor in each other."""
    seen = {question for transcript in corpus for question in questions_in(transcript)}
    domain = load_domain({"name": "tiny"})
    seeds = {task.question for task, _ in domain.seeds(500, seed=1)}
    test = {domain.instance(Split.TEST, 11, i)[0].question for i in range(600)}
    gate = {domain.instance(Split.GATE, 11, i)[0].question for i in range(600)}
    assert len(seen) > 10_000
    assert not test & (seen | seeds | gate)
    assert not gate & (seen | seeds)


def test_well_posed_questions_of_the_corpus_have_training_numbers(corpus: list[Transcript]) -> None:
    """By construction: not only the texts, the number sequences themselves are on the training side."""
    whole = [q for t in corpus if t.turns[0].content.startswith(("solve", "plan")) for q in questions_in(t)]
    assert len(whole) > 5_000
    assert {split_of_numbers(question) for question in whole} == {Split.TRAIN}


def test_the_tokenizer_gives_every_text_back_and_knows_every_word(corpus: list[Transcript]) -> None:
    """Encoding and decoding are exact; numbers are one token each; nothing is unknown, held-out questions included."""
    tokenizer = vocabulary(7, HABITS)
    domain = load_domain({"name": "tiny"})
    texts = [transcript.reply for transcript in corpus[:3000]]
    texts += [domain.instance(Split.TEST, 11, i)[0].question for i in range(300)]
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text
        assert tokenizer.unk_token_id not in ids
    assert len(tokenizer(" 14 99 199", add_special_tokens=False)["input_ids"]) == 3


def test_the_tokenizer_survives_saving_and_the_automatic_loader(corpus: list[Transcript], tmp_path: Path) -> None:
    """AutoTokenizer must not replace it by another of its own: the ids before and after are the same, on numbers too."""
    tokenizer = vocabulary(7, HABITS)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    for transcript in corpus[:200]:
        assert encode(loaded, transcript) == encode(tokenizer, transcript)


def test_a_hasty_function_is_wrong_only_where_brackets_matter() -> None:
    """Without brackets a product binds to the last number instead of to everything before."""
    steps = (Step("add", 3), Step("multiply", 2), Step("subtract", 1))
    assert one_line(steps, brackets=True) == "(x + 3) * 2 - 1"
    assert one_line(steps, brackets=False) == "x + 3 * 2 - 1"
    assert one_line((Step("multiply", 2), Step("add", 3)), brackets=True) == "x * 2 + 3"


def test_the_same_seed_writes_the_same_corpus() -> None:
    """Reproducible from the seed alone."""
    first = list(itertools.islice(transcripts(3, HABITS), 50))
    assert first == list(itertools.islice(transcripts(3, HABITS), 50))
    assert first != list(itertools.islice(transcripts(4, HABITS), 50))
