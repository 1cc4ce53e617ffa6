"""What each role of a tiny policy is worth, measured by the oracle: `python -m benchmarks.role_habits FOLDER ...`.

Planner: share of plans that are exactly right. Critic: how well its scores tell good plans and questions from bad ones (area
under the ROC curve; 0.5 is chance). Challenger: share of questions with an answer, and of keys that are right. All at
temperature 1 on held-out problems.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from console.bootstrap.corpus import TEMPLATES, ill_posed, sloppy
from shared.domains.port import Split
from shared.domains.tiny import HELD_OUT_LEVELS, draw_on_side
from shared.domains.tiny.oracle import key_is_right
from shared.domains.tiny.problems import KINDS, Problem
from shared.engine.batch import Completion, SampleJob, Sampler
from shared.engine.weights import load_model, load_tokenizer
from shared.messages import Sampling, Turn
from shared.rewards.rules import SageRules
from shared.rewards.scores import quality_from
from shared.rewards.tags import last_body

RULES = SageRules()
COUNT = 300


class Policy:
    """One policy, ready to be asked."""

    def __init__(self, folder: Path) -> None:
        loaded = load_model(folder), load_tokenizer(folder)
        self._sampler = Sampler(lambda name: loaded)

    def ask(self, prompts: Sequence[tuple[Turn, ...]], stop: str) -> list[str]:
        """One reply each, at temperature 1."""
        sampling = Sampling(1.0, 128, (stop,))
        jobs = [SampleJob(str(i), "policy", turns, sampling, i) for i, turns in enumerate(prompts)]
        outcomes = self._sampler.run(jobs)
        return [outcome.text if isinstance(outcome, Completion) else "" for outcome in outcomes]


def planner(policy: Policy, problems: Sequence[Problem]) -> float:
    """Share of exact plans."""
    replies = policy.ask([TEMPLATES["planner"]["plan"].render(question=p.question()).turns for p in problems], "</plan>")
    return _share([last_body(reply, "plan") == p.plan() for reply, p in zip(replies, problems, strict=True)])


def critic(policy: Policy, name: str, good: Sequence[dict[str, str]], bad: Sequence[dict[str, str]]) -> float:
    """Area under the ROC curve of the scores of good against bad; replies without a score are left out."""
    replies = policy.ask([TEMPLATES["critic"][name].render(None, **texts).turns for texts in (*good, *bad)], "</score>")
    scores = [quality_from(reply, RULES) for reply in replies]
    high = [score for score in scores[: len(good)] if score is not None]
    low = [score for score in scores[len(good) :] if score is not None]
    return sum((h > b) + 0.5 * (h == b) for h in high for b in low) / max(1, len(high) * len(low))


def challenger(policy: Policy, problems: Sequence[Problem]) -> tuple[float, float]:
    """Shares of answerable questions and of right keys, among all replies."""
    replies = policy.ask([TEMPLATES["challenger"][p.kind].render(question=p.question()).turns for p in problems], "</check>")
    found = [
        key_is_right(last_body(reply, "question") or "", p.kind, last_body(reply, "check") or "")
        for reply, p in zip(replies, problems, strict=True)
    ]
    return _share([each is not None for each in found]), _share([each is True for each in found])


def report(folder: Path) -> str:
    """One Markdown row."""
    rng = random.Random(5)
    problems = [draw_on_side(rng, Split.TEST, rng.choice(KINDS), rng.choice(HELD_OUT_LEVELS)) for _ in range(COUNT)]
    wrong = [sloppy(rng, problem) for problem in problems]
    policy = Policy(folder)
    good = [{"question": p.question(), "plan": p.plan()} for p in problems]
    plans = critic(policy, "plan", good, [g | {"plan": w.plan()} for g, w in zip(good, wrong, strict=True)])
    tasks = critic(policy, "task", good, [{"question": ill_posed(rng, p)[0]} for p in problems])
    answerable, right = challenger(policy, problems)
    return f"| {folder.name} | {planner(policy, problems):.1%} | {plans:.3f} | {tasks:.3f} | {answerable:.1%} | {right:.1%} |"


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / max(1, len(hits))


if __name__ == "__main__":
    print("| policy | exact plans | Critic on plans | Critic on questions | answerable questions | right keys |")
    print("|---|---|---|---|---|---|")
    for place in sys.argv[1:]:
        print(report(Path(place)), flush=True)
