"""Questions from a file: GSM8K rows are read as they are, damaged ones are named with file and line."""

import json
from pathlib import Path

import pytest

from shared.domains import Domain, Exhausted, Split, load_domain
from shared.errors import BadInput


def questions(tmp_path: Path, rows: int = 50) -> Domain:
    """A domain over a file of made-up rows."""
    file = tmp_path / "rows.jsonl"
    pairs = [(f"What is {i} plus {i}?", f"It is twice {i}.\n#### {2 * i}") for i in range(rows)]
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in pairs]
    file.write_text("\n".join(lines), encoding="utf-8")
    return load_domain({"name": "questions", "path": str(file)})


def test_a_gsm8k_answer_is_what_follows_the_four_hashes(tmp_path: Path) -> None:
    """The worked solution is not the key."""
    file = tmp_path / "rows.jsonl"
    rows = [{"question": f"How much {i}?", "answer": "2 * 617 = 1,234\n#### $1,234"} for i in range(9)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    seeds = load_domain({"name": "questions", "path": str(file)}).seeds(0, seed=1)
    assert {key.check for _, key in seeds} == {"1234"}
    assert {task.kind for task, _ in seeds} == {"math"}


def test_the_three_sides_are_disjoint_and_together_are_all_rows(tmp_path: Path) -> None:
    """Every row is on one side, and a question's side does not depend on case or spacing."""
    domain = questions(tmp_path)
    train = {task.id for task, _ in domain.seeds(0, seed=1)}
    held: dict[Split, set[str]] = {Split.GATE: set(), Split.TEST: set()}
    for split, ids in held.items():
        with pytest.raises(Exhausted, match="holds only"):
            for index in range(51):
                ids.add(domain.instance(split, 3, index)[0].id)
    assert len(train) + len(held[Split.GATE]) + len(held[Split.TEST]) == 50
    assert len(train | held[Split.GATE] | held[Split.TEST]) == 50
    assert domain.split_of("What is 1 plus 1?") is domain.split_of("what IS  1 plus 1?")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{", "rows.jsonl:2: not JSON"),
        ('{"question": "How many?"}', "rows.jsonl:2: needs a text field 'question' and a field 'answer'"),
        ('{"question": "", "answer": "3"}', "rows.jsonl:2: needs a text field"),
        ('{"question": "How many?", "answer": "#### many"}', "rows.jsonl:2: the answer 'many' is no number"),
        ("[1, 2]", "rows.jsonl:2: needs a text field"),
    ],
)
def test_a_damaged_row_is_named_with_file_and_line(tmp_path: Path, row: str, complaint: str) -> None:
    """Bad input gets one clear line."""
    file = tmp_path / "rows.jsonl"
    file.write_text('{"question": "How many?", "answer": "3"}\n' + row + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=complaint.replace("(", r"\(").replace("'", ".")):
        load_domain({"name": "questions", "path": str(file)})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """What, where, what to do."""
    with pytest.raises(BadInput, match=r"cannot read the questions file .*nowhere\.jsonl.*set domain\.path"):
        load_domain({"name": "questions", "path": str(tmp_path / "nowhere.jsonl")})


def test_an_empty_path_says_what_to_set() -> None:
    """The usual mistake with runs/smollm.toml gets its own line."""
    with pytest.raises(BadInput, match=r"domain\.path is empty"):
        load_domain({"name": "questions"})


def test_more_seeds_than_rows_are_refused(tmp_path: Path) -> None:
    """The number that is there is told."""
    with pytest.raises(BadInput, match="asks for 500 seed tasks"):
        questions(tmp_path).seeds(500, seed=1)


def test_a_file_for_a_domain_that_reads_none_is_refused() -> None:
    """Rather than ignored: whoever names a file means it."""
    with pytest.raises(BadInput, match=r"domain 'tiny' reads no file; leave it out, or set domain.name=questions"):
        load_domain({"name": "tiny", "path": "seeds.jsonl"})
