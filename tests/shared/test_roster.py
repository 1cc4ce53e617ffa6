"""The roster: one owner for every fact, whoever joins, leaves, dies and comes back."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.bus.inprocess import InProcessBus
from shared.eventlog.memory import MemoryJournal
from shared.flow import UPKEEP
from shared.membership import Replaced, take_post
from shared.messages import (
    Fact,
    ReplicaJoined,
    ReplicaLeft,
    Role,
    RunStarted,
    Task,
    TaskAssigned,
    digest,
    named,
)
from shared.roster import Owner, Roster, replica_name
from shared.share import Share, Work

ROLE = Role.PLANNER
RUN = named(RunStarted(seed=0, config={}, base_policy="b", store=""), "test")
NAMES = ("planner-1", "planner-2", "planner-3")
LINEAGES = [f"s1.a{slot}" for slot in range(40)]


def joined(name: str, role: Role = ROLE) -> ReplicaJoined:
    """A join."""
    return ReplicaJoined(role=role, replica=name)


def left(name: str, handled: int, role: Role = ROLE) -> ReplicaLeft:
    """A parting."""
    return ReplicaLeft(role=role, replica=name, handled=handled, reason="silent")


def roster(*turns: tuple[int, ReplicaJoined | ReplicaLeft], role: Role = ROLE) -> Roster:
    """A roster that has folded these."""
    made = Roster(role)
    for seq, fact in turns:
        made.fold(seq, fact)
    return made


def test_a_process_that_is_alone_owns_everything_from_the_beginning() -> None:
    """What stood in the log before it joined has waited for it."""
    alone = roster((5, joined("planner")))
    assert {alone.owner(seq, lineage) for seq in (1, 4) for lineage in LINEAGES} == {Owner("planner", 5)}
    assert {alone.owner(9, lineage) for lineage in LINEAGES} == {Owner("planner", 9)}


def test_work_is_shared_by_lineage_and_evenly_enough() -> None:
    """Three members get a part each; the same lineage always goes to the same one."""
    three = roster(*((seq, joined(name)) for seq, name in enumerate(NAMES, start=1)))
    owners = {lineage: three.owner(10, lineage).replica for lineage in LINEAGES}
    assert all(three.owner(77, lineage).replica == owner for lineage, owner in owners.items())
    assert all(5 <= count <= 25 for count in Counter(owners.values()).values())
    assert len(set(owners.values())) == 3


def test_the_parting_of_one_moves_nobody_else_s_work() -> None:
    """Only the leaver's work changes hands, and of that only what lies above its cursor."""
    before = [(seq, joined(name)) for seq, name in enumerate(NAMES, start=1)]
    three, two = roster(*before), roster(*before, (100, left("planner-2", handled=50)))
    for lineage in LINEAGES:
        was = three.owner(60, lineage)
        now = two.owner(60, lineage)
        if was.replica == "planner-2":
            assert now.replica in {"planner-1", "planner-3"}
            assert now.since == 100
            assert two.owner(50, lineage) == Owner("planner-2", 50)
        else:
            assert now == was


def test_what_was_taken_over_is_handed_on_by_the_place_of_the_takeover() -> None:
    """A member that leaves after it took over, and had not come so far, hands that on as well, however old the facts are."""
    made = roster((1, joined("planner-1")), (2, joined("planner-2")), (50, left("planner-1", 10)), (60, left("planner-2", 49)))
    assert made.members == ()
    assert {made.owner(seq, "x").replica for seq in (11, 30, 55)} == {""}
    assert made.fold(70, joined("planner-3")) == 10
    assert {made.owner(seq, "x") for seq in (30, 55)} <= {Owner("planner-3", 70)}


def test_the_learner_and_the_gate_are_never_split() -> None:
    """The member that joined first owns all; when it leaves, the next in age takes over what it had not finished."""
    made = roster((1, joined("gate", Role.GATE)), (2, joined("gate-b", Role.GATE)), role=Role.GATE)
    assert {made.owner(9, lineage).replica for lineage in LINEAGES} == {"gate"}
    made.fold(20, left("gate", 4, Role.GATE))
    assert {made.owner(9, lineage) for lineage in LINEAGES} == {Owner("gate-b", 20)}
    assert made.owner(3, "x") == Owner("gate", 3)


def test_other_roles_and_repeated_turns_change_nothing() -> None:
    """A join of a member, the parting of a stranger and facts of other roles are passed over."""
    made = roster((1, joined("planner")))
    assert [made.fold(2, joined("planner")), made.fold(3, left("x", 0)), made.fold(4, left("planner", 0, Role.CRITIC))] == [
        2,
        3,
        4,
    ]
    assert made.members == ("planner",)
    assert made.joined("planner") == [1]


@pytest.mark.parametrize(
    ("given_name", "name"), [(None, "solver"), ("solver", "solver"), ("solver-2", "solver-2"), ("h7", "solver-h7")]
)
def test_names_begin_with_their_role(given_name: str | None, name: str) -> None:
    """Two roles on one host can be given the same name, and still have different ones."""
    assert replica_name(Role.SOLVER, given_name) == name


class Process:
    """One replica as its runtime drives it, but step by step."""

    def __init__(self, bus: InProcessBus, name: str, done: Counter[int]) -> None:
        self.bus, self.name, self.done = bus, name, done
        self.share: Share | None = None

    async def start(self) -> None:
        """Takes its post; everything it knew is gone."""
        post = await take_post(self.bus, RUN, ROLE, self.name)
        self.share, self.open, self.seen = Share(self.bus, ROLE, post), set[tuple[int, int]](), 0
        self.cursor = await self.bus.cursor(self.name)
        self.begin = max(self.cursor, post.joined - 1)

    async def read(self, limit: int) -> None:
        """Reads on by so many facts; begins anew when it finds that it was declared gone."""
        assert self.share
        page = await self.bus.read(self.seen, {TaskAssigned, *UPKEEP}, limit)
        for seq, fact in page.facts:
            works: list[Work] = []
            if type(fact) in UPKEEP:
                try:
                    works = await self.share.turned(seq, fact, {TaskAssigned})
                except Replaced:
                    return await self.start()
            elif self.share.owns(seq, fact):
                works = [Work(seq, seq, fact)]
            self.open |= {work[:2] for work in works if work.since > self.begin}
        self.seen = page.upto
        return None

    def handle(self, chance: random.Random) -> None:
        """Finishes one piece of work."""
        if self.open:
            work = chance.choice(sorted(self.open))
            self.open.discard(work)
            self.done[work[1]] += 1

    async def move_cursor(self) -> None:
        """Says how far it is."""
        done = min(self.open)[0] - 1 if self.open else self.seen
        if done > self.cursor:
            self.cursor = done
            await self.bus.move_cursor(self.name, done)


class World:
    """A log, its replicas, and whatever happens to them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.journal = MemoryJournal()
        self.bus = InProcessBus(self.journal)
        self.done: Counter[int] = Counter()
        self.processes = {name: Process(self.bus, name, self.done) for name in NAMES}
        self.roster = Roster(ROLE)
        self.folded = 0
        self.partings = self.facts = self.deaths = 0

    async def catch_up(self) -> None:
        """The roster as the broker sees it."""
        page = await self.bus.read(self.folded, UPKEEP, 4096)
        for seq, fact in page.facts:
            assert isinstance(fact, ReplicaJoined | ReplicaLeft)
            self.roster.fold(seq, fact)
        self.folded = page.upto

    async def fact(self) -> None:
        """Somebody publishes work."""
        task = Task(f"t{self.facts}", "?", "words")
        lineage = f"s1.a{self.chance.randrange(6)}"
        fact = TaskAssigned(step=1, slot=self.facts, policy="p", task=task, lineage=lineage)
        await self.bus.publish([named(fact, "work", self.facts)])
        self.facts += 1

    async def parting(self) -> None:
        """The broker declares somebody gone, who may not even know."""
        await self.catch_up()
        if self.roster.members:
            name = self.chance.choice(self.roster.members)
            fact = left(name, await self.bus.cursor(name))
            await self.bus.publish([msgspec.structs.replace(fact, id=digest(name, self.partings))])
            self.partings += 1

    async def step(self, action: str) -> None:
        """One thing happens."""
        process = self.processes[self.chance.choice(NAMES)]
        if action == "fact":
            await self.fact()
        elif action == "parting":
            await self.parting()
        elif action == "start" or process.share is None:
            self.deaths += process.share is not None
            await process.start()
        elif action == "read":
            await process.read(self.chance.randint(1, 6))
        elif action == "handle":
            process.handle(self.chance)
        else:
            await process.move_cursor()

    async def settle(self) -> None:
        """Everybody is there, reads to the end and finishes everything."""
        for process in self.processes.values():
            if process.share is None:
                await process.start()
        while any(process.seen < self.journal.head for process in self.processes.values()):
            for process in self.processes.values():
                await process.read(100)
        for process in self.processes.values():
            while process.open:
                process.handle(self.chance)

    async def facts_of(self, kind: type[Fact]) -> list[tuple[int, Fact]]:
        """All facts of a type."""
        return list((await self.bus.read(0, [kind], 4096)).facts)


ACTIONS = ("fact", "fact", "read", "read", "handle", "handle", "cursor", "start", "parting")


@given(st.lists(st.sampled_from(ACTIONS), min_size=20, max_size=120), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_whatever_happens_every_fact_is_handled_and_has_one_owner(actions: list[str], seed: int) -> None:
    """Processes join, die, come back and are declared gone at any moment: no fact is left out, and all agree whose it is."""

    async def play() -> None:
        world = World(seed)
        await world.bus.publish([RUN])
        for action in actions:
            await world.step(action)
        await world.settle()
        await world.catch_up()
        for seq, fact in await world.facts_of(TaskAssigned):
            assert world.done[seq] >= 1, f"nobody handled fact {seq}"
            assert world.roster.owner(seq, fact.lineage).replica in NAMES
        await world.bus.close()

    asyncio.run(play())


@given(
    st.lists(st.sampled_from(("fact", "fact", "read", "handle", "cursor")), min_size=20, max_size=120), st.integers(0, 2**32)
)
@settings(max_examples=50, deadline=None)
def test_while_nobody_leaves_nothing_is_done_twice(actions: list[str], seed: int) -> None:
    """Members may join at any time; as long as none dies every fact is handled exactly once."""

    async def play() -> None:
        world = World(seed)
        await world.bus.publish([RUN])
        for action in actions:
            await world.step(action)
        await world.settle()
        facts = await world.facts_of(TaskAssigned)
        assert {seq: world.done[seq] for seq, _ in facts} == {seq: 1 for seq, _ in facts}
        await world.bus.close()

    asyncio.run(play())
