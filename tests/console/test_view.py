"""The view is a pure fold: what each fact changes, and what is derived."""

from console.view import HISTORY, RunView, Trend
from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    Decision,
    EvaluationCompleted,
    ExperienceDropped,
    ExperienceRecorded,
    Fact,
    PlanJudged,
    PolicyCommitted,
    PolicyTrained,
    Purpose,
    Role,
    RunEnded,
    RunStarted,
    StepClosed,
    StepOpened,
    Task,
    TaskAccepted,
    TaskSeeded,
    TrainingEnded,
    Verdict,
    WealthUpdated,
    WorkFailed,
)
from shared.messages import Key as SecretKey

TASK = Task(id="t1", question="1 + 1?", kind="words")
CONFIG = {"run": {"name": "tiny", "steps": 2}, "gate": {"test_tasks": 10, "test_temperatures": [1.0, 0.0]}}
STARTED = RunStarted(seed=3, config=CONFIG, base_policy="b0", store="policies")


def folded(*facts: Fact) -> RunView:
    """The view after these facts, one second apart."""
    view = RunView()
    for second, fact in enumerate(facts):
        view.take(fact, float(second))
    return view


def opened(step: int) -> StepOpened:
    """A step began."""
    return StepOpened(step=step, policy="b0", num_challenges=2, num_assignments=2)


def closed(step: int) -> StepClosed:
    """A step is over."""
    return StepClosed(step=step, recorded={}, dropped={}, rewards={})


def trained(step: int) -> PolicyTrained:
    """A step gave a policy."""
    return PolicyTrained(step=step, policy=f"c{step}", parent="b0", metrics={})


def graded(verdict: Verdict, purpose: Purpose = Purpose.SOLVE) -> AnswerGraded:
    """An answer of step 1 was graded."""
    return AnswerGraded(purpose=purpose, task=TASK, attempt=0, verdict=verdict, reason="", sample="", format=1.0, step=1)


def earned(step: int, reward: float) -> ExperienceRecorded:
    """The Solver earned a reward."""
    return ExperienceRecorded(step=step, role=Role.SOLVER, sample="", reward=reward, parts={})


def test_the_first_fact_gives_name_steps_and_policy() -> None:
    """Name, number of steps, seed and base policy come from the first fact."""
    view = folded(STARTED)
    assert (view.name, view.steps, view.seed, view.committed, view.phase) == ("tiny", 2, 3, "b0", "starting")


def test_the_pool_is_seeds_and_accepted_tasks() -> None:
    """Every seed and every accepted task is in the pool."""
    seed = TaskSeeded(task=TASK, key=SecretKey(check="1 + 1"))
    view = folded(STARTED, seed, seed, TaskAccepted(step=1, slot=0, task=TASK, quality=0.8, difficulty=0.5))
    assert (view.pool, view.accepted) == (3, 1)


def test_accuracy_counts_assigned_tasks_with_a_verdict_only() -> None:
    """Trials and answers without a verdict do not count as training accuracy."""
    trial = graded(Verdict.WRONG, Purpose.TRIAL)
    view = folded(STARTED, graded(Verdict.CORRECT), graded(Verdict.WRONG), graded(Verdict.NO_VERDICT), trial)
    assert view.accuracy["words"].means() == [0.5]


def test_rewards_and_plan_quality_are_means_by_step() -> None:
    """Rewards are averaged by role and step; an unreadable plan score is no score."""
    plan = PlanJudged(
        step=1, slot=0, policy="b0", task=TASK, plan="", plan_sample="", plan_format=1.0, quality=None, sample="", format=0.0
    )  # fmt: skip
    view = folded(STARTED, earned(1, 0.2), earned(1, 0.6), earned(2, 1.0), plan)
    assert view.rewards["solver"].means() == [0.4, 1.0]
    assert view.rewards["solver"].means(before=2) == [0.4]
    assert view.plans.means() == []


def test_trends_forget_old_steps() -> None:
    """Only the last steps are kept."""
    trend = Trend()
    for step in range(HISTORY + 5):
        trend.add(step, float(step))
    assert trend.means() == [float(step) for step in range(5, HISTORY + 5)]


def test_time_left_follows_the_pace_of_this_session() -> None:
    """Steps closed in this session set the pace; those read from before it do not."""
    view = RunView()
    view.take(RunStarted(seed=0, config={"run": {"steps": 10}}, base_policy="b", store=""), None)
    view.take(closed(1), None)
    before = view.seconds_left
    view.take(closed(2), 100.0)
    view.take(closed(3), 104.0)
    assert (before, view.step_seconds, view.seconds_left) == (None, 4.0, 28.0)


def test_the_phase_tells_of_step_test_and_evaluation() -> None:
    """The phase follows the facts from training through a gate test to the final evaluation."""
    facts: list[Fact] = [STARTED, opened(1)]
    assert folded(*facts).phase == "step 1"
    facts += [closed(1)]
    assert folded(*facts).phase == "training on step 1"
    facts += [trained(1), CandidateNominated(step=1, candidate="c1", incumbent="b0"), opened(2)]
    assert folded(*facts).phase == "step 2, gate tests the candidate of step 1"
    facts += [TrainingEnded(step=2, policy="c2", committed="c1", reason="done"), graded(Verdict.WRONG, Purpose.TRIAL)]
    assert folded(*facts).phase == "final evaluation, 1 of 40 answers graded"
    assert folded(*facts, RunEnded(ok=True, reason="done")).phase == "ended"


def test_the_gate_is_followed_to_its_decision() -> None:
    """Wealth belongs to the newest candidate; a decision ends the test; only a commit moves the committed policy."""
    wealth = WealthUpdated(step=1, index=4, log_wealth=1.2, log_harm=-0.3, log_threshold=3.0, wins=4, losses=1, ties=0)
    judged = CandidateJudged(
        step=1, candidate="c1", incumbent="b0", decision=Decision.COMMIT, reason="", wins=9, losses=1, ties=2, dropped=0,
        p_value=0.01, log_wealth=3.1, log_harm=-2.0,
    )  # fmt: skip
    nominated = CandidateNominated(step=1, candidate="c1", incumbent="b0")
    view = folded(STARTED, nominated, wealth, judged)
    assert (view.wealth, view.testing, view.decisions, view.committed) == (wealth, None, [judged], "b0")
    view.take(PolicyCommitted(step=1, policy="c1", parent="b0"))
    assert view.committed == "c1"
    view.take(nominated)
    assert (view.wealth, view.testing) == (None, 1)


def test_faults_are_ours_and_a_share_needs_twenty_works() -> None:
    """Given-up work and samples lost by a fault count; an unreadable reply does not; few works give no share."""
    unreadable = ExperienceDropped(step=1, role=Role.CRITIC, sample="", reason="no score")
    lost = ExperienceDropped(step=1, role=Role.CRITIC, sample="", reason="timeout", fault=True)
    failed = WorkFailed(role=Role.SOLVER, work="x", work_type="PlanJudged", reason="boom", lineage="s1.a0")
    view = folded(STARTED, unreadable, lost, failed)
    assert (view.faults, view.last_fault, view.fault_share) == (2, "solver gave up on PlanJudged s1.a0: boom", 0.0)
    for _ in range(18):
        view.take(earned(1, 0.5))
    assert view.fault_share == 0.1


def test_training_that_ends_early_has_failed() -> None:
    """Training is whole when its last step gave a policy and no candidate waits for its verdict."""
    ended = TrainingEnded(step=2, policy="c2", committed="b0", reason="")
    assert folded(STARTED, trained(1), ended).training_failed
    assert not folded(STARTED, trained(1), trained(2), ended).training_failed
    waiting = CandidateNominated(step=2, candidate="c2", incumbent="b0")
    assert folded(STARTED, trained(1), trained(2), waiting, ended).training_failed
    assert not folded(STARTED, trained(1)).training_failed


def test_evaluations_are_kept_by_temperature() -> None:
    """One evaluation a temperature; the same one twice is one."""
    cold = EvaluationCompleted(base="b0", final="c1", temperature=0.0, counts=())
    warm = EvaluationCompleted(base="b0", final="c1", temperature=1.0, counts=())
    assert len(folded(STARTED, cold, cold, warm).evaluations) == 2
