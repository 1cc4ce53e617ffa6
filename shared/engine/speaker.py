"""How a role speaks: its templates, its sampling settings and the engine, behind one call.

An engine that cannot answer is a fault of ours. It ends as a reply without a sample, so that the unit of work goes on to its
end in facts instead of being waited for; nobody is paid or blamed for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from shared.engine.port import Engine, SampleFault
from shared.errors import BadInput
from shared.messages import Fact, Role, Sampling, Task
from shared.prompts import MissingTemplate, load_templates

log = structlog.get_logger()


class Reply(NamedTuple):
    """What the model said, and the id of its sample. An empty `sample` means that the engine could not answer."""

    text: str
    sample: str

    @property
    def lost(self) -> bool:
        """There is no sample: a fault of ours."""
        return not self.sample


class Speaker:
    """One role's voice."""

    def __init__(self, role: Role, engine: Engine, folder: Path, prompt_set: str, sampling: Sampling) -> None:
        """`folder` is the role's package, which holds ``prompts/<prompt_set>/*.md``. Raises `BadInput` for an unknown set."""
        try:
            self._templates = load_templates(folder, prompt_set)
        except MissingTemplate as error:
            raise BadInput(f"{role}.prompts: {error}") from error
        self._role = role
        self._engine = engine
        self._sampling = sampling
        self._prompt_set = prompt_set

    def need(self, names: tuple[str, ...]) -> None:
        """Raises `BadInput` when the prompt set lacks one of these templates."""
        for name in names:
            if name not in self._templates:
                have = ", ".join(sorted(self._templates))
                raise BadInput(f"{self._role}.prompts: the set '{self._prompt_set}' has no '{name}.md'; it has: {have}")

    async def ask(
        self, cause: Fact, name: str, task: Task, *, policy: str, index: int = 0, temperature: float | None = None, **texts: str
    ) -> Reply:
        """The reply of `policy` to template `name`, asked because of `cause` for the `index`-th time."""
        sampling = self._sampling
        if temperature is not None:
            sampling = msgspec.structs.replace(sampling, temperature=temperature)
        prompt = self._templates[name].render(task, **texts)
        try:
            done = await self._engine.sample(cause, prompt, sampling, role=self._role, policy=policy, index=index)
        except SampleFault as fault:
            log.warning("no sample", lineage=cause.lineage, reason=str(fault))
            return Reply("", "")
        return Reply(done.text, done.id)
