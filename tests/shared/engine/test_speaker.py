"""Tests of a role's voice."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.engine.speaker import Reply, Speaker
from shared.errors import BadInput
from shared.messages import Role, Sampling
from tests.builders import in_turn, prompts_of, task, trial_requested


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A role's folder with one prompt set of one template."""
    prompts = tmp_path / "prompts" / "odd"
    prompts.mkdir(parents=True)
    (prompts / "ask.md").write_text("{question} ({plan})")
    return tmp_path


async def test_a_question_is_rendered_and_the_sample_named(folder: Path):
    """Template, task and texts make the prompt; the reply carries the completion's id."""
    engine = in_turn("23")
    speaker = Speaker(Role.SOLVER, engine, folder, "odd", Sampling(temperature=1.0, max_tokens=7))
    reply = await speaker.ask(trial_requested(), "ask", task("How many?"), policy="p1", temperature=0.0, plan="add")
    assert reply.text == "23"
    assert reply.sample
    assert not reply.lost
    assert prompts_of(engine) == ["How many? (add)"]
    assert engine.calls[0].sampling == Sampling(temperature=0.0, max_tokens=7)


async def test_an_engine_that_cannot_answer_gives_a_lost_reply(folder: Path):
    """It ends as a value, so that the role can say what became of its work."""
    speaker = Speaker(Role.SOLVER, in_turn(None), folder, "odd", Sampling())
    reply = await speaker.ask(trial_requested(), "ask", task(), policy="p1", plan="")
    assert reply == Reply("", "")
    assert reply.lost


def test_a_missing_set_or_template_is_bad_input(folder: Path):
    """The line says which set or template, and what there is."""
    with pytest.raises(BadInput, match=r"solver\.prompts: no prompt set 'plain'.*odd"):
        Speaker(Role.SOLVER, in_turn(), folder, "plain", Sampling())
    with pytest.raises(BadInput, match=r"the set 'odd' has no 'solve\.md'; it has: ask"):
        Speaker(Role.SOLVER, in_turn(), folder, "odd", Sampling()).need(("solve",))
