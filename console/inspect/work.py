"""Which facts somebody still has to follow up: unfinished work, from the log and the services' own marks. Pure.

A fact is followed up when what must come of it is in the log, when its role gave it up, or when the role's mark (its cursor)
has passed it. Marks lag by half a second and a recording may have none, so what is in the log counts first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from console.inspect.cat import Found
from services.solver.logic import work_for
from shared.eventlog.entry import Row
from shared.flow import UPKEEP, author
from shared.messages import (
    AnswerGraded,
    AnswerProposed,
    Fact,
    PlanJudged,
    PlanMalformed,
    PlanProposed,
    Purpose,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    SampleCompleted,
    SampleFailed,
    SampleRequested,
    StepOpened,
    TaskAccepted,
    TaskAssigned,
    TaskChecked,
    TaskJudged,
    TaskProposed,
    TaskRefused,
    TrialRequested,
    WorkFailed,
)
from shared.rewards.rules import SageRules, attemptable
from shared.roster import Roster

ANSWERS = frozenset({SampleCompleted.__name__, SampleFailed.__name__})


class Item(NamedTuple):
    """A fact that a role has not followed up."""

    role: Role
    found: Found
    requests: tuple[Found, ...] = ()
    """What the role asked the model for on its account and has no answer to."""


class Rules(NamedTuple):
    """The run's settings that decide what is due."""

    sage: SageRules
    train_on_difficulty: bool
    evaluations: int
    """So many final evaluations end the run."""


class Marks:
    """How far the services say that they are, replica by replica."""

    def __init__(self, cursors: Mapping[str, int], turns: Iterable[tuple[int, Fact]]) -> None:
        """`turns` are the facts about replicas, with their numbers, in the order of the log."""
        self.cursors = {name: seq for name, seq in cursors.items() if "/" not in name}
        self._rosters: dict[Role, Roster] = {}
        for seq, fact in turns:
            assert isinstance(fact, ReplicaJoined | ReplicaLeft)
            self._rosters.setdefault(fact.role, Roster(fact.role)).fold(seq, fact)

    def passed(self, role: Role, seq: int, lineage: str) -> bool:
        """Whether the role says that it has handled the fact at `seq`."""
        roster = self._rosters.get(role)
        if roster is None:
            return self.cursors.get(str(role), 0) >= seq
        owner = roster.owner(seq, lineage)
        return bool(owner.replica) and self.cursors.get(owner.replica, 0) >= owner.since

    def nobody(self, role: Role) -> bool:
        """Whether the role had processes and has none now."""
        return role in self._rosters and not self._rosters[role].members

    def lowest(self) -> int | None:
        """The mark of the service that is furthest behind; None when none left a mark."""
        return min(self.cursors.values(), default=None)


class Window:
    """A stretch of the log up to its end, folded row by row."""

    def __init__(self, rules: Rules) -> None:
        self.facts: list[Found] = []
        """All facts but samples and those about processes."""
        self.last: Row | None = None
        self.rules = rules
        self._requests: dict[str, Found] = {}
        self._caused: Counter[tuple[str, str, str]] = Counter()
        self._given_up: set[tuple[str, str]] = set()
        self._settled: set[str] = set()
        self._graded: Counter[str] = Counter()
        self._last_grade: dict[str, str] = {}

    def take(self, row: Row, fact: Fact | None) -> None:
        """The next row; `fact` is what it holds, and may be left out for the model's answers."""
        self.last = row
        self._caused[(row.cause, row.type, row.role)] += 1
        if row.type in ANSWERS:
            self._requests.pop(row.cause, None)
        if fact is None or type(fact) in UPKEEP:
            return
        found = Found(row.seq, row.time_ns, fact)
        if isinstance(fact, SampleRequested):
            self._requests[fact.id] = found
            return
        self.facts.append(found)
        if isinstance(fact, WorkFailed):
            self._given_up.add((fact.role, fact.work))
            self._requests.pop(fact.work, None)
        elif isinstance(fact, TaskAccepted | TaskRefused):
            self._settled.add(fact.lineage)
        elif isinstance(fact, AnswerGraded):
            self._graded[fact.lineage] += 1
            self._last_grade[fact.lineage] = fact.id

    def of(self, *kinds: type[Fact]) -> list[Found]:
        """The facts of these types."""
        return [found for found in self.facts if isinstance(found.fact, kinds)]

    def answered(self, fact: Fact, *kinds: type[Fact]) -> bool:
        """Whether a fact of one of these types followed from `fact`, whoever gave it."""
        return any(self._caused[(fact.id, kind.__name__, role)] for kind in kinds for role in Role)

    def open_items(self, marks: Marks) -> list[Item]:
        """What the services have not followed up, in the order of the log; Learner and Gate are looked at elsewhere."""
        items = []
        for found in self.facts:
            for role in self._due(found.fact):
                if (role, found.fact.id) in self._given_up or marks.passed(role, found.seq, found.fact.lineage):
                    continue
                items.append(Item(role, found, tuple(self._asked(role, found.fact))))
        items += [
            Item(Role.INFERENCE, request)
            for request in self._requests.values()
            if not marks.passed(Role.INFERENCE, request.seq, request.fact.lineage)
        ]
        return sorted(items, key=lambda item: item.found.seq)

    def _asked(self, role: Role, fact: Fact) -> Iterator[Found]:
        return (each for each in self._requests.values() if each.fact.cause == fact.id and author(each.fact) is role)

    def _due(self, fact: Fact) -> Iterator[Role]:
        """Who still owes something on account of the fact."""
        match fact:
            case StepOpened(num_challenges=wanted) if self._count(fact, "TaskProposed", "TaskMalformed") < wanted:
                yield Role.CHALLENGER
            case TaskProposed() | AnswerProposed() if not self._count(fact, "TaskChecked", "AnswerGraded"):
                yield Role.VERIFIER
            case TaskChecked() | PlanProposed() if not self._count(fact, "TaskJudged", "PlanJudged"):
                yield Role.CRITIC
            case TaskAssigned() if not self._count(fact, "PlanProposed", "PlanMalformed"):
                yield Role.PLANNER
            case PlanJudged() if not self._count(fact, "ExperienceRecorded", "ExperienceDropped", role=Role.PLANNER):
                yield Role.PLANNER
            case TaskJudged() if fact.lineage not in self._settled and not self._is_tried(fact):
                yield Role.CHALLENGER
            case AnswerGraded():
                yield from self._due_for_grade(fact)
        if isinstance(fact, TaskJudged | PlanJudged | PlanMalformed | TrialRequested):
            attempts = work_for(fact, self.rules.sage).attempts
            if self._count(fact, "AnswerProposed") < attempts:
                yield Role.SOLVER

    def _due_for_grade(self, fact: AnswerGraded) -> Iterator[Role]:
        trained = fact.purpose is Purpose.SOLVE or (fact.purpose is Purpose.DIFFICULTY and self.rules.train_on_difficulty)
        if trained and not self._count(fact, "ExperienceRecorded", "ExperienceDropped"):
            yield Role.SOLVER
        all_graded = self._graded[fact.lineage] >= self.rules.sage.difficulty_attempts
        is_last = fact.purpose is Purpose.DIFFICULTY and all_graded and self._last_grade[fact.lineage] == fact.id
        if is_last and fact.lineage not in self._settled:
            yield Role.CHALLENGER

    def _is_tried(self, fact: TaskJudged) -> bool:
        return attemptable(usable=fact.usable, duplicate=fact.duplicate, quality=fact.quality, rules=self.rules.sage)

    def _count(self, fact: Fact, *names: str, role: Role | None = None) -> int:
        roles = Role if role is None else (role,)
        return sum(self._caused[(fact.id, name, each)] for name in names for each in roles)
