"""The system on one screen: who takes which facts, and who gives them.

The runtime subscribes from this table, the README's diagram is drawn from it, and tests hold every handler's signature to it.
Every role may also give `WorkFailed` and `ReplicaJoined` (the runtime does it), the bus gives `ReplicaLeft`, and roles that
speak to the model give `SampleRequested` and take `SampleCompleted` and `SampleFailed` through their engine. `author` tells who
gave a fact.
"""

from __future__ import annotations

from typing import NamedTuple

from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    CandidateJudged,
    CandidateNominated,
    EvaluationCompleted,
    ExperienceDropped,
    ExperienceRecorded,
    Fact,
    InstanceDrawn,
    PairEvaluated,
    PlanJudged,
    PlanMalformed,
    PlanProposed,
    PolicyCommitted,
    PolicyRolledBack,
    PolicyTrained,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    RunEnded,
    RunStarted,
    SampleCompleted,
    SampleFailed,
    SampleRequested,
    StepClosed,
    StepExpired,
    StepOpened,
    TaskAccepted,
    TaskAssigned,
    TaskChecked,
    TaskJudged,
    TaskMalformed,
    TaskProposed,
    TaskRefused,
    TaskSeeded,
    TrainingEnded,
    TrialRequested,
    WealthUpdated,
    WorkFailed,
)


class Port(NamedTuple):
    """What one role takes and gives."""

    takes: frozenset[type[Fact]]
    gives: frozenset[type[Fact]]
    speaks: bool = False
    """Whether the role asks the model for text."""


def port(*, takes: set[type[Fact]], gives: set[type[Fact]], speaks: bool = False) -> Port:
    """One row of the table."""
    return Port(frozenset(takes), frozenset(gives), speaks)


EXPERIENCE: set[type[Fact]] = {ExperienceRecorded, ExperienceDropped}

FLOW: dict[Role, Port] = {
    Role.CHALLENGER: port(
        takes={TaskSeeded, StepOpened, TaskProposed, TaskJudged, AnswerGraded, TaskAccepted},
        gives={TaskProposed, TaskMalformed, TaskAssigned, TaskAccepted, TaskRefused, *EXPERIENCE},
        speaks=True,
    ),
    Role.VERIFIER: port(
        takes={TaskSeeded, TaskProposed, InstanceDrawn, AnswerProposed},
        gives={TaskChecked, AnswerGraded},
    ),
    Role.CRITIC: port(
        takes={TaskChecked, PlanProposed},
        gives={TaskJudged, PlanJudged, *EXPERIENCE},
        speaks=True,
    ),
    Role.PLANNER: port(
        takes={TaskAssigned, PlanJudged},
        gives={PlanProposed, PlanMalformed, *EXPERIENCE},
        speaks=True,
    ),
    Role.SOLVER: port(
        takes={TaskJudged, PlanJudged, PlanMalformed, TrialRequested, AnswerGraded},
        gives={AnswerProposed, *EXPERIENCE},
        speaks=True,
    ),
    Role.LEARNER: port(
        takes={
            RunStarted, StepOpened, SampleCompleted, TaskProposed, TaskJudged, PlanProposed, ExperienceRecorded,
            ExperienceDropped, StepExpired, PolicyTrained, CandidateJudged, PolicyCommitted, PolicyRolledBack, WorkFailed,
        },
        gives={StepOpened, StepExpired, StepClosed, PolicyTrained, CandidateNominated, TrainingEnded},
    ),
    Role.GATE: port(
        takes={CandidateNominated, AnswerGraded, TrainingEnded, WorkFailed},
        gives={
            InstanceDrawn, TrialRequested, PairEvaluated, WealthUpdated, CandidateJudged, PolicyCommitted, PolicyRolledBack,
            EvaluationCompleted,
        },
    ),
    Role.INFERENCE: port(
        takes={SampleRequested, SampleCompleted, SampleFailed},
        gives={SampleCompleted, SampleFailed},
    ),
    Role.CONSOLE: port(
        takes={EvaluationCompleted, WorkFailed},
        gives={RunStarted, TaskSeeded, RunEnded},
    ),
}  # fmt: skip

TIMERS: frozenset[type[Fact]] = frozenset({StepExpired})
"""Facts that a clock gave rise to: a re-run does not make them anew, it takes the recording's word for the time."""

UPKEEP: frozenset[type[Fact]] = frozenset({ReplicaJoined, ReplicaLeft})
"""Facts about processes, not about the run: two runs that say the same may differ in them."""


def author(fact: Fact) -> Role:
    """Who gave the fact. Facts that several roles give name their giver in a field ``role``."""
    if isinstance(fact, ReplicaLeft):
        return Role.BUS
    only = _ONLY_GIVER.get(type(fact))
    if only is not None:
        return only
    role = getattr(fact, "role", None)
    assert isinstance(role, Role), f"{type(fact).__name__} has several givers and no field `role`"
    return role


def _only_givers() -> dict[type[Fact], Role]:
    givers: dict[type[Fact], list[Role]] = {}
    for role, row in FLOW.items():
        for fact_type in row.gives:
            givers.setdefault(fact_type, []).append(role)
    return {fact_type: roles[0] for fact_type, roles in givers.items() if len(roles) == 1}


_ONLY_GIVER = _only_givers()
