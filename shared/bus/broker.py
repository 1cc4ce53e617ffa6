"""The desk of a live run: the one place that numbers, journals and only then tells.

Whatever arrives together is written in one transaction, and only then acknowledged. Whatever arrives, the broker goes on; only
a log that cannot be written ends it (`JournalFault`). Of its own it says one fact, `ReplicaLeft`, about members of the roster
that have been silent for too long.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from shared.bus.attendance import LEAVE_S, Attendance
from shared.bus.calls import Call, Later, Refusals
from shared.bus.server import BATCH, BATCH_BYTES
from shared.bus.wire import (
    AskCursor,
    AskHead,
    AskPeers,
    AskStatus,
    At,
    Beat,
    Control,
    Done,
    Doorbell,
    MoveCursor,
    Nature,
    Peers,
    Publish,
    Read,
    Reply,
    Rows,
    Status,
)
from shared.codec import BadFact, decode, encode
from shared.eventlog.entry import Entry, Refused, entries_of
from shared.eventlog.port import Journal
from shared.messages import WIRE_VERSION, ReplicaJoined, ReplicaLeft, RunEnded, RunStarted, named

_ROSTER = frozenset({ReplicaJoined.__name__, ReplicaLeft.__name__})


class _Batch:
    """What goes into the log together, and whose answers wait for that."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.entries: list[Entry] = []
        self.moves: dict[str, int] = {}
        self._size = 0

    @property
    def full(self) -> bool:
        """It takes no more."""
        return len(self.calls) >= BATCH or self._size >= BATCH_BYTES

    def add(self, entries: Sequence[Entry]) -> None:
        """Facts, at the end."""
        self.entries += entries
        self._size += sum(len(entry.payload) for entry in entries)

    def move(self, subscriber: str, seq: int) -> None:
        """A cursor, forward."""
        self.moves[subscriber] = max(seq, self.moves.get(subscriber, 0))


class Broker:
    """Implements `shared.bus.server.Desk` over one journal.

    While one batch is being made durable, in a thread, reads are answered and the next batch gathers. Close it.
    """

    def __init__(self, journal: Journal, refusals: Refusals, later: Later, *, leave_s: float = LEAVE_S) -> None:
        """A member of the roster that was not heard of for `leave_s` has left. Answers to what is written go to `later`."""
        self._journal = journal
        self._refusals = refusals
        self._later = later
        self._rung = journal.head
        self._repeated = 0
        self._next = _Batch()
        self._writing: tuple[_Batch, Future[None]] | None = None
        self._thread = ThreadPoolExecutor(1, "commit")
        self._attendance = Attendance(time.monotonic(), leave_s)
        self._attended = 0
        self._began = journal.head
        self._attend(recovered=True)

    def answers(self, calls: Sequence[Call]) -> list[Reply | None]:
        """Answers everybody but those who want something written; that is gathered, and answered when it is on disk."""
        for call in calls:
            if isinstance(call.request, Beat):  # before anybody is told who was heard of
                self._attendance.beat(call.request, time.monotonic())
        answers = [self._answer(call) for call in calls]
        self._later.full = self._next.full
        return answers

    def turn(self) -> None:
        """Answers those whose facts are on disk now, says who has left, and has the next batch written."""
        if self._writing is not None and self._writing[1].done():
            self._settle()
        if self._writing is None:
            self._say_who_left()
            if self._next.entries or self._next.moves:
                self._write()

    def close(self) -> None:
        """Waits for what is being written; that may still be answered."""
        self._thread.shutdown()

    def news(self) -> Doorbell | None:
        """The log's length, when it has grown."""
        if self._journal.head == self._rung:
            return None
        self._rung = self._journal.head
        return Doorbell(self._rung, dict(self._journal.latest))

    def _attend(self, *, recovered: bool = False) -> None:
        """Folds what the log has of the roster since the last time."""
        last = max(self._journal.latest.get(name, 0) for name in _ROSTER)
        while self._attended < last:
            try:
                rows, self._attended = self._journal.read(self._attended, _ROSTER, 512)
            except Refused as error:
                self._refusals.note(f"the roster cannot be read: {error}")
                return
            for _, _, payload in rows:
                try:
                    fact = decode(payload)
                except BadFact as error:
                    self._refusals.note(f"a fact of the roster cannot be read: {error}")
                    continue
                assert isinstance(fact, ReplicaJoined | ReplicaLeft)
                self._attendance.fold(fact, time.monotonic(), recovered=recovered)

    def _write(self) -> None:
        """Writes what has gathered, and has it made durable beside."""
        batch, self._next = self._next, _Batch()
        self._later.full = False
        self._journal.stage(batch.entries, batch.moves)
        future = self._thread.submit(self._journal.commit)
        self._writing = batch, future
        future.add_done_callback(lambda _: self._later.wake())

    def _settle(self) -> None:
        """What was written counts from now on. Raises `JournalFault` when it was not."""
        assert self._writing is not None
        (batch, future), self._writing = self._writing, None
        future.result()
        before = self._journal.head
        self._journal.settle()
        self._repeated += len(batch.entries) - (self._journal.head - before)
        for call in batch.calls:
            self._later.give(call, Done())

    def _say_who_left(self) -> None:
        """Puts it into the next batch, unless the run has just said its last word: then everybody leaves."""
        self._attend()
        ended = self._journal.latest.get(RunEnded.__name__, 0)
        if ended > self._began and ended == self._journal.head:
            return
        for joined, silent_s in self._attendance.absent(time.monotonic()):
            left = ReplicaLeft(
                role=joined.role,
                replica=joined.replica,
                handled=self._journal.cursor(joined.replica),
                reason=f"not heard of for {silent_s:.0f} s",
            )
            self._next.add(entries_of([encode(named(left, joined))]))

    def _answer(self, call: Call) -> Reply | None:
        try:
            match call.request:
                case Publish(facts):
                    self._next.add(_checked(facts))
                case MoveCursor(subscriber, seq):
                    self._next.move(subscriber, self._reached(subscriber, seq))
                case _:
                    return self._known(call.request)
        except Refused as error:
            return self._refusals.refuse(str(error))
        self._next.calls.append(call)
        self._later.owe()
        return None

    def _reached(self, subscriber: str, seq: int) -> int:
        """The sequence number, if a subscriber can have got there. Raises `Refused`."""
        if seq > self._journal.head:
            raise Refused(f"the cursor of {subscriber} cannot stand at {seq}: the log ends with fact {self._journal.head}")
        return seq

    def _known(self, request: Read | AskCursor | AskHead | AskStatus | AskPeers | Beat | Control) -> Reply | None:
        match request:
            case Read():
                return self._rows(request)
            case AskCursor(subscriber):
                return At(self._journal.cursor(subscriber))
            case AskHead():
                return At(self._journal.head)
            case _:
                return self._standing(request)

    def _rows(self, wanted: Read) -> Reply:
        types = None if wanted.types is None else frozenset(wanted.types)
        return Rows(*self._journal.read(wanted.after, types, wanted.limit))

    def _standing(self, request: AskStatus | AskPeers | Beat | Control) -> Reply | None:
        """About the bus rather than the log."""
        match request:
            case AskStatus():
                return Status(Nature.LIVE, self._journal.head, time.time_ns(), self._refusals.count, self._repeated)
            case AskPeers():
                return Peers(self._attendance.peers(time.monotonic()))
            case Beat():
                return None
            case Control():
                return self._refusals.refuse("this bus is live: only a replay can be paused, stepped or moved")


def _checked(facts: Sequence[bytes]) -> list[Entry]:
    """A group that may enter the log. Raises `Refused`, also for a run of a newer schema."""
    entries = entries_of(facts)
    for entry in entries:
        if entry.type == RunStarted.__name__:
            run = decode(entry.payload)
            assert isinstance(run, RunStarted)
            if run.wire_version > WIRE_VERSION:
                raise Refused(f"a run of wire version {run.wire_version}; this broker keeps version {WIRE_VERSION}: update it")
    return entries
