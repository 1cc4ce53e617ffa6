"""One re-run from beginning to end: puts the parts together, lets the role work, and adds up what came of it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from console.launch import versions
from console.rerun.bus import Answers, NoAnswers, RecordedBus
from console.rerun.compare import Comparison
from console.rerun.excerpt import Excerpt
from console.rerun.loop import Outside, StillLoop
from console.rerun.needs import WEIGHTY, Needs, has_work, needs_of
from console.rerun.result import (
    ROUNDING,
    Result,
    field_counts,
    first_difference,
    forgive_the_end,
    questions_asked_anew,
    type_counts,
    waiting_work,
)
from console.rerun.role import Watch
from console.rerun.weights import Weights
from console.runfile import change_run, parse_setting
from shared.engine.durable import DurableEngine
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.flow import FLOW
from shared.handling import Service
from shared.messages import Role, RunStarted
from shared.retry import instant_attempts
from shared.serve import Build, assembled

if TYPE_CHECKING:
    from console.rerun.live import LiveAnswers


class Wishes(NamedTuple):
    """How a re-run is to differ from the run."""

    settings: Sequence[str] = ()
    """``section.key=value``, as for `sagepace run --set`."""
    live: bool = False
    """Ask the real model."""
    model: Path | None = None
    """A folder with the base policy, for a recording whose store is not at hand."""


class Rerun:
    """One role on one recording. `play` it once, then ask for the `result`."""

    def __init__(self, reader: LogReader, role: Role, build: Build, wishes: Wishes) -> None:
        """`reader` has the recording open; `build` makes the role's service.

        Raises `BadInput` for wishes that cannot be met, and for what is no recording.
        """
        if wishes.live and not FLOW[role].speaks:
            raise BadInput(f"--engine live: the {role} asks no model; leave it out")
        if wishes.model and not (wishes.live or role in WEIGHTY):
            raise BadInput(f"--model {wishes.model}: the {role} loads no weights from a recording; leave it out")
        self._wishes = wishes
        self._log = reader.path
        self._build = build
        self._excerpt = Excerpt(reader, role)
        self._run = _changed(self._excerpt.run, wishes, reader.path)
        self._comparison = Comparison()
        self._watch = Watch()
        self._outside = Outside()
        self._bus: RecordedBus | None = None
        self._live: LiveAnswers | None = None
        self._seconds = 0.0

    def play(self) -> None:
        """Lets the role work through the recording.

        Raises `BadInput` where that cannot be read, or weights are missing; what the role's `observe` raises passes through.
        """
        if not has_work(self._excerpt):
            return
        began = time.perf_counter()
        with ExitStack() as stack:
            self._bus = bus = self._arranged(stack)
            runner = stack.enter_context(asyncio.Runner(loop_factory=partial(StillLoop, self._outside, bus.at_rest)))
            try:
                runner.run(self._work(bus))
            except BaseExceptionGroup as group:
                raise _root(group) from None
        self._seconds = time.perf_counter() - began

    def result(self) -> Result:
        """What it came to."""
        excerpt, comparison, watch, bus = self._excerpt, self._comparison, self._watch, self._bus
        beyond = forgive_the_end(comparison, excerpt)
        live = self._live.summary() if self._live else None
        return Result(
            service=excerpt.role,
            identical=comparison.total == 0 and (live is None or live.asked == live.equal),
            same=comparison.given,
            handled=watch.handled,
            facts=excerpt.head,
            context=excerpt.start,
            answered=bus.answered if bus else 0,
            passed_over=watch.passed_over,
            beyond=beyond,
            seconds=self._seconds,
            settings=tuple(self._wishes.settings),
            first=first_difference(comparison, excerpt),
            by_type=type_counts(comparison),
            fields=field_counts(comparison),
            questions=questions_asked_anew(comparison),
            waiting=waiting_work(watch),
            live=live,
            elsewhere=_elsewhere(excerpt.run) if live or excerpt.role in WEIGHTY else {},
        )

    def _arranged(self, stack: ExitStack) -> RecordedBus:
        """The bus, and beside it whatever of weights and model is needed."""
        needs = Needs(self._run)
        answers: Answers = NoAnswers()
        if self._wishes.live or self._excerpt.role in WEIGHTY:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sagepace-rerun-")))
            weights = Weights(scratch, self._run, self._log.resolve().parent, self._wishes.model)
            needs = needs_of(self._excerpt, self._run, weights)
            if self._wishes.live:
                from console.rerun.live import LiveAnswers

                answers = self._live = LiveAnswers(self._run, weights, self._excerpt, self._outside)
                stack.callback(self._live.close)
        bus = RecordedBus(self._excerpt, self._comparison, self._watch, needs, answers)
        if self._live:
            self._live.wake = bus.wake
        return bus

    async def _work(self, bus: RecordedBus) -> None:
        """The role at work until nothing more can happen."""
        role = self._excerpt.role
        inside_out = self._outside if role is Role.INFERENCE else None

        def build(run: RunStarted, engine: DurableEngine) -> Service:
            return self._watch.follow(self._build(run, engine), inside_out, bus.over)

        service, runtime = assembled(role, bus, build, bus.run, attempts=instant_attempts)
        working, over = asyncio.create_task(runtime.run()), asyncio.create_task(bus.over.wait())
        try:
            await asyncio.wait((working, over), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
            if (fault := self._watch.fault) is not None:
                where = f" ({fault.filename})" if fault.filename else ""
                raise BadInput(f"the re-run cannot go on: {fault.strerror}{where}; TMPDIR says where it writes") from fault
        finally:
            for task in (working, over):
                task.cancel()
            await asyncio.gather(working, over, return_exceptions=True)
            await bus.close()
            getattr(service, "close", lambda: None)()


def _changed(run: RunStarted, wishes: Wishes, log: Path) -> RunStarted:
    if not wishes.settings:
        return run
    for setting in wishes.settings:
        if parse_setting(setting)[:2] == ("run", "seed"):
            raise BadInput(
                f"--set {setting}: every id in a recording follows from its seed; start a run with another one instead"
            )
    return msgspec.structs.replace(run, config=change_run(run.config, wishes.settings, str(log)).describe())


def _elsewhere(run: RunStarted) -> dict[str, tuple[str, str]]:
    then, now = run.versions, versions()
    return {name: (then.get(name, "unknown"), now[name]) for name in ROUNDING if name in now and then.get(name) != now[name]}


def _root(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
