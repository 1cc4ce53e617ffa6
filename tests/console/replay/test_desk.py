"""What a replay answers, without sockets: the desk is given calls and a clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from console.recording import LOG_NAME
from console.replay.consumers import Consumers
from console.replay.desk import LAST_WORD_S, QUIET_S, Parts, ReplayDesk
from console.replay.pace import Pace, Plan
from console.replay.player import Player
from console.replay.tally import Tally
from console.replay.tape import Tape
from shared.bus.calls import Call, Refusals
from shared.bus.wire import (
    AskCursor,
    AskHead,
    AskPeers,
    AskStatus,
    At,
    Beat,
    Control,
    Done,
    MoveCursor,
    Nature,
    Peer,
    Peers,
    Publish,
    Read,
    Refusal,
    Reply,
    Request,
    Rows,
    Status,
)
from shared.codec import encode
from shared.eventlog.entry import entry_of
from shared.messages import ReplicaJoined, Role, StepOpened, named
from tests.console.replay.recordings import BEGAN_NS, SECOND, record, spoil, started, story


class Table(NamedTuple):
    """A desk with everything that it says, and its clock in a list."""

    desk: ReplayDesk
    said: list[str]
    clock: list[float]

    def ask(self, request: Request, peer: bytes = b"a", number: int = 1) -> Reply | None:
        """The answer to one call, with the desk's turn after it."""
        reply = self.desk.answers([Call(peer, number.to_bytes(8, "big"), request)])[0]
        self.desk.turn()
        return reply


def tables(directory: Path, context: int = 0, **plan: object) -> Iterator[Table]:
    """A desk over a recording of six facts, a second apart."""
    said: list[str] = []
    clock = [0.0]
    tape = Tape(record(directory, story(4), context=context) / LOG_NAME, None, said.append)
    player = Player(tape, Plan(**({"first": 1, "last": 6, "paused": True} | plan)), lambda: clock[0], epoch=7)  # type: ignore[arg-type]
    parts = Parts(tape, player, Consumers(said.append), Tally(tape, said.append), Refusals(said.append))
    yield Table(ReplayDesk(parts, said.append, lambda: clock[0]), said, clock)
    tape.close()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Paused before the first fact."""
    yield from tables(tmp_path)


@pytest.fixture
def lockstep(tmp_path: Path) -> Iterator[Table]:
    """In lockstep, from the beginning."""
    yield from tables(tmp_path, paused=False, pace=Pace.LOCKSTEP)


def seen(reply: Reply | None) -> list[int]:
    """The numbers in a page."""
    assert isinstance(reply, Rows)
    return [seq for seq, _, _ in reply.rows]


def test_readers_see_the_recording_up_to_the_head(table: Table):
    """With recorded numbers and times, and with the epoch in every answer."""
    assert table.ask(Read(0, None, 10)) == Rows([], 0, 7)
    table.ask(Control("step", 3.0))
    page = table.ask(Read(1, None, 10), number=2)
    assert seen(page) == [2, 3]
    assert isinstance(page, Rows)
    assert [time_ns for _, time_ns, _ in page.rows] == [BEGAN_NS + SECOND, BEGAN_NS + 2 * SECOND]
    assert table.ask(AskHead()) == At(3, 7)
    assert seen(table.ask(Read(0, ["RunStarted"], 10))) == [1]


def test_it_says_what_it_is(table: Table):
    """A client can always tell a replay from a run, and learn how it stands."""
    table.ask(Control("step", 2.0))
    status = table.ask(AskStatus())
    assert status == Status(Nature.REPLAY, 2, BEGAN_NS + SECOND, about="demo: fact 2 of 6, paused, speed 1")
    table.ask(Beat("solver-2", "solver", 0.25))
    assert table.ask(AskPeers()) == Peers([Peer("solver-2", "solver", 0.0, 0.25)])


def test_what_a_service_says_again_is_compared_and_not_kept(table: Table):
    """The same fact, a changed one and an unknown one are acknowledged alike; each is counted once."""
    run, opened, *_ = story(4)
    changed = msgspec.structs.replace(opened, num_challenges=9)
    foreign = named(StepOpened(step=9, policy="p", num_challenges=1, num_assignments=1, lineage="s9"), run, 99)
    joined = named(ReplicaJoined(role=Role.SOLVER, replica="solver"), run)
    for number, fact in enumerate([run, run, changed, changed, foreign, foreign, joined]):
        assert table.ask(Publish([encode(fact)]), number=number) == Done()
    tally = table.desk.tally
    assert (tally.same, tally.changed, tally.unknown) == (1, 1, 1)
    assert table.said == [
        "learner gave StepOpened s1 (fact 2) other than recorded: num_challenges 9, recorded 1",
        "learner gave StepOpened s9, which the recording does not have",
    ]
    assert tally.summary() == "given again 3: 1 the same, 1 changed, 1 not in the recording"
    status = table.ask(AskStatus())
    assert isinstance(status, Status)
    assert (status.repeated, status.head) == (2, 0)


def test_a_fact_whose_record_is_damaged_is_not_called_changed(tmp_path: Path):
    """There is nothing to compare it with, and that is what is said."""
    said: list[str] = []
    spoil(record(tmp_path, story(4)) / LOG_NAME, 2)
    tape = Tape(tmp_path / LOG_NAME, None, said.append)
    tally = Tally(tape, said.append)
    for _ in range(2):
        tally.take(entry_of(encode(story(4)[1])))
    tape.close()
    assert tally.summary() == "given again 1: 1 damaged in the recording"
    assert len(said) == 1


def test_what_is_no_fact_is_refused(table: Table):
    """As a live bus would, and counted."""
    assert isinstance(table.ask(Publish([b"\xc1"])), Refusal)
    assert isinstance(table.ask(Publish([encode(StepOpened(step=1, policy="", num_challenges=1, num_assignments=1))])), Refusal)
    status = table.ask(AskStatus())
    assert isinstance(status, Status)
    assert status.refused == 2


def test_an_order_that_comes_twice_is_carried_out_once(table: Table):
    """A client asks again under the same number when an answer was lost; another number is another order."""
    for _ in range(3):
        assert table.ask(Control("step", 1.0), number=5) == Done()
    assert table.ask(AskHead()) == At(1, 7)
    table.ask(Control("step", 1.0), number=6)
    table.ask(Control("step", 1.0), peer=b"b", number=6)
    assert table.ask(AskHead()) == At(3, 7)
    assert isinstance(table.ask(Control("jump", 1.0), number=7), Refusal)
    assert table.said[:2] == ["stepped to fact 1", "stepped to fact 2"]


def test_the_doorbell_rings_when_the_head_moves_and_says_when_it_moved_back(table: Table):
    """Every type is said to be new, so that all clients read and so acknowledge; the epoch goes up with a move back."""
    assert table.desk.news() is None
    table.ask(Control("step", 2.0))
    bell = table.desk.news()
    assert bell is not None
    assert (bell.head, bell.latest["RunEnded"], bell.epoch) == (2, 2, 7)
    assert table.desk.news() is None
    table.ask(Control("seek", 1.0), number=2)
    bell = table.desk.news()
    assert bell is not None
    assert (bell.head, bell.epoch) == (1, 8)


def test_lockstep_shows_the_next_fact_when_all_have_read_the_last(lockstep: Table):
    """Without a consumer it waits; an empty page is as good as a read further up; the slowest one counts."""
    lockstep.ask(AskHead())
    assert (lockstep.desk.player.position, lockstep.desk.waiting()) == (0, "waits for a consumer")
    lockstep.ask(Read(0, ["RunEnded"], 10), peer=b"a")
    assert lockstep.desk.player.position == 1
    lockstep.ask(Read(0, None, 10), peer=b"b")
    assert (lockstep.desk.player.position, lockstep.desk.waiting()) == (1, "waits for consumer 1, consumer 2")
    lockstep.ask(Read(0, ["RunEnded"], 10), peer=b"a")
    assert (lockstep.desk.player.position, lockstep.desk.waiting()) == (1, "waits for consumer 2")
    lockstep.ask(Read(1, None, 10), peer=b"b")
    assert lockstep.desk.player.position == 2


def test_lockstep_goes_on_without_a_consumer_that_is_gone(lockstep: Table):
    """It is said; a service whose loop stands still in a debugger still beats, and is waited for."""
    lockstep.ask(Read(0, None, 10), peer=b"a")
    lockstep.ask(Read(0, None, 10), peer=b"b")
    lockstep.ask(AskCursor("solver"), peer=b"b")
    lockstep.clock[0] = 4.0
    lockstep.ask(Read(1, None, 10), peer=b"a")
    lockstep.ask(Beat("solver", "solver", 4.0), peer=b"heart")
    lockstep.clock[0] = 8.0
    lockstep.ask(Read(1, None, 10), peer=b"a")
    assert lockstep.desk.player.position == 1
    lockstep.clock[0] = 10.0
    lockstep.ask(Read(1, None, 10), peer=b"a")
    assert lockstep.desk.player.position == 2
    assert lockstep.said[-1].startswith("solver was not heard of for 5 s")


def test_cursors_are_kept_while_the_connection_lasts(table: Table):
    """And never written anywhere."""
    table.ask(Read(0, None, 10))
    assert table.ask(AskCursor("solver")) == At(0, 7)
    assert table.ask(MoveCursor("solver", 5)) == Done()
    assert table.ask(AskCursor("solver")) == At(5, 7)
    assert table.ask(AskCursor("solver"), peer=b"new") == At(0, 7)


def test_a_service_does_not_work_on_what_is_only_context(tmp_path: Path):
    """In a slice its cursor begins behind the facts that a re-run would not work on either."""
    for table in tables(tmp_path, context=3):
        assert table.ask(AskCursor("solver")) == At(3, 7)


def test_it_is_finished_when_all_was_shown_and_read_and_services_are_quiet(table: Table):
    """A consumer that still reads, and a service that still publishes, keep it going."""
    desk = table.desk
    table.ask(Control("seek", 6.0))
    assert not desk.finished
    table.clock[0] += QUIET_S
    assert desk.finished
    table.ask(Read(0, None, 10), peer=b"a")
    assert not desk.finished
    table.ask(Read(6, None, 10), peer=b"a")
    assert desk.finished
    table.ask(Publish([encode(started())]))
    assert not desk.finished


def test_stop_is_an_order(table: Table):
    """Whoever runs the server ends it, once the answer has had time to leave."""
    assert table.ask(Control("stop")) == Done()
    assert not table.desk.stopped
    table.clock[0] += LAST_WORD_S
    assert table.desk.stopped
