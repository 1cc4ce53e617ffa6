"""`sagepace log trace`: one task's life as a tree of causes, what came of it, and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from console.inspect.branches import story_lines
from console.inspect.cat import Found, described, tell_passed_over
from console.inspect.story import Story, tell
from console.inspect.tree import Node, grown
from console.recording import open_recording

_TOKENS = ("prompt_ids", "completion_ids", "logprobs")


def print_trace(directory: Path, target: str, *, full: bool, as_json: bool) -> None:
    """Prints the story of a fact, a task or a unit of work. Raises `BadInput` when there is no such thing."""
    with open_recording(directory) as recording:
        story = tell(recording, target)
        if as_json:
            print(msgspec.json.encode(story_data(story, full=full)).decode())
        else:
            print("\n".join(story_lines(story, full=full)))
    tell_passed_over(recording)


def story_data(story: Story, *, full: bool) -> dict[str, Any]:
    """The story as plain data; without `full`, samples come without their tokens."""

    def plain(facts: Sequence[Found]) -> list[dict[str, Any]]:
        return [_fact(found, full=full) for found in facts]

    return {
        "unit": story.unit,
        "marked": story.marked,
        "task": story.task,
        "causes": plain(story.causes),
        "tree": [_node(node, full=full) for node in grown(story.facts)],
        "origin": plain(story.origin),
        "step": plain(story.learnt),
        "gate": plain(story.tested),
        "assignments": [
            _fact(each.assigned, full=full) | {"graded": each.graded, "correct": each.correct} for each in story.assignments
        ],
    }


def _node(node: Node, *, full: bool) -> dict[str, Any]:
    data = _fact(node.found, full=full)
    if node.sample is not None:
        data["sample"] = _without_tokens(msgspec.to_builtins(node.sample), full=full)
    if node.request is not None:
        data["request"] = msgspec.to_builtins(node.request)
    return data | {"children": [_node(child, full=full) for child in node.children]}


def _fact(found: Found, *, full: bool) -> dict[str, Any]:
    data = described(found)
    return data | {"payload": _without_tokens(data["payload"], full=full)}


def _without_tokens(payload: dict[str, Any], *, full: bool) -> dict[str, Any]:
    """The payload with token ids and log-probabilities replaced by their number, unless all is wanted."""
    if full:
        return payload
    return {name: len(value) if name in _TOKENS else value for name, value in payload.items()}
