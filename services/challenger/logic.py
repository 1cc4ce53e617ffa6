"""The Challenger's decisions: how a reply becomes a proposal, and how a proposal ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shared.dataset import normalised
from shared.engine.speaker import Reply
from shared.messages import (
    ExperienceDropped,
    ExperienceRecorded,
    Key,
    Role,
    StepOpened,
    Task,
    TaskAccepted,
    TaskAssigned,
    TaskJudged,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    Verdict,
    digest,
    named,
)
from shared.rewards.formats import format_score
from shared.rewards.roles import Reward, challenger_accepted, challenger_refused, failure_rate
from shared.rewards.rules import SageRules, attemptable
from shared.rewards.tags import last_body

NO_REPLY = "the engine gave no reply"
NO_TASK = "no question between <question> and </question>, or no key between <check> and </check>"
HELD_OUT = "belongs to the held-out split"

Experience = ExperienceRecorded | ExperienceDropped
Outcome = tuple[TaskAccepted | TaskRefused | Experience, ...]


class Draft(NamedTuple):
    """One slot's reply and the task that it was asked about."""

    slot: int
    reference: Task
    reply: Reply


def assigned(opened: StepOpened, tasks: Sequence[Task]) -> tuple[TaskAssigned, ...]:
    """The step's assignments, one a slot."""
    return tuple(
        named(
            TaskAssigned(step=opened.step, slot=slot, policy=opened.policy, task=task, lineage=f"s{opened.step}.a{slot}"),
            opened,
            slot,
        )
        for slot, task in enumerate(tasks)
    )


def proposals(
    opened: StepOpened,
    drafts: Sequence[Draft],
    rules: SageRules,
    *,
    known: Callable[[str], bool],
    held_out: Callable[[str], bool],
) -> tuple[TaskProposed | TaskMalformed | Experience, ...]:
    """All drafts of a step as facts, in slot order. `known` says whether a question is in the dataset, `held_out` its side."""
    facts: list[TaskProposed | TaskMalformed | Experience] = []
    seen: set[str] = set()
    for draft in drafts:
        question, check = last_body(draft.reply.text, "question"), last_body(draft.reply.text, "check")
        if not question or not check:
            facts += _malformed(opened, draft, NO_REPLY if draft.reply.lost else NO_TASK, rules)
        elif held_out(question):
            facts += _malformed(opened, draft, HELD_OUT, rules)
        else:
            duplicate = known(question) or normalised(question) in seen
            seen.add(normalised(question))
            facts.append(_proposed(opened, draft, question, check, duplicate=duplicate))
    return tuple(facts)


def _proposed(opened: StepOpened, draft: Draft, question: str, check: str, *, duplicate: bool) -> TaskProposed:
    """The proposal. Its task's id names step and slot too: the same question asked again is another task with another key."""
    task = Task(digest("task", opened.id, draft.slot, question), question, draft.reference.kind)
    proposed = TaskProposed(
        step=opened.step,
        slot=draft.slot,
        policy=opened.policy,
        task=task,
        key=Key(check),
        references=(draft.reference.id,),
        sample=draft.reply.sample,
        format=format_score(Role.CHALLENGER, draft.reply.text),
        duplicate=duplicate,
        lineage=f"s{opened.step}.c{draft.slot}",
    )
    return named(proposed, opened, draft.slot)


def _malformed(opened: StepOpened, draft: Draft, reason: str, rules: SageRules) -> list[TaskMalformed | Experience]:
    """The lost slot and its experience: without a question its quality is 0 by rule, nobody scores it."""
    step, sample, lineage = opened.step, draft.reply.sample, f"s{opened.step}.c{draft.slot}"
    form = 0.0 if draft.reply.lost else format_score(Role.CHALLENGER, draft.reply.text)
    malformed = TaskMalformed(step=step, slot=draft.slot, sample=sample, format=form, reason=reason, lineage=lineage)
    experience: Experience
    if draft.reply.lost:
        experience = ExperienceDropped(
            step=step, role=Role.CHALLENGER, sample=sample, reason=reason, fault=True, lineage=lineage
        )
    else:
        reward, parts = challenger_refused(0.0, form, rules)
        experience = ExperienceRecorded(
            step=step,
            role=Role.CHALLENGER,
            sample=sample,
            reward=reward,
            parts=parts,
            kind=draft.reference.kind,
            lineage=lineage,
        )
    return [named(malformed, opened, draft.slot), named(experience, opened, draft.slot)]


def refusal(proposed: TaskProposed, judged: TaskJudged, rules: SageRules) -> Outcome:
    """How a judged proposal ends at once, without an attempt; empty when the Solver is to try it."""
    quality = judged.quality
    if attemptable(usable=judged.usable, duplicate=judged.duplicate, quality=quality, rules=rules):
        return ()
    if quality is None:
        reason = "the Critic's reply held no score" if judged.sample else "the engine gave the Critic no reply"
        return _refused(proposed, reason), _dropped(proposed, reason, fault=not judged.sample)
    reason = (
        "its key is unusable"
        if not judged.usable
        else "its question is known already"
        if judged.duplicate
        else f"its quality {quality:.3f} is below {rules.alpha}"
    )
    return _refused(proposed, reason, quality), _recorded(proposed, challenger_refused(quality, proposed.format, rules))


def settlement(proposed: TaskProposed, quality: float, verdicts: Sequence[Verdict], rules: SageRules) -> Outcome:
    """How an attempted proposal ends, with all verdicts in. One attempt without a verdict leaves its difficulty unknown.

    Task and experience form one group: the learner closes the step on the experience, and by then the dataset holds the task.
    """
    if Verdict.NO_VERDICT in verdicts:
        reason = "an attempt at it got no verdict"
        return _refused(proposed, reason, quality), _dropped(proposed, reason, fault=True)
    failures = failure_rate(verdicts)
    accepted = TaskAccepted(step=proposed.step, slot=proposed.slot, task=proposed.task, quality=quality, difficulty=failures)
    reward = challenger_accepted(quality, failures, proposed.format, rules)
    return named(accepted, proposed), _recorded(proposed, reward)


def _refused(proposed: TaskProposed, reason: str, quality: float | None = None) -> TaskRefused:
    refused = TaskRefused(step=proposed.step, slot=proposed.slot, task=proposed.task, reason=reason, quality=quality)
    return named(refused, proposed)


def _recorded(proposed: TaskProposed, reward: Reward) -> ExperienceRecorded:
    experience = ExperienceRecorded(
        step=proposed.step,
        role=Role.CHALLENGER,
        sample=proposed.sample,
        reward=reward.value,
        parts=reward.parts,
        kind=proposed.task.kind,
    )
    return named(experience, proposed)


def _dropped(proposed: TaskProposed, reason: str, *, fault: bool) -> ExperienceDropped:
    experience = ExperienceDropped(step=proposed.step, role=Role.CHALLENGER, sample=proposed.sample, reason=reason, fault=fault)
    return named(experience, proposed)
