"""The system on one screen: who takes which facts, and who gives them.

The runtime subscribes from this table, the README's diagram is drawn from it, and tests hold every handler's signature to it.
Every role may also give `WorkFailed` (the runtime does it), and roles that speak to the model give `SampleRequested` and take
`SampleCompleted` and `SampleFailed` through their engine.
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
    Role,
    RunEnded,
    RunStarted,
    SampleCompleted,
    SampleFailed,
    SampleRequested,
    StepClosed,
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
            ExperienceDropped, PolicyTrained, CandidateJudged, PolicyCommitted, PolicyRolledBack, WorkFailed,
        },
        gives={StepOpened, StepClosed, PolicyTrained, CandidateNominated, TrainingEnded},
    ),
    Role.GATE: port(
        takes={CandidateNominated, AnswerGraded, TrainingEnded, WorkFailed},
        gives={
            InstanceDrawn, TrialRequested, PairEvaluated, WealthUpdated, CandidateJudged, PolicyCommitted, PolicyRolledBack,
            EvaluationCompleted,
        },
    ),
    Role.INFERENCE: port(takes={SampleRequested}, gives={SampleCompleted, SampleFailed}),
    Role.CONSOLE: port(
        takes={EvaluationCompleted, WorkFailed},
        gives={RunStarted, TaskSeeded, RunEnded},
    ),
}  # fmt: skip
