"""Everything that is said on the bus: values first, then facts.

A *fact* is past tense, frozen, and named after its cause: ``id = hash(cause, type, index)``. Doing work twice therefore says
the same thing once, and a replay can be compared fact by fact. *Values* are what facts carry. `Task` is public; `Key` is
secret, and only the facts marked "secret" below carry one; tests/flow/test_secrecy.py holds Planner and Solver away from them.

Rules for whoever edits this file: fields are only ever added, with defaults; none is renamed, none changes its meaning.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

WIRE_VERSION = 1
"""Version of the wire schema; a log states it in its first fact."""


class Role(StrEnum):
    """Who speaks. The values are the process names, the log's sources and the compose services."""

    CHALLENGER = "challenger"
    PLANNER = "planner"
    SOLVER = "solver"
    CRITIC = "critic"
    VERIFIER = "verifier"
    LEARNER = "learner"
    GATE = "gate"
    INFERENCE = "inference"
    CONSOLE = "console"
    BUS = "bus"


class Verdict(StrEnum):
    """What grading an answer can end in. A fault of ours is `NO_VERDICT`, never a wrong answer."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_VERDICT = "no_verdict"


class Purpose(StrEnum):
    """Why an answer was asked for."""

    DIFFICULTY = "difficulty"
    """Challenge phase: how hard is a new task for the Solver, without a plan?"""
    SOLVE = "solve"
    """Plan-solve phase: answer an assigned task, with its plan where the Critic let it pass."""
    TRIAL = "trial"
    """The gate and the final evaluation: held-out instances."""


class Decision(StrEnum):
    """How a candidate's test ended."""

    COMMIT = "commit"
    REJECT_HARM = "reject_harm"
    REJECT_FUTILE = "reject_futile"
    INCONCLUSIVE = "inconclusive"


# --------------------------------------------------------------------------------------------------------------------- values


class Task(msgspec.Struct, frozen=True):
    """What anybody may see of a task."""

    id: str
    question: str
    kind: str
    """The domain's kind of task, such as ``words`` or ``code``: decides prompts, grading and gate bookkeeping."""
    level: int = 0
    """Difficulty level where the domain knows it, else 0. For measuring only; no role is told."""


class Key(msgspec.Struct, frozen=True):
    """What Planner, Solver and prompts must never see: how to grade answers to one task.

    ``check`` is read by the task's kind: an arithmetic expression (words), a reference function that makes the tests (code),
    or a literal number (math).
    """

    check: str


class Turn(msgspec.Struct, frozen=True):
    """One message of a chat prompt."""

    role: str
    content: str


class Sampling(msgspec.Struct, frozen=True):
    """How to sample. Temperature 0 is greedy. There is no top-p and no top-k: training data must be unfiltered."""

    temperature: float = 1.0
    max_tokens: int = 96
    stop: tuple[str, ...] = ()
    """Generation ends right after the first of these texts; the text is kept."""


class KindCount(msgspec.Struct, frozen=True):
    """Paired results of an evaluation in one kind and level."""

    kind: str
    level: int
    total: int
    base_correct: int
    final_correct: int
    both_correct: int
    no_verdict: int = 0


# --------------------------------------------------------------------------------- facts: what all have, and how a run starts


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What every fact has. A role leaves the three empty and the runtime fills them from the fact being handled.

    ``lineage`` names the unit of work in words people can read: ``s3.c7`` is challenge 7 of step 3, ``s3.a2`` assignment 2,
    ``g10.p4`` pair 4 of the gate test of step 10.

    Where a fact names the ``sample`` it was made from, an empty name means that the engine could not answer: a fault of ours.
    """

    id: str = ""
    cause: str = ""
    lineage: str = ""


class RunStarted(Fact, frozen=True):
    """The first fact: everything needed to repeat the run. Given by the console."""

    seed: int
    config: dict[str, dict[str, Any]]
    """The whole checked run file, by section."""
    base_policy: str
    store: str
    """Folder of the policies."""
    level: str = "L1"
    """How exact a repeat is promised to be (docs/decisions.md)."""
    wire_version: int = WIRE_VERSION
    versions: dict[str, str] = {}
    """Versions of Python and the libraries that matter."""


class TaskSeeded(Fact, frozen=True):
    """A seed task joined the dataset before the first step. Secret."""

    task: Task
    key: Key


# -------------------------------------------------------------------------------- facts: a step, and the life of a task in it


class StepOpened(Fact, frozen=True):
    """A step began: so many new tasks to invent, so many to plan and solve, all with this policy."""

    step: int
    policy: str
    num_challenges: int
    num_assignments: int


class TaskProposed(Fact, frozen=True):
    """The Challenger invented a task with its key. Secret."""

    step: int
    slot: int
    policy: str
    task: Task
    key: Key
    references: tuple[str, ...]
    sample: str
    format: float
    duplicate: bool = False
    """The same question is in the dataset or stands in a lower slot of this step."""


class TaskMalformed(Fact, frozen=True):
    """The Challenger's reply held no readable task."""

    step: int
    slot: int
    sample: str
    format: float
    reason: str


class TaskChecked(Fact, frozen=True):
    """The Verifier tried a key: does it parse, run twice alike, and does an empty answer fail? The key stays behind."""

    step: int
    slot: int
    policy: str
    task: Task
    usable: bool
    reason: str
    duplicate: bool = False


class TaskJudged(Fact, frozen=True):
    """The Critic scored a task's question. ``quality`` is in [0, 1], or None when its reply held no readable score."""

    step: int
    slot: int
    policy: str
    task: Task
    usable: bool
    quality: float | None
    sample: str
    format: float
    duplicate: bool = False


class TaskAccepted(Fact, frozen=True):
    """A task joined the dataset."""

    step: int
    slot: int
    task: Task
    quality: float
    difficulty: float


class TaskRefused(Fact, frozen=True):
    """A task did not join the dataset."""

    step: int
    slot: int
    task: Task
    reason: str
    quality: float | None = None


class TaskAssigned(Fact, frozen=True):
    """A task of the dataset was drawn for planning and solving."""

    step: int
    slot: int
    policy: str
    task: Task


class PlanProposed(Fact, frozen=True):
    """The Planner wrote a plan."""

    step: int
    slot: int
    policy: str
    task: Task
    plan: str
    sample: str
    format: float


class PlanMalformed(Fact, frozen=True):
    """The Planner's reply held no readable plan; the Solver answers the bare question."""

    step: int
    slot: int
    policy: str
    task: Task
    sample: str
    format: float
    reason: str


class PlanJudged(Fact, frozen=True):
    """The Critic scored a plan. ``quality`` is None when its reply held no readable score."""

    step: int
    slot: int
    policy: str
    task: Task
    plan: str
    plan_sample: str
    plan_format: float
    quality: float | None
    sample: str
    format: float


class TrialRequested(Fact, frozen=True):
    """The gate wants one held-out answer from one policy."""

    policy: str
    task: Task
    temperature: float


class AnswerProposed(Fact, frozen=True):
    """The Solver answered. ``answer`` is None when its reply held no readable answer."""

    purpose: Purpose
    task: Task
    attempt: int
    answer: str | None
    sample: str
    format: float
    step: int = 0
    slot: int = 0
    planned: bool = False
    """The plan was shown to the Solver."""
    plan_quality: float | None = None
    policy: str = ""


class AnswerGraded(Fact, frozen=True):
    """The Verifier graded an answer; everything the reward needs travels along."""

    purpose: Purpose
    task: Task
    attempt: int
    verdict: Verdict
    reason: str
    sample: str
    format: float
    step: int = 0
    slot: int = 0
    planned: bool = False
    plan_quality: float | None = None
    policy: str = ""


class ExperienceRecorded(Fact, frozen=True):
    """One sample of one role earned its reward. The learner finds the tokens under ``sample``."""

    step: int
    role: Role
    sample: str
    reward: float
    parts: dict[str, float]
    kind: str = ""
    planned: bool = False


class ExperienceDropped(Fact, frozen=True):
    """A sample that earns nothing: no score, no verdict. It leaves the batch and is counted; never a reward of 0."""

    step: int
    role: Role
    sample: str
    reason: str
    fault: bool = False
    """True when the cause was a fault of ours rather than an unreadable reply."""


# ------------------------------------------------------------------------ facts: learning, and the gate's test of a candidate


class StepExpired(Fact, frozen=True):
    """The Learner's deadline for a step passed before all its experiences came. The step ends here, in the order of the log,
    and not where a clock stood: whatever comes later is not part of it, also when the step is done again."""

    step: int
    missing: str
    """What was still waited for, in words."""


class StepClosed(Fact, frozen=True):
    """All experiences of a step are in, or its deadline passed."""

    step: int
    recorded: dict[str, int]
    dropped: dict[str, int]
    rewards: dict[str, float]
    complete: bool = True


class PolicyTrained(Fact, frozen=True):
    """The learner made new weights from a step."""

    step: int
    policy: str
    parent: str
    metrics: dict[str, float]


class CandidateNominated(Fact, frozen=True):
    """The learner asks the gate to compare the working policy with the committed one."""

    step: int
    candidate: str
    incumbent: str


class InstanceDrawn(Fact, frozen=True):
    """The gate drew a held-out instance. Secret: the Verifier needs its key."""

    index: int
    task: Task
    key: Key


class PairEvaluated(Fact, frozen=True):
    """Both policies answered one instance."""

    index: int
    kind: str
    task: str
    incumbent: Verdict
    candidate: Verdict


class WealthUpdated(Fact, frozen=True):
    """The bettors' wealth after one more pair. Log-wealth is natural; commit at ``log_wealth >= log_threshold``."""

    step: int
    index: int
    log_wealth: float
    log_harm: float
    log_threshold: float
    wins: int
    losses: int
    ties: int
    dropped: int = 0
    log_harm_by_kind: dict[str, float] = {}


class CandidateJudged(Fact, frozen=True):
    """A candidate's test ended. The guarantee is per candidate."""

    step: int
    candidate: str
    incumbent: str
    decision: Decision
    reason: str
    wins: int
    losses: int
    ties: int
    dropped: int
    p_value: float
    log_wealth: float
    log_harm: float


class PolicyCommitted(Fact, frozen=True):
    """The committed policy moved. Only this fact moves it."""

    step: int
    policy: str
    parent: str


class PolicyRolledBack(Fact, frozen=True):
    """The candidate was shown to be worse: the learner returns to ``policy``, the committed one."""

    step: int
    policy: str
    refused: str


# ------------------------------------------------------------------------------------------------------ facts: how a run ends


class TrainingEnded(Fact, frozen=True):
    """No further step will open."""

    step: int
    policy: str
    committed: str
    reason: str


class EvaluationCompleted(Fact, frozen=True):
    """Base and committed policy answered the same held-out test tasks at one temperature."""

    base: str
    final: str
    temperature: float
    counts: tuple[KindCount, ...]


class RunEnded(Fact, frozen=True):
    """The last fact. ``ok`` is False when the run stopped on a fault."""

    ok: bool
    reason: str


# ---------------------------------------------------------------------------------------- facts: the model, and work given up


class SampleRequested(Fact, frozen=True):
    """A role asks the model for one completion."""

    role: Role
    policy: str
    turns: tuple[Turn, ...]
    sampling: Sampling
    seed: int
    template: str
    """Hash of the prompt template, so that a change of wording shows in the log."""


class SampleCompleted(Fact, frozen=True):
    """The model's completion: ids in and out, and each token's log-probability at sampling time (temperature 1)."""

    request: str
    role: Role
    policy: str
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    finish: str
    """``stop`` (end tag or end of text) or ``length``."""


class SampleFailed(Fact, frozen=True):
    """The engine could not answer a request."""

    request: str
    reason: str


class WorkFailed(Fact, frozen=True):
    """A role gave up on a fact after several tries: a fault of ours. The unit of work it belongs to leaves the batch."""

    role: Role
    work: str
    work_type: str
    reason: str


class ReplicaJoined(Fact, frozen=True):
    """A process began to share a role's work. Work that the log takes from here on is shared among all who are there."""

    role: Role
    replica: str
    """The process's own name, the same after a restart, such as ``solver`` or ``solver-2``."""


class ReplicaLeft(Fact, frozen=True):
    """A process was not heard of for too long; the others take over what it had not finished. Given by the bus."""

    role: Role
    replica: str
    handled: int
    """Its cursor: all of its work up to this sequence number is done."""
    reason: str


FACT_TYPES: tuple[type[Fact], ...] = (
    RunStarted, TaskSeeded, StepOpened, TaskProposed, TaskMalformed, TaskChecked, TaskJudged, TaskAccepted, TaskRefused,
    TaskAssigned, PlanProposed, PlanMalformed, PlanJudged, TrialRequested, AnswerProposed, AnswerGraded, ExperienceRecorded,
    ExperienceDropped, StepExpired, StepClosed, PolicyTrained, CandidateNominated, InstanceDrawn, PairEvaluated, WealthUpdated,
    CandidateJudged, PolicyCommitted, PolicyRolledBack, TrainingEnded, EvaluationCompleted, RunEnded, SampleRequested,
    SampleCompleted, SampleFailed, WorkFailed, ReplicaJoined, ReplicaLeft,
)  # fmt: skip
"""The union, in the order of a run's life. A new fact is one class above and one entry here."""


# ------------------------------------------------------------------------------------------------------------------- identity

F = TypeVar("F", bound=Fact)


def digest(*parts: object) -> str:
    """24 hex digits that name the parts. The project's one way to derive an id."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def seed_from(*parts: object) -> int:
    """A 63-bit seed derived from ids, so that randomness follows from the log and from nothing else."""
    return int(digest("seed", *parts)[:16], 16) >> 1


def named(fact: F, cause: Fact | str, index: int = 0) -> F:
    """The fact with its identity: the ``index``-th of its type that follows from ``cause``.

    Roles call this themselves only for joins (the cause is then the fact where the paths parted, not whichever arrived last)
    and for facts that may be given in any order; the runtime does it for all others.
    """
    cause_id = cause if isinstance(cause, str) else cause.id
    lineage = fact.lineage or ("" if isinstance(cause, str) else cause.lineage)
    identity = digest(cause_id, type(fact).__name__, index)
    return msgspec.structs.replace(fact, id=identity, cause=cause_id, lineage=lineage)
