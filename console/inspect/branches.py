"""Draws a task's story: a tree of causes with samples in short, then what its step, the Gate and later steps made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from console.inspect.cat import Found, field_texts
from console.inspect.story import Story
from console.inspect.times import moment
from console.inspect.tree import Node, grown
from shared.flow import author
from shared.messages import SampleCompleted, SampleRequested, TrialRequested

_CUT = 100
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
_OBVIOUS = (
    "step", "slot", "policy", "task", "sample", "plan_sample", "plan_format", "references", "request", "prompt_ids",
    "completion_ids", "logprobs", "turns", "template", "purpose", "config", "versions", "store", "role",
)  # fmt: skip
"""Fields that the tree shows by its shape, or that would hide the rest."""
_PLAIN = {"duplicate=false", "planned=false", "plan_quality=null", 'kind=""', "dropped=0", "level=0"}
"""What is so nearly always, and is worth a word only when it is not."""


def story_lines(story: Story, *, full: bool) -> Iterator[str]:
    """The story as lines; `full` shows prompts and replies whole."""
    if story.task:
        yield f"{story.unit}: task {story.task.id}, {story.task.kind}, level {story.task.level}: {story.task.question}"
    else:
        yield f"{story.unit}:"
    roots = grown(story.facts)
    depth = ""
    for cause in story.causes:
        yield f"{depth}{'└─ ' if depth or cause is not story.causes[0] else ''}{_line(cause, story.marked)}"
        depth = f"{depth}   " if cause is not story.causes[0] else ""
    yield from _drawn(roots, depth, story.marked, full=full, hangs=bool(story.causes))
    for title, facts in (("the task came from", story.origin), ("its step", story.learnt), ("the Gate", story.tested)):
        if facts:
            yield f"{title}:"
            yield from (f"  {found.fact.lineage or '-':<8} {_line(found, story.marked, policies=True)}" for found in facts)
    if story.assignments:
        yield "drawn as an assignment:"
    for each in story.assignments:
        fact = each.assigned.fact
        yield f"  {fact.lineage:<8} {_line(each.assigned, story.marked)}: {each.correct} of {each.graded} answers right"


def _drawn(nodes: Sequence[Node], indent: str, marked: str, *, full: bool, hangs: bool) -> Iterator[str]:
    for place, node in enumerate(nodes):
        last = place == len(nodes) - 1
        yield f"{indent}{('└─ ' if last else '├─ ') if hangs else ''}{_line(node.found, marked)}"
        below = f"{indent}{('   ' if last else '│  ') if hangs else ''}"
        more = bool(node.children)
        yield from (f"{below}{'│  ' if more else '   '}{text}" for text in _sample(node, full=full))
        yield from _drawn(node.children, below, marked, full=full, hangs=True)


def _line(found: Found, marked: str, *, policies: bool = False) -> str:
    fact = found.fact
    hidden = tuple(name for name in _OBVIOUS if not (policies and name == "policy"))
    texts = [_NUMBER.sub(_rounded, text) for text in field_texts(fact, without=hidden) if text not in _PLAIN]
    arm = [f"[{fact.lineage.rpartition('.')[2]}]"] if isinstance(fact, TrialRequested) else []
    words = [f"{type(fact).__name__} #{found.seq}", moment(found.time_ns)[11:23], author(fact), *arm, *texts]
    return " ".join(words) + (" <== this one" if fact.id == marked else "")


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.3g}"


def _sample(node: Node, *, full: bool) -> Iterator[str]:
    """What was asked and replied, in one line, or with `full` in as many as it takes."""
    sample, request = node.sample, node.request
    if isinstance(node.found.fact, SampleCompleted):
        sample = node.found.fact
    elif isinstance(node.found.fact, SampleRequested):
        request = node.found.fact
    if full and request is not None:
        for turn in request.turns:
            yield from _text(f"{turn.role}: ", turn.content)
    if sample is None:
        return
    tokens = f"{len(sample.completion_ids)} tokens, {sample.finish}"
    if full:
        yield from _text(f"reply ({tokens}): ", sample.text)
    else:
        text = " ".join(sample.text.split())
        yield f"reply ({tokens}): {text if len(text) <= _CUT else text[: _CUT - 1] + '…'}"


def _text(begin: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines() or [""]):
        yield f"{begin if number == 0 else ' ' * len(begin)}{line}"
