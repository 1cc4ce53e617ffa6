"""The thread that owns the model, so that the event loop stays free while it computes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count

from services.inference.logic import job_of
from shared.engine.batch import Outcome, SampleJob, Sampler
from shared.messages import SampleRequested


class Worker:
    """Takes requests from any thread and answers them from its own, all that wait in one batch."""

    def __init__(self, make: Callable[[], Sampler]) -> None:
        """`make` is called in the worker's thread: at the start, and again when a sampler broke."""
        self._make = make
        self._inbox: queue.SimpleQueue[tuple[SampleRequested, Future[Outcome]] | None] = queue.SimpleQueue()
        self._open: dict[str, Future[Outcome]] = {}
        self._names = map(str, count())
        self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)
        self._thread.start()

    def submit(self, request: SampleRequested) -> Future[Outcome]:
        """The outcome to be. It holds an exception when the sampler itself broke."""
        future: Future[Outcome] = Future()
        self._inbox.put((request, future))
        return future

    def close(self) -> None:
        """Stops after the step under way; what is not answered by then fails."""
        self._inbox.put(None)
        self._thread.join()

    def _work(self) -> None:
        sampler: Sampler | None = None
        while (jobs := self._take()) is not None:
            try:
                sampler = sampler or self._make()
                for job in jobs:
                    sampler.submit(job)
                for key, outcome in sampler.step():
                    self._open.pop(key).set_result(outcome)
            except Exception as error:
                sampler = None
                self._fail(error)
        self._fail(RuntimeError("inference was stopped"))

    def _take(self) -> list[SampleJob] | None:
        """All that waits; sleeps while there is nothing to do at all. None when it is time to stop."""
        jobs = []
        while not self._open or not self._inbox.empty():
            item = self._inbox.get()
            if item is None:
                return None
            request, future = item
            if future.set_running_or_notify_cancel():
                key = next(self._names)
                self._open[key] = future
                jobs.append(job_of(request, key))
        return jobs

    def _fail(self, error: Exception) -> None:
        """Hands the error to everybody whose request is under way."""
        for future in self._open.values():
            future.set_exception(error)
        self._open.clear()
