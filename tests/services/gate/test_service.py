"""The gate's service, driven by a small world that answers each trial as the test wants it."""

import asyncio
from collections.abc import Callable

import pytest

from services.gate.config import GateConfig
from services.gate.service import Gate
from shared.domains.port import Exhausted, Split
from shared.flow import FLOW
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    Decision,
    EvaluationCompleted,
    Fact,
    InstanceDrawn,
    Key,
    PairEvaluated,
    PolicyCommitted,
    PolicyRolledBack,
    Purpose,
    Role,
    Task,
    TrainingEnded,
    TrialRequested,
    Verdict,
    WealthUpdated,
    WorkFailed,
    named,
)
from shared.runtime import hinted

RIGHT, WRONG, NONE = Verdict.CORRECT, Verdict.WRONG, Verdict.NO_VERDICT
NOMINATED = named(CandidateNominated(step=10, candidate="new", incumbent="old", lineage="s10"), "step")
ENDED = named(TrainingEnded(step=50, policy="newer", committed="new", reason="done", lineage="s50"), "step")

Answer = Callable[[TrialRequested], Verdict]


class Pool:
    """A domain of numbered tasks, words and code in turn, `size` of them in each split."""

    kinds = ("words", "code")

    def __init__(self, size: int = 10_000) -> None:
        self.size = size

    def seeds(self, count: int, seed: int) -> list[tuple[Task, Key]]:
        """The gate trains nobody."""
        raise AssertionError((count, seed))

    def instance(self, split: Split, seed: int, index: int) -> tuple[Task, Key]:
        """Named after its place, so that tests can tell the instances apart."""
        if index >= self.size:
            raise Exhausted(f"{self.size} tasks in {split}")
        name = f"{split}-{seed}-{index}"
        return Task(id=name, question=name, kind=self.kinds[index % 2], level=index % 3), Key(check=str(index))

    def split_of(self, question: str) -> Split:
        """As the name says."""
        return Split(question.split("-", maxsplit=1)[0])


def gate(pool: Pool | None = None, **knobs: object) -> Gate:
    """A gate over a pool, for a run that began with the policy "old"."""
    return Gate(GateConfig(**knobs), pool or Pool(), base="old", test_seed=7)  # type: ignore[arg-type]


def graded(trial: TrialRequested, verdict: Verdict) -> AnswerGraded:
    """What Solver and Verifier make of a trial."""
    answer = AnswerGraded(
        purpose=Purpose.TRIAL,
        task=trial.task,
        attempt=0,
        verdict=verdict,
        reason="",
        sample="s",
        format=1.0,
        policy=trial.policy,
    )
    return named(answer, trial)


async def drive(subject: Gate, fact: CandidateNominated | TrainingEnded, answer: Answer) -> list[Fact]:
    """All facts of one `handle`; each trial is answered before the gate goes on."""
    facts: list[Fact] = []
    async for group in subject.handle(fact):
        for given in group:
            facts.append(given)
            if isinstance(given, TrialRequested):
                subject.observe(graded(given, answer(given)))
    return facts


def of(kind: type[Fact], facts: list[Fact]) -> list[Fact]:
    """The facts of one type."""
    return [fact for fact in facts if isinstance(fact, kind)]


def judged(facts: list[Fact]) -> CandidateJudged:
    """The one judgement."""
    (judgement,) = of(CandidateJudged, facts)
    assert isinstance(judgement, CandidateJudged)
    return judgement


def better(trial: TrialRequested) -> Verdict:
    """Only the new policy is ever right."""
    return RIGHT if trial.policy == "new" else WRONG


def worse(trial: TrialRequested) -> Verdict:
    """Only the old policy is ever right."""
    return RIGHT if trial.policy == "old" else WRONG


def specialist(trial: TrialRequested) -> Verdict:
    """Better at words and worse at code."""
    return better(trial) if trial.task.kind == "words" else worse(trial)


async def test_a_better_candidate_is_committed_in_the_same_group_as_the_judgement() -> None:
    """After 16 pairs: eight of each kind; nothing asks for a second block."""
    subject = gate()
    groups = []
    async for group in subject.handle(NOMINATED):
        groups.append(group)
        for given in group:
            if isinstance(given, TrialRequested):
                subject.observe(graded(given, better(given)))
    judgement, committed = groups[-1]
    assert isinstance(judgement, CandidateJudged)
    assert (judgement.decision, judgement.wins, judgement.losses) == (Decision.COMMIT, 16, 0)
    assert isinstance(committed, PolicyCommitted)
    assert (committed.policy, committed.parent, committed.step) == ("new", "old", 10)
    assert [len(group) for group in groups] == [32 * 3] + [2] * 16 + [2]


async def test_every_pair_streams_its_result_and_the_wealth() -> None:
    """In the order of drawing, named after the nomination and the pair's number."""
    facts = await drive(gate(min_pairs_per_kind=0), NOMINATED, better)
    pairs, wealth = of(PairEvaluated, facts), of(WealthUpdated, facts)
    assert [pair.lineage for pair in pairs] == [f"g10.p{index}" for index in range(7)]
    assert pairs == [named(pair, NOMINATED, index) for index, pair in enumerate(pairs)]
    assert [update.index for update in wealth] == list(range(7))  # type: ignore[attr-defined]
    last = wealth[-1]
    assert isinstance(last, WealthUpdated)
    assert last.log_wealth >= last.log_threshold > wealth[-2].log_wealth  # type: ignore[attr-defined]
    assert set(last.log_harm_by_kind) == {"words", "code"}


async def test_a_worse_candidate_is_rolled_back() -> None:
    """Proven harm returns the learner to the incumbent."""
    facts = await drive(gate(), NOMINATED, worse)
    assert judged(facts).decision is Decision.REJECT_HARM
    assert facts[-1] == named(PolicyRolledBack(step=10, policy="old", refused="new", lineage="g10"), NOMINATED)


async def test_a_gain_in_words_does_not_pay_for_a_loss_in_code() -> None:
    """The reason names the kind."""
    judgement = judged(await drive(gate(), NOMINATED, specialist))
    assert judgement.decision is Decision.REJECT_HARM
    assert "worse in code" in judgement.reason


async def test_equal_answers_end_in_a_futile_verdict_that_moves_no_policy() -> None:
    """34 ties of 40 leave six pairs, and seven wins would be needed."""
    facts = await drive(gate(max_pairs=40), NOMINATED, lambda _: RIGHT)
    judgement = judged(facts)
    assert (judgement.decision, judgement.ties, judgement.p_value) == (Decision.REJECT_FUTILE, 34, 1.0)
    assert not of(PolicyCommitted, facts) and not of(PolicyRolledBack, facts)


async def test_a_budget_that_ends_one_win_short_is_inconclusive() -> None:
    """Six wins where seven are needed, with a tie at the end."""

    def answer(trial: TrialRequested) -> Verdict:
        return RIGHT if trial.task.id.endswith("-6") else better(trial)

    judgement = judged(await drive(gate(max_pairs=7), NOMINATED, answer))
    assert (judgement.decision, judgement.wins, judgement.ties) == (Decision.INCONCLUSIVE, 6, 1)


async def test_pairs_without_a_verdict_are_dropped_and_counted() -> None:
    """Whether the Verifier had none, the Solver gave up, or the instance itself failed; none of them is a loss."""
    subject = gate(min_pairs_per_kind=0)
    facts: list[Fact] = []
    async for group in subject.handle(NOMINATED):
        facts += group
        for given in group:
            if isinstance(given, InstanceDrawn) and given.index == 2:
                failed = WorkFailed(role=Role.VERIFIER, work=given.id, work_type="InstanceDrawn", reason="boom")
                subject.observe(named(failed, given))
            if isinstance(given, TrialRequested) and given.lineage == "g10.p0.candidate":
                failed = WorkFailed(role=Role.SOLVER, work=given.id, work_type="TrialRequested", reason="boom")
                subject.observe(named(failed, given))
            elif isinstance(given, TrialRequested) and not given.lineage.startswith("g10.p2."):
                subject.observe(graded(given, NONE if given.lineage == "g10.p1.incumbent" else better(given)))
    judgement = judged(facts)
    assert (judgement.decision, judgement.wins, judgement.losses, judgement.dropped) == (Decision.COMMIT, 7, 0, 3)


async def test_answers_for_other_purposes_are_not_taken_for_trials() -> None:
    """Only TRIAL answers count, whatever their lineage."""
    subject = gate()
    groups = subject.handle(NOMINATED)
    first = await anext(groups)
    trial = next(fact for fact in first if isinstance(fact, TrialRequested))
    other = AnswerGraded(purpose=Purpose.SOLVE, task=trial.task, attempt=0, verdict=RIGHT, reason="", sample="s", format=1.0)
    subject.observe(named(other, trial))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(groups), 0.05)


async def test_a_domain_that_runs_dry_ends_the_test_early() -> None:
    """Nine instances are a budget of nine; six are not even worth asking; none is inconclusive."""
    nine = await drive(gate(Pool(9)), NOMINATED, lambda _: RIGHT)
    assert (judged(nine).decision, judged(nine).ties) == (Decision.REJECT_FUTILE, 3)
    six = await drive(gate(Pool(6)), NOMINATED, better)
    assert judged(six).decision is Decision.REJECT_FUTILE
    assert not of(TrialRequested, six)
    assert judged(await drive(gate(Pool(0)), NOMINATED, better)).decision is Decision.INCONCLUSIVE


async def test_a_domain_that_ends_at_a_block_boundary_ends_the_test() -> None:
    """The second block finds nothing: two dropped pairs kept the first from deciding, and what is there is used up."""
    answer: Answer = lambda trial: NONE if trial.lineage.startswith(("g10.p0.", "g10.p1.")) else better(trial)  # noqa: E731
    facts = await drive(gate(Pool(8), block=8), NOMINATED, answer)
    assert (judged(facts).decision, judged(facts).dropped) == (Decision.INCONCLUSIVE, 2)


async def test_a_candidate_equal_to_the_incumbent_is_judged_without_a_question() -> None:
    """A learning rate of zero makes such candidates; there is nothing to compare."""
    same = named(CandidateNominated(step=3, candidate="old", incumbent="old"), "step")
    facts = await drive(gate(), same, better)
    assert facts == [judged(facts)]
    assert (judged(facts).decision, judged(facts).reason) == (Decision.INCONCLUSIVE, "candidate equals the committed policy")


async def test_instances_are_fresh_for_every_nomination_and_never_from_another_split() -> None:
    """Two tests share no instance, and both draw from the gate's side."""
    other = named(CandidateNominated(step=20, candidate="new", incumbent="old"), "later step")
    drawn = [of(InstanceDrawn, await drive(gate(), nominated, better)) for nominated in (NOMINATED, other)]
    first, second = ({fact.task.id for fact in facts} for facts in drawn)  # type: ignore[attr-defined]
    assert not first & second
    assert all(name.startswith("gate-") for name in first | second)


async def test_late_answers_in_any_order_give_the_same_facts() -> None:
    """The order of arrival decides nothing."""
    prompt = await drive(gate(), NOMINATED, specialist)
    subject = gate()
    late: list[Fact] = []

    async def world(trials: list[TrialRequested]) -> None:
        for trial in reversed(trials):
            await asyncio.sleep(0)
            subject.observe(graded(trial, specialist(trial)))

    async with asyncio.TaskGroup() as tasks:
        async for group in subject.handle(NOMINATED):
            late += group
            if trials := [fact for fact in group if isinstance(fact, TrialRequested)]:
                tasks.create_task(world(trials))
    assert late == prompt


async def test_a_restarted_gate_says_the_same_again() -> None:
    """Killed in the middle: the new process observes the history, handles the nomination from the start and agrees by id."""
    undisturbed = await drive(gate(), NOMINATED, specialist)
    history = [graded(fact, specialist(fact)) for fact in undisturbed if isinstance(fact, TrialRequested)]
    restarted = gate()
    for fact in history[:31]:
        restarted.observe(fact)
    again = await drive(restarted, NOMINATED, specialist)
    assert again == undisturbed
    assert len({fact.id for fact in again}) == len(again)


def test_the_handlers_take_what_the_flow_table_says() -> None:
    """No more and no less."""
    assert hinted(Gate.handle) | hinted(Gate.observe) == FLOW[Role.GATE].takes


async def test_every_fact_is_named_and_in_the_flow_table() -> None:
    """Ids follow from the nomination alone, so a second telling is the same telling."""
    facts = await drive(gate(), NOMINATED, better) + await drive(gate(test_tasks=5), ENDED, better)
    assert all(fact.id and fact.lineage for fact in facts)
    assert {type(fact) for fact in facts} <= FLOW[Role.GATE].gives


async def test_the_final_evaluation_compares_base_and_committed_on_the_same_tasks_at_each_temperature() -> None:
    """Both temperatures, both policies, counts by kind and level."""
    facts = await drive(gate(test_tasks=12), ENDED, better)
    warm, greedy = of(EvaluationCompleted, facts)
    assert isinstance(warm, EvaluationCompleted) and isinstance(greedy, EvaluationCompleted)
    assert (warm.temperature, greedy.temperature, warm.base, warm.final) == (1.0, 0.0, "old", "new")
    assert sum(count.total for count in warm.counts) == sum(count.final_correct for count in warm.counts) == 12
    assert sum(count.base_correct for count in warm.counts) == 0
    assert {(count.kind, count.level) for count in warm.counts} == {(kind, level) for kind in Pool.kinds for level in range(3)}
    trials = [fact for fact in facts if isinstance(fact, TrialRequested)]
    assert len(trials) == 48
    assert {trial.task.id for trial in trials} == {f"test-7-{index}" for index in range(12)}
    assert {trial.lineage for trial in trials} == {
        f"e{t}.t{i}.{arm}" for t in (0, 1) for i in range(12) for arm in ("base", "final")
    }


async def test_an_evaluation_larger_than_a_block_is_asked_block_by_block() -> None:
    """128 tasks at once, then the rest; a smaller test split gives fewer."""
    subject = gate(Pool(150), test_temperatures=(0.0,))
    sizes = []
    async for group in subject.handle(ENDED):
        sizes.append(len(group))
        for given in group:
            if isinstance(given, TrialRequested):
                subject.observe(graded(given, RIGHT))
    assert sizes == [128 * 3, 22 * 3, 1]


async def test_an_unmoved_policy_is_asked_once_and_equals_itself() -> None:
    """Nothing was committed: base and final are one."""
    unmoved = named(TrainingEnded(step=5, policy="newer", committed="old", reason="done"), "step")
    facts = await drive(gate(test_tasks=4, test_temperatures=(1.0,)), unmoved, worse)
    assert len(of(TrialRequested, facts)) == 4
    (completed,) = of(EvaluationCompleted, facts)
    assert isinstance(completed, EvaluationCompleted)
    assert all(count.base_correct == count.final_correct == count.both_correct == count.total for count in completed.counts)
