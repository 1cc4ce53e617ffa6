"""What answers on a replay's bus: rows of the recording up to the head; everything else is looked at and not kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from console.replay.consumers import Consumers
from console.replay.orders import STOP, obey
from console.replay.pace import Pace
from console.replay.player import Player
from console.replay.tally import Tally
from console.replay.tape import Tape
from shared.bus.attendance import Attendance
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
from shared.codec import BY_NAME
from shared.eventlog.entry import Refused, entries_of

QUIET_S = 1.0
"""A service that has said nothing for so long is taken to be done with what it has read."""
LAST_WORD_S = 0.1
"""From the order to stop to the end: an answer that is given right before the sockets are closed may be lost."""
_ORDERS_REMEMBERED = 256


class Parts(NamedTuple):
    """What a desk is made of."""

    tape: Tape
    player: Player
    consumers: Consumers
    tally: Tally
    refusals: Refusals


class ReplayDesk:
    """Implements `shared.bus.server.Desk` over a recording."""

    def __init__(self, parts: Parts, say: Callable[[str], None], now: Callable[[], float]) -> None:
        """`say` gets a line for each order that was carried out; `now` is a monotonic clock in seconds."""
        self._stopped_at: float | None = None
        self.player = parts.player
        self.consumers = parts.consumers
        self.tally = parts.tally
        self.tape = parts.tape
        self._refusals = parts.refusals
        self._say = say
        self._now = now
        self._rung = (parts.player.epoch, parts.player.position)
        self._epoch = parts.player.epoch
        self._given_at = now()
        self._attendance = Attendance(now())
        self._orders: OrderedDict[tuple[bytes, bytes], Reply] = OrderedDict()

    def answers(self, calls: Sequence[Call]) -> list[Reply | None]:
        """The reply to each call, in order."""
        return [self._answer(call) for call in calls]

    def turn(self) -> None:
        """Lets the player show what is due."""
        self.consumers.drop_silent(self._now())
        self.player.advance(self.consumers.all_read(self.player.position))
        self._notice_moving_back()

    def news(self) -> Doorbell | None:
        """The head, when it has moved.

        Every type is said to have come last at the head, so that clients ask for what is new even where nothing of it
        concerns them: by asking they acknowledge.
        """
        stands = (self.player.epoch, self.player.position)
        if stands == self._rung:
            return None
        self._rung = stands
        return Doorbell(self.player.position, dict.fromkeys(BY_NAME, self.player.position), self.player.epoch)

    def order(self, command: str, value: float = 0.0) -> None:
        """Carries out an order and says so. Raises `Refused`."""
        if command == STOP:
            self._stopped_at = self._now()
            return
        self._say(obey(self.player, command, value))
        self._notice_moving_back()

    @property
    def stopped(self) -> bool:
        """Somebody gave the order to stop, long enough ago for the answer to have left."""
        return self._stopped_at is not None and self._now() - self._stopped_at >= LAST_WORD_S

    @property
    def finished(self) -> bool:
        """Everything was shown, all consumers have read it, and services have been quiet for a while."""
        player = self.player
        read = not self.consumers.standings() or self.consumers.all_read(player.position)
        return player.at_end and read and self._now() - self._given_at >= QUIET_S

    def state(self) -> str:
        """Playing, paused, or at the end."""
        return "at the end" if self.player.at_end else "playing" if self.player.playing else "paused"

    def pace(self) -> str:
        """The pace in words, such as ``speed 2, in a loop``."""
        pace = f"speed {self.player.speed:g}" if self.player.pace is Pace.TIMED else str(self.player.pace)
        return f"{pace}, in a loop" if self.player.loop else pace

    def waiting(self) -> str:
        """What a replay in lockstep waits for, in words; empty when it does not wait."""
        player, standings = self.player, self.consumers.standings()
        if player.pace is not Pace.LOCKSTEP or not player.playing or player.at_end:
            return ""
        if not standings:
            return "waits for a consumer"
        late = [one.name for one in standings if one.read < player.position]
        return f"waits for {', '.join(late)}" if late else ""

    def about(self) -> str:
        """The replay in words, such as ``tiny: fact 12 of 345, paused, speed 1``."""
        parts = [f"fact {self.player.position} of {self.player.plan.last}", self.state(), self.pace(), self.waiting()]
        return f"{self.tape.name}: {', '.join(part for part in parts if part)}"

    def _answer(self, call: Call) -> Reply | None:
        now = self._now()
        self.consumers.heard(call.peer, now)
        match call.request:
            case Read() as read:
                return self._read(call.peer, read, now)
            case AskCursor(subscriber) | MoveCursor(subscriber):
                return self._cursor(call, subscriber)
            case Publish(facts):
                return self._taken(facts, now)
            case Control() as control:
                return self._controlled(call, control)
            case Beat() as beat:
                self.consumers.beats(beat.name, beat.role, now)
                self._attendance.beat(beat, now)
                return None
            case request:
                return self._stands(request)

    def _cursor(self, call: Call, subscriber: str) -> Reply:
        """Where the subscriber stands: as it said over this very connection, so that a service begins anew with each."""
        self.consumers.is_called(call.peer, subscriber)
        if isinstance(call.request, MoveCursor):
            self.consumers.handled(call.peer, call.request.seq)
            return Done()
        return At(max(self.tape.context, self.consumers.cursor(call.peer)), self.player.epoch)

    def _stands(self, request: AskHead | AskPeers | AskStatus) -> Reply:
        player = self.player
        match request:
            case AskHead():
                return At(player.position, player.epoch)
            case AskPeers():
                return Peers(self._attendance.peers(self._now()))
            case AskStatus():
                repeated = self.tally.same + self.tally.changed
                return Status(Nature.REPLAY, player.position, player.clock_ns, self._refusals.count, repeated, self.about())

    def _read(self, peer: bytes, read: Read, now: float) -> Reply:
        stretch = self.tape.read(read.after, self.player.position, read.types, read.limit)
        seen = min(read.after if stretch.rows else stretch.upto, self.player.position)
        self.consumers.reads(peer, seen, now)
        return Rows(*stretch, self.player.epoch)

    def _taken(self, facts: Sequence[bytes], now: float) -> Reply:
        """Acknowledges what a service gives, as a live bus would, and holds it against the recording."""
        self._given_at = now
        try:
            entries = entries_of(facts)
        except Refused as error:
            return self._refusals.refuse(str(error))
        for entry in entries:
            self.tally.take(entry)
        return Done()

    def _controlled(self, call: Call, control: Control) -> Reply:
        """An order that comes twice under one number (its answer was lost) is carried out once."""
        key = (call.peer, call.number)
        if key not in self._orders:
            try:
                self.order(control.command, control.value)
                self._orders[key] = Done()
            except Refused as error:
                self._orders[key] = self._refusals.refuse(str(error))
            if len(self._orders) > _ORDERS_REMEMBERED:
                self._orders.popitem(last=False)
        return self._orders[key]

    def _notice_moving_back(self) -> None:
        if self.player.epoch != self._epoch:
            self._epoch = self.player.epoch
            self.consumers.forget()
