"""Which grader a kind of task has. A new kind is one line in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from services.verifier.config import VerifierConfig
from services.verifier.grades import NO_KEY, NO_SAMPLE, UNPARSED_ANSWER, Check, Grade, no_verdict, unusable
from services.verifier.tiny.functions import check_function, grade_function
from services.verifier.tiny.numbers import check_math, check_words, grade_number
from shared.messages import AnswerProposed, Key, Task


class Grader(NamedTuple):
    """How one kind's keys are tried and its answers graded; both take texts and bounds, and raise nothing."""

    check: Callable[[str, VerifierConfig], Check]
    grade: Callable[[str, str, VerifierConfig], Grade]


KINDS: Mapping[str, Grader] = {
    "words": Grader(check_words, grade_number),
    "math": Grader(check_math, grade_number),
    "code": Grader(check_function, grade_function),
}


def check_key(task: Task, key: Key, bounds: VerifierConfig) -> Check:
    """Whether the key can grade answers to the task."""
    grader = KINDS.get(task.kind)
    return grader.check(key.check, bounds) if grader else unusable(_no_grader(task))


def grade(answered: AnswerProposed, key: Key | None, bounds: VerifierConfig) -> Grade:
    """The verdict on an answer. No sample, no key or no grader is a fault of ours; no answer in a reply is a wrong answer."""
    if not answered.sample:
        return NO_SAMPLE
    if key is None:
        return NO_KEY
    grader = KINDS.get(answered.task.kind)
    if grader is None:
        return no_verdict(_no_grader(answered.task))
    return grader.grade(key.check, answered.answer, bounds) if answered.answer is not None else UNPARSED_ANSWER


def _no_grader(task: Task) -> str:
    return f"no grader for kind '{task.kind}'"
