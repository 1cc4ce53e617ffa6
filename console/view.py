"""What a person wants to know about a running loop, as a pure fold of the log's facts.

`RunView.take` folds one fact; it does no I/O and reads no clock: the caller says when the fact came. `console.screen` draws it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from shared.messages import (
    AnswerGraded,
    CandidateJudged,
    CandidateNominated,
    EvaluationCompleted,
    ExperienceDropped,
    ExperienceRecorded,
    Fact,
    PlanJudged,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    Purpose,
    RunEnded,
    RunStarted,
    StepClosed,
    StepOpened,
    TaskAccepted,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    TaskSeeded,
    TrainingEnded,
    Verdict,
    WealthUpdated,
    WorkFailed,
)

VIEW_TYPES: tuple[type[Fact], ...] = (
    RunStarted, TaskSeeded, StepOpened, TaskProposed, TaskMalformed, TaskAccepted, TaskRefused, PlanJudged, AnswerGraded,
    ExperienceRecorded, ExperienceDropped, StepClosed, PolicyTrained, CandidateNominated, WealthUpdated, CandidateJudged,
    PolicyCommitted, PolicyRolledBack, TrainingEnded, EvaluationCompleted, RunEnded, WorkFailed,
)  # fmt: skip
"""The facts that `RunView` is made of: all but the bulky samples."""

HISTORY = 40
"""So many steps of history are kept for trends."""


@dataclass
class Tally:
    """A mean in the making."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """Counts one more value."""
        self.total += value
        self.count += 1

    @property
    def mean(self) -> float | None:
        """The mean, or None before the first value."""
        return self.total / self.count if self.count else None


class Trend:
    """A mean a step, for the last `HISTORY` steps."""

    def __init__(self) -> None:
        self._steps: dict[int, Tally] = {}

    def add(self, step: int, value: float) -> None:
        """Counts a value for a step."""
        self._steps.setdefault(step, Tally()).add(value)
        if len(self._steps) > HISTORY:
            del self._steps[min(self._steps)]

    def means(self, before: int | None = None) -> list[float]:
        """The means of the known steps, oldest first; only of steps below `before` where it is given."""
        steps = [step for step in sorted(self._steps) if before is None or step < before]
        return [mean for step in steps if (mean := self._steps[step].mean) is not None]


@dataclass
class RunView:
    """The state of a run as far as its facts tell."""

    name: str = ""
    seed: int = 0
    steps: int = 0
    """Steps that the run file asks for."""
    step: int = 0
    """The last step that opened."""
    closed: int = 0
    """The last step that closed."""
    closed_at: deque[float] = field(default_factory=lambda: deque(maxlen=11))
    """When the last steps closed, in the caller's seconds; history read on a resume is not in it."""
    seeded: int = 0
    proposed: int = 0
    accepted: int = 0
    refused: int = 0
    malformed: int = 0
    rewards: dict[str, Trend] = field(default_factory=lambda: defaultdict(Trend))
    """Mean reward by role."""
    accuracy: dict[str, Trend] = field(default_factory=lambda: defaultdict(Trend))
    """Share of right answers to assigned training tasks, by kind."""
    plans: Trend = field(default_factory=Trend)
    """The Critic's score of plans."""
    recorded: int = 0
    faults: int = 0
    """Works given up and samples lost by a fault of ours."""
    last_fault: str = ""
    trained: int = 0
    """The last step that gave a policy."""
    base: str = ""
    committed: str = ""
    testing: int | None = None
    """The step whose candidate the gate is testing."""
    wealth: WealthUpdated | None = None
    """The newest state of the running or last test."""
    decisions: list[CandidateJudged] = field(default_factory=list)
    ending: TrainingEnded | None = None
    final_answers: int = 0
    """Answers graded in the final evaluation."""
    test_answers: int = 0
    """Answers that the final evaluation asks of one policy."""
    evaluations: dict[float, EvaluationCompleted] = field(default_factory=dict)
    """By temperature."""
    ended: RunEnded | None = None
    endings: int = 0
    """How often the run ended: a resumed run ends again."""

    def take(self, fact: Fact, at: float | None = None) -> None:
        """Folds one fact. `at` is the time in seconds on any steady clock, None for facts from before this session."""
        self._take_work(fact)
        self._take_training(fact, at)
        self._take_gate(fact)

    def _take_work(self, fact: Fact) -> None:
        match fact:
            case TaskSeeded():
                self.seeded += 1
            case TaskProposed():
                self.proposed += 1
            case TaskMalformed():
                self.malformed += 1
            case TaskAccepted():
                self.accepted += 1
            case TaskRefused():
                self.refused += 1
            case PlanJudged(quality=float(quality)):
                self.plans.add(fact.step, quality)
            case AnswerGraded(purpose=Purpose.SOLVE, verdict=Verdict.CORRECT | Verdict.WRONG):
                self.accuracy[fact.task.kind].add(fact.step, float(fact.verdict is Verdict.CORRECT))
            case AnswerGraded(purpose=Purpose.TRIAL) if self.ending:
                self.final_answers += 1
            case ExperienceRecorded():
                self.recorded += 1
                self.rewards[fact.role].add(fact.step, fact.reward)
            case ExperienceDropped(fault=True):
                self._fault(f"{fact.role}: {fact.reason}")
            case WorkFailed():
                self._fault(f"{fact.role} gave up on {fact.work_type} {fact.lineage}: {fact.reason}")

    def _fault(self, text: str) -> None:
        self.faults += 1
        self.last_fault = text

    def _take_training(self, fact: Fact, at: float | None) -> None:
        match fact:
            case RunStarted():
                run = fact.config.get("run", {})
                self.name, self.steps = str(run.get("name", "")), int(run.get("steps", 0))
                self.seed = fact.seed
                self.base = self.committed = fact.base_policy
                gate = fact.config.get("gate", {})
                self.test_answers = int(gate.get("test_tasks", 0)) * len(gate.get("test_temperatures", ()))
            case StepOpened():
                self.step = max(self.step, fact.step)
            case StepClosed():
                self.closed = max(self.closed, fact.step)
                if at is not None:
                    self.closed_at.append(at)
            case PolicyTrained():
                self.trained = max(self.trained, fact.step)
            case TrainingEnded():
                self.ending = fact

    def _take_gate(self, fact: Fact) -> None:
        match fact:
            case CandidateNominated():
                self.testing, self.wealth = fact.step, None
            case WealthUpdated():
                self.wealth = fact
            case CandidateJudged():
                self.decisions.append(fact)
                self.testing = None
            case PolicyCommitted():
                self.committed = fact.policy
            case EvaluationCompleted():
                self.evaluations[fact.temperature] = fact
            case RunEnded():
                self.ended = fact
                self.endings += 1

    @property
    def pool(self) -> int:
        """Tasks in the dataset."""
        return self.seeded + self.accepted

    @property
    def phase(self) -> str:
        """What is going on, in a few words."""
        if self.ended:
            return "ended"
        if self.ending:
            wanted = self.test_answers * (1 if self.ending.committed == self.base else 2)
            return f"final evaluation, {self.final_answers} of {wanted} answers graded"
        if not self.step:
            return "starting"
        phase = f"training on step {self.step}" if self.closed >= self.step else f"step {self.step}"
        return phase if self.testing is None else f"{phase}, gate tests the candidate of step {self.testing}"

    @property
    def training_failed(self) -> bool:
        """Training ended before its last step was trained and, where a candidate was nominated, judged."""
        return self.ending is not None and (self.trained < self.steps or self.testing is not None)

    @property
    def fault_share(self) -> float:
        """Faults of ours as a share of all finished works; 0 while there are fewer than 20 of them."""
        works = self.recorded + self.faults
        return self.faults / works if works >= 20 else 0.0

    @property
    def step_seconds(self) -> float | None:
        """Mean seconds a step of late, or None before two steps closed in this session."""
        times = self.closed_at
        return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None

    @property
    def seconds_left(self) -> float | None:
        """Training time left at the present pace; the final evaluation comes on top."""
        pace = self.step_seconds
        return None if pace is None or self.ending else pace * max(0, self.steps - self.closed)
