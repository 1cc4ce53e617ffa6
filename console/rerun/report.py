"""A re-run's result as text for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from console.rerun.compare import Kind
from console.rerun.result import Cause, FirstDifference, Live, Result
from shared.messages import Fact, Role, SampleCompleted

_WIDTH = 100
"""Longer values are cut; --json gives them whole."""
_FIELDS = 12
"""So many changed fields are shown of one fact, and in all."""
_LINKS = 6
"""So many links of a long chain of causes are shown at each end."""


def as_json(result: Result) -> str:
    """The whole result as one object."""
    return msgspec.json.encode(result).decode()


def as_text(result: Result) -> str:
    """The result in lines."""
    return "\n".join(_lines(result))


def _lines(result: Result) -> Iterator[str]:
    if result.nothing_to_do:
        yield f"nothing to do: the recording holds no fact for {result.service} to work on"
        return
    if result.identical:
        yield f"identical: {result.same} facts of {result.service} ({_circumstances(result)})"
    elif result.first is None:
        yield f"different: the model says otherwise; the {result.same} facts of {result.service} are the same nevertheless"
    else:
        differing = sum(row.changed + row.late + row.only_recorded + row.only_now for row in result.by_type)
        what = f" under {', '.join(result.settings)}" if result.settings else ""
        yield f"different: {differing} of {differing + result.same} facts of {result.service}{what} ({_circumstances(result)})"
    yield from _notes(result)
    if result.live:
        yield from _live(result.live)
    if result.first:
        yield from _first(result.first)
        yield from _summary(result)


def _circumstances(result: Result) -> str:
    parts = [f"{result.facts} in the recording"]
    if result.context:
        parts.append(f"{result.context} of them context")
    if result.answered:
        parts.append(f"{result.answered} samples answered from it")
    return ", ".join([*parts, f"{result.seconds:.1f} s"])


def _notes(result: Result) -> Iterator[str]:
    if result.passed_over:
        why = "whose policy is gone" if result.service is Role.INFERENCE else "given up in the recording"
        yield f"passed over: {_count(result.passed_over, 'fact')} {why}"
    if result.beyond:
        yield f"beyond the recording: {_count(result.beyond, 'fact')} of work that was open when it ended"
    if not result.identical and result.elsewhere:
        changes = ", ".join(f"{name} {then} -> {now}" for name, (then, now) in result.elsewhere.items())
        yield f"note: weights repeat bit for bit only on the same processor and versions, and here: {changes}"


def _live(live: Live) -> Iterator[str]:
    yield f"live: {_count(live.asked, 'request')} put to the model, {live.equal} answered token for token as recorded"
    if live.left_to_the_recording:
        yield f"live: {_count(live.left_to_the_recording, 'request')} answered from the recording, since the policy is gone"
    if live.recorded is not None and live.live is not None:
        yield f"live: first departure at fact {live.departure_seq}, {_name(live.recorded)}"
        yield f"  recorded  {_short(_said(live.recorded))}"
        yield f"  live      {_short(_said(live.live))}"


def _said(answer: Fact) -> Any:
    return answer.text if isinstance(answer, SampleCompleted) else answer


def _first(first: FirstDifference) -> Iterator[str]:
    place = "not in the recording" if first.seq is None else f"fact {first.seq}"
    fact = first.recorded or first.now
    assert fact is not None
    yield f"first difference: {_name(fact)}, {place}, {first.kind}"
    if first.kind is Kind.CHANGED:
        for field in first.fields[:_FIELDS]:
            yield f"  {field.path}: {_short(field.recorded)} -> {_short(field.now)}"
        if len(first.fields) > _FIELDS:
            yield f"  and {len(first.fields) - _FIELDS} more fields"
    if first.recorded is not None:
        yield f"  recorded  {_short(first.recorded)}"
    if first.now is not None and first.kind is not Kind.LATE:
        yield f"  now       {_short(first.now)}"
    for link in _chain(first.causes):
        yield f"  {link}"


def _chain(causes: list[Cause]) -> list[str]:
    lines = [f"<- fact {cause.seq} {cause.lineage} {cause.type}" for cause in causes]
    if len(lines) > 2 * _LINKS + 1:
        lines[_LINKS:-_LINKS] = [f"   and {len(lines) - 2 * _LINKS} more"]
    return lines


def _summary(result: Result) -> Iterator[str]:
    yield "by type"
    width = max(len(row.type) for row in result.by_type)
    for row in result.by_type:
        counts = {
            "changed": row.changed, "late": row.late, "only recorded": row.only_recorded, "only now": row.only_now,
            "as recorded": row.same,
        }  # fmt: skip
        yield f"  {row.type:<{width}}  {', '.join(f'{count} {what}' for what, count in counts.items() if count)}"
    if result.fields:
        yield "by field"
    for field in result.fields[:_FIELDS]:
        change = f"{_short(field.recorded)} -> {_short(field.now)}"
        yield f"  {field.type}.{field.field}: {field.count} changed, first in {field.lineage or 'the run'}: {change}"
    if len(result.fields) > _FIELDS:
        yield f"  and {len(result.fields) - _FIELDS} more"
    if result.questions and result.waiting:
        yield f"the recording has no answer to {_count(result.questions, 'question')} asked anew; still waiting:"
        yield from (f"  {work.type} {work.lineage} (fact {work.seq})" for work in result.waiting)


def _name(fact: Fact) -> str:
    return f"{fact.lineage} {type(fact).__name__}".strip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
