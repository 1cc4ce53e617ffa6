"""What checking and grading can say."""

from __future__ import annotations

from typing import NamedTuple

from shared.messages import Verdict


class Grade(NamedTuple):
    """A verdict on an answer and the reason in one word or short sentence."""

    verdict: Verdict
    reason: str


class Check(NamedTuple):
    """Whether a key can grade answers, and why not. Reasons travel in public facts, so none quotes the key or its value."""

    usable: bool
    reason: str


EQUAL = Grade(Verdict.CORRECT, "equal")
DIFFERENT = Grade(Verdict.WRONG, "different")
UNPARSED_ANSWER = Grade(Verdict.WRONG, "unparsed_answer")
PASSED = Grade(Verdict.CORRECT, "passed")
WRONG_ANSWER = Grade(Verdict.WRONG, "wrong_answer")
COMPILE_ERROR = Grade(Verdict.WRONG, "compile_error")
RUNTIME_ERROR = Grade(Verdict.WRONG, "runtime_error")
NO_KEY = Grade(Verdict.NO_VERDICT, "no key known")
NO_SAMPLE = Grade(Verdict.NO_VERDICT, "the engine gave no reply")
USABLE = Check(True, "usable")


def no_verdict(reason: str) -> Grade:
    """A fault of ours or of the key: nobody is paid or blamed."""
    return Grade(Verdict.NO_VERDICT, reason)


def unusable(reason: str) -> Check:
    """A key that cannot grade."""
    return Check(False, reason)
