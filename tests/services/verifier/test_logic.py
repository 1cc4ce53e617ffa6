"""Tests of choosing a grader and of what is nobody's fault."""

from __future__ import annotations

from services.verifier.config import VerifierConfig
from services.verifier.logic import check_key, grade
from shared.messages import Key, Verdict
from tests.builders import answer_proposed, key, task

BOUNDS = VerifierConfig()


def test_the_kind_chooses_the_grader():
    """The same text is right for one kind and wrong for another."""
    assert grade(answer_proposed(answer="23"), key(), BOUNDS).verdict is Verdict.CORRECT
    code = answer_proposed(answer="23", task=task(kind="code"))
    assert grade(code, Key("def f(x): return 23"), BOUNDS).reason == "compile_error"


def test_a_reply_without_an_answer_is_wrong():
    """The model was asked and did not answer."""
    assert grade(answer_proposed(answer=None), key(), BOUNDS) == (Verdict.WRONG, "unparsed_answer")


def test_our_own_faults_are_no_verdict():
    """No key, no sample and no grader are never a wrong answer."""
    assert grade(answer_proposed(), None, BOUNDS) == (Verdict.NO_VERDICT, "no key known")
    assert grade(answer_proposed(answer=None, sample=""), key(), BOUNDS).verdict is Verdict.NO_VERDICT
    assert grade(answer_proposed(task=task(kind="chess")), key(), BOUNDS).verdict is Verdict.NO_VERDICT


def test_a_kind_without_grader_has_no_usable_key():
    """Such a task is refused before anybody attempts it."""
    assert check_key(task(kind="chess"), key(), BOUNDS) == (False, "no grader for kind 'chess'")
    assert check_key(task(), key(), BOUNDS).usable
