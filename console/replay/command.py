"""`sagepace replay`: checks what was asked, opens recording, bus and screen, and plays until somebody ends it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from rich.console import Console

from console.recording import log_file
from console.replay.consumers import Consumers
from console.replay.desk import Parts, ReplayDesk
from console.replay.keys import Keys
from console.replay.pace import MAX_SPEED, MIN_SPEED, Pace, Plan, is_speed
from console.replay.picture import Picture
from console.replay.place import address_for
from console.replay.player import Player
from console.replay.screen import ReplayScreen
from console.replay.tally import Tally
from console.replay.tape import Tape
from console.replay.terminal import Keyboard
from console.span import Span, span_of
from shared.bus.address import Address
from shared.bus.calls import Call, Refusals
from shared.bus.keys import broker_keys
from shared.bus.server import Server
from shared.bus.wire import Doorbell, Reply
from shared.codec import BY_NAME
from shared.config import nearest
from shared.errors import BadInput
from shared.eventlog.entry import Refused

TURN_MS = 10
"""How often the player gets a turn on a quiet bus, and so how exactly it keeps the recorded times."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PaceOptions(NamedTuple):
    """What the command line says of the pace."""

    speed: float | None = None
    instant: bool = False
    lockstep: bool = False
    window: int = 1
    step: bool = False
    max_gap: float | None = None


class ReplayOptions(NamedTuple):
    """What the command line says."""

    directory: Path
    bus: str | None = None
    keys: Path | None = None
    pace: PaceOptions = PaceOptions()
    first: str | None = None
    until: str | None = None
    only: str | None = None
    loop: bool = False
    exit_at_end: bool = False
    quiet: bool = False


def replay(options: ReplayOptions) -> int:
    """Plays the recording and gives the exit status: 0, or 128 and the signal that ended it.

    Raises `BadInput` for a recording that cannot be read, an address that cannot be had, and options that make no sense.
    """
    pace, only = _checked_pace(options.pace), _checked_only(options.only)
    if options.loop and options.exit_at_end:
        raise BadInput("--loop and --exit-at-end: a loop has no end; leave out one of them")
    path = log_file(options.directory)
    with ExitStack() as open_things:
        screen = ReplayScreen(Console(), time.monotonic, quiet=options.quiet)
        tape = Tape(path, only, screen.complain)
        open_things.callback(tape.close)
        span = span_of(tape.reader, options.first, options.until)
        plan = _plan(options, pace, Span(span.first, min(span.last, tape.last)))
        address = open_things.enter_context(address_for(options.bus, path))
        refusals = Refusals(screen.complain)
        desk = _desk(tape, plan, refusals, screen)
        stage = Stage(desk, screen, address, exit_at_end=options.exit_at_end)
        server = Server(stage, address, refusals, poll_ms=TURN_MS, keys=broker_keys(address, options.keys))
        open_things.callback(server.close)
        if tape.reader.being_written():
            screen.complain(f"the log {path} is still being written: only the {tape.last} facts that it has now are replayed")
        greeting = f"REPLAY of {tape.name}, facts {plan.first} to {plan.last}, at {address.text}"
        status = stage.play(server, greeting)
    if summary := desk.tally.summary():
        print(summary)
    return status


class Stage:
    """Gives the keyboard and the screen their turn beside the desk. Implements `shared.bus.server.Desk`."""

    def __init__(self, desk: ReplayDesk, screen: ReplayScreen, address: Address, *, exit_at_end: bool) -> None:
        self._desk = desk
        self._screen = screen
        self._address = address
        self._exit_at_end = exit_at_end
        self._keys = Keys()
        self._keyboard: Keyboard | None = None
        self._signal = 0
        self._stop: Callable[[], None] = lambda: None

    def play(self, server: Server, greeting: str) -> int:
        """Prints the greeting and serves until the order to stop, the end or a signal; gives the exit status."""
        self._stop = server.stop
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            print(greeting, flush=True)
            with self._screen, Keyboard(sys.stdin.fileno() if sys.stdin else -1) as self._keyboard:
                server.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return 128 + self._signal if self._signal else 0

    def answers(self, calls: Sequence[Call]) -> list[Reply | None]:
        """The desk's."""
        return self._desk.answers(calls)

    def news(self) -> Doorbell | None:
        """The desk's."""
        return self._desk.news()

    def turn(self) -> None:
        """Keys, then the desk, then the screen; and the end when there is one."""
        for key in self._keys.feed(self._keyboard.typed() if self._keyboard else b""):
            value = float(not self._desk.player.loop) if key.value is None else key.value
            try:
                self._desk.order(key.command, value)
            except Refused as error:
                self._screen.complain(str(error))
        self._desk.turn()
        self._screen.show(self._picture)
        if self._desk.stopped or (self._exit_at_end and self._desk.finished):
            self._stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number
        self._stop()

    def _picture(self) -> Picture:
        desk, player = self._desk, self._desk.player
        return Picture(
            name=desk.tape.name,
            address=self._address.text,
            position=player.position,
            last=player.plan.last,
            clock_ns=player.clock_ns,
            state=desk.state(),
            pace=desk.pace(),
            waiting=desk.waiting(),
            consumers=desk.consumers.standings(),
            recent=list(player.recent),
            given=desk.tally.summary(),
            prompt=self._keys.prompt,
            keys=self._keyboard is not None and self._keyboard.there,
        )


def _desk(tape: Tape, plan: Plan, refusals: Refusals, screen: ReplayScreen) -> ReplayDesk:
    # A client that was attached to another replay at this address before notices that this is another past.
    epoch = time.time_ns() // 1_000_000
    player = Player(tape, plan, time.monotonic, epoch)
    parts = Parts(tape, player, Consumers(screen.say), Tally(tape, screen.complain), refusals)
    return ReplayDesk(parts, screen.say, time.monotonic)


def _plan(options: ReplayOptions, pace: Pace, span: Span) -> Plan:
    return Plan(
        first=span.first,
        last=span.last,
        pace=pace,
        speed=options.pace.speed or 1.0,
        window=options.pace.window,
        max_gap_s=options.pace.max_gap,
        paused=options.pace.step,
        loop=options.loop,
    )


def _checked_pace(options: PaceOptions) -> Pace:
    """Which pace is asked for. Raises `BadInput` for two at once, and for numbers out of range."""
    paces = {"--speed": options.speed is not None, "--instant": options.instant, "--lockstep": options.lockstep}
    asked = [name for name, is_asked in paces.items() if is_asked]
    if len(asked) > 1:
        raise BadInput(f"{' and '.join(asked)}: a replay has one pace; leave out all but one")
    if options.speed is not None and not is_speed(options.speed):
        raise BadInput(f"--speed {options.speed:g}: give a factor from {MIN_SPEED:g} to {MAX_SPEED:g}; --step starts paused")
    if options.max_gap is not None and not 0 <= options.max_gap < float("inf"):
        raise BadInput(f"--max-gap {options.max_gap:g}: give seconds, 0 or more")
    if options.window != 1 and not options.lockstep:
        raise BadInput(f"--window {options.window}: only a replay in --lockstep has a window")
    return Pace.INSTANT if options.instant else Pace.LOCKSTEP if options.lockstep else Pace.TIMED


def _checked_only(text: str | None) -> frozenset[str] | None:
    """The fact types of `--only`. Raises `BadInput` for an unknown one, and for none."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BY_NAME:
            raise BadInput(f"--only {name}: no such fact; {nearest(name, BY_NAME)}")
    if not names:
        raise BadInput("--only: give the names of facts, such as --only TaskProposed,AnswerGraded")
    return frozenset(names)
