"""The Gate at work: draws held-out instances, has both policies answer them, and lets the paired test decide.

Map: `Gate.handle` runs the test of a candidate (`_compare`) or the final evaluation (`_evaluate`); `observe` collects the
verdicts that both wait for; `_progress` and `_outcome` turn the test's state into facts. Blocks are asked one after the other,
and pairs count in the order in which they were drawn, whatever the order of arrival: the same seed gives the same decision.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from services.gate.bettors import BETTORS
from services.gate.config import GateConfig
from services.gate.evaluation import count
from services.gate.logic import PairedTest
from services.gate.trials import BASE, CANDIDATE, FINAL, INCUMBENT, Arrivals, Instance, ask, draw
from shared.config import read_section
from shared.domains import load_domain
from shared.domains.port import Domain, Split
from shared.engine.port import Engine
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    Decision,
    EvaluationCompleted,
    InstanceDrawn,
    PairEvaluated,
    PolicyCommitted,
    PolicyRolledBack,
    RunStarted,
    Task,
    TrainingEnded,
    TrialRequested,
    Verdict,
    WealthUpdated,
    WorkFailed,
    named,
    seed_from,
)

Given = (
    InstanceDrawn
    | TrialRequested
    | PairEvaluated
    | WealthUpdated
    | CandidateJudged
    | PolicyCommitted
    | PolicyRolledBack
    | EvaluationCompleted
)

EVALUATION_BLOCK = 128
"""Tasks of the final evaluation that are asked at once."""


class Gate:
    """Compares candidates with the committed policy, and at the end the committed policy with the base."""

    def __init__(self, config: GateConfig, domain: Domain, *, base: str, test_seed: int) -> None:
        """`base` is the run's first policy; `test_seed` names the stream of test tasks, the same in every run of one seed."""
        self._config = config
        self._domain = domain
        self._base = base
        self._test_seed = test_seed
        self._arrivals = Arrivals()

    def observe(self, fact: AnswerGraded | WorkFailed) -> None:
        """Remembers the verdict on a trial, or that there will be none."""
        self._arrivals.take(fact)

    async def handle(self, fact: CandidateNominated | TrainingEnded) -> AsyncIterator[tuple[Given, ...]]:
        """The test of a candidate, or the final evaluation."""
        following = self._compare(fact) if isinstance(fact, CandidateNominated) else self._evaluate(fact)
        async for facts in following:
            yield facts

    async def _compare(self, nominated: CandidateNominated) -> AsyncIterator[tuple[Given, ...]]:
        if nominated.candidate == nominated.incumbent:
            yield (_judged(nominated, self._test(), Decision.INCONCLUSIVE, "candidate equals the committed policy"),)
            return
        test = self._test()
        asked = 0
        while test.decision is None:
            upto = min(asked + self._config.block, self._config.max_pairs)
            instances = draw(self._domain, Split.GATE, seed_from(nominated.id), range(asked, upto))
            if len(instances) < upto - asked and test.limit(asked + len(instances)):
                break
            asked += len(instances)
            yield tuple(fact for instance in instances for fact in self._ask_pair(nominated, instance))
            for instance in instances:
                pair = await self._pair(nominated, instance)
                decision = test.feed(pair.kind, pair.incumbent, pair.candidate)
                yield pair, _progress(nominated, test, instance.index)
                if decision:
                    break
        yield _outcome(nominated, test)

    def _test(self) -> PairedTest:
        config = self._config
        return PairedTest(
            BETTORS[config.bettor](config.bettor_lambda),
            max_pairs=config.max_pairs,
            alpha=config.alpha,
            alpha_harm=config.alpha_harm,
            kinds=self._domain.kinds,
            min_pairs_per_kind=config.min_pairs_per_kind,
        )

    def _ask_pair(self, nominated: CandidateNominated, instance: Instance) -> tuple[Given, ...]:
        policies = {INCUMBENT: nominated.incumbent, CANDIDATE: nominated.candidate}
        lineage = _pair_lineage(nominated, instance.index)
        return ask(nominated, instance, policies, number=instance.index, lineage=lineage, temperature=self._config.temperature)

    async def _pair(self, nominated: CandidateNominated, instance: Instance) -> PairEvaluated:
        lineage = _pair_lineage(nominated, instance.index)
        pair = PairEvaluated(
            index=instance.index,
            kind=instance.task.kind,
            task=instance.task.id,
            incumbent=await self._arrivals.verdict(f"{lineage}.{INCUMBENT}"),
            candidate=await self._arrivals.verdict(f"{lineage}.{CANDIDATE}"),
            lineage=lineage,
        )
        return named(pair, nominated, instance.index)

    async def _evaluate(self, ended: TrainingEnded) -> AsyncIterator[tuple[Given, ...]]:
        policies = {BASE: self._base}
        if ended.committed != self._base:
            policies[FINAL] = ended.committed
        instances = draw(self._domain, Split.TEST, self._test_seed, range(self._config.test_tasks))
        for place, temperature in enumerate(self._config.test_temperatures):
            results: list[tuple[Task, Verdict, Verdict]] = []
            for start in range(0, len(instances), EVALUATION_BLOCK):
                block = instances[start : start + EVALUATION_BLOCK]
                yield tuple(fact for instance in block for fact in self._ask_test(ended, instance, policies, place))
                results += [(instance.task, *await self._answers(instance, policies, place)) for instance in block]
            completed = EvaluationCompleted(
                base=self._base, final=ended.committed, temperature=temperature, counts=count(results), lineage=f"e{place}"
            )
            yield (named(completed, ended, place),)

    def _ask_test(self, ended: TrainingEnded, instance: Instance, policies: dict[str, str], place: int) -> tuple[Given, ...]:
        return ask(
            ended,
            instance,
            policies,
            number=place * self._config.test_tasks + instance.index,
            lineage=_test_lineage(place, instance),
            temperature=self._config.test_temperatures[place],
        )

    async def _answers(self, instance: Instance, policies: dict[str, str], place: int) -> tuple[Verdict, Verdict]:
        lineage = _test_lineage(place, instance)
        base = await self._arrivals.verdict(f"{lineage}.{BASE}")
        final = await self._arrivals.verdict(f"{lineage}.{FINAL}") if FINAL in policies else base
        return base, final


def _pair_lineage(nominated: CandidateNominated, index: int) -> str:
    return f"g{nominated.step}.p{index}"


def _test_lineage(place: int, instance: Instance) -> str:
    return f"e{place}.t{instance.index}"


def _progress(nominated: CandidateNominated, test: PairedTest, index: int) -> WealthUpdated:
    updated = WealthUpdated(
        step=nominated.step,
        index=index,
        log_wealth=test.log_wealth,
        log_harm=test.log_harm,
        log_threshold=test.log_threshold,
        log_harm_by_kind=test.log_harm_by_kind,
        lineage=_pair_lineage(nominated, index),
        **test.tally._asdict(),
    )
    return named(updated, nominated, index)


def _judged(nominated: CandidateNominated, test: PairedTest, decision: Decision, reason: str) -> CandidateJudged:
    judged = CandidateJudged(
        step=nominated.step,
        candidate=nominated.candidate,
        incumbent=nominated.incumbent,
        decision=decision,
        reason=reason,
        p_value=test.p_value,
        log_wealth=test.log_wealth,
        log_harm=test.log_harm,
        lineage=f"g{nominated.step}",
        **test.tally._asdict(),
    )
    return named(judged, nominated)


def _outcome(nominated: CandidateNominated, test: PairedTest) -> tuple[Given, ...]:
    """The judgement, and in the same group what it does to the policies."""
    assert test.decision is not None
    judged = _judged(nominated, test, test.decision, test.reason)
    step, candidate, incumbent = nominated.step, nominated.candidate, nominated.incumbent
    if test.decision is Decision.COMMIT:
        committed = PolicyCommitted(step=step, policy=candidate, parent=incumbent, lineage=judged.lineage)
        return judged, named(committed, nominated)
    if test.decision is Decision.REJECT_HARM:
        rolled_back = PolicyRolledBack(step=step, policy=incumbent, refused=candidate, lineage=judged.lineage)
        return judged, named(rolled_back, nominated)
    return (judged,)


def build(run: RunStarted, engine: Engine) -> Gate:
    """The gate of one run. It asks the Solver and never the model, so it has no use for `engine`."""
    config = read_section(GateConfig, run.config.get("gate", {}), "gate")
    domain = load_domain(run.config["domain"])
    return Gate(config, domain, base=run.base_policy, test_seed=seed_from("test", run.seed))
