"""Where a re-run finds policies, and where the Learner may write: a scratch store, never the recording's.

A policy is taken from the recording's own store, which lies beside its log, or else where the run had it. The base policy may
come from anywhere, since its name is the hash of its content: a folder that the caller names, the run's `model.path`, or the
tiny model of this project.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from console.launch import HERE
from console.runfile import PACKAGED_MODEL
from shared.errors import BadInput
from shared.messages import PolicyTrained, RunStarted, StepOpened
from shared.store import PolicyStore, content_name, is_policy_name


class Weights:
    """A scratch store with links to the policies that a role needs."""

    def __init__(self, scratch: Path, run: RunStarted, recording: Path, model: Path | None) -> None:
        """`recording` is the folder of the log, `model` a folder that holds the base policy."""
        self.store = PolicyStore(scratch / "policies")
        self._optimizers = scratch / "learner"
        self._optimizers.mkdir()
        self._run = run
        self._places = [recording / "policies", Path(run.store)]
        self._model = model

    def has(self, policy: str) -> bool:
        """Whether the policy is at hand; if so it is in the scratch store afterwards."""
        if not is_policy_name(policy):
            return False
        if (self.store.root / policy).is_dir():
            return True
        found = next((place / policy for place in self._places if (place / policy).is_dir()), None)
        if found is None and policy == self._run.base_policy:
            found = next(self._folders_like_the_base(), None)
        if found is None:
            return False
        (self.store.root / policy).symlink_to(found.resolve())
        return True

    def need_base(self) -> None:
        """Makes the base policy available. Raises `BadInput` when it is nowhere, or when the named folder is another one."""
        base = self._run.base_policy
        if self._model is not None and (name := _name_of(self._model)) != base:
            raise BadInput(f"--model {self._model}: it holds {name or 'no model'}, but the recording's base policy is {base}")
        if not self.has(base):
            raise BadInput(f"the recording's base policy {base} is in none of its stores; give its folder with --model FOLDER")

    def need_step(self, opened: StepOpened, *, fresh: bool) -> None:
        """Makes available what a step after the first begins with. Raises `BadInput` when the stores no longer have it."""
        state = f"s{opened.step - 1}-{opened.policy}.pt"
        optimizer = next((file for place in self._places if (file := place.parent / "learner" / state).is_file()), None)
        if not self.has(opened.policy) or not (fresh or optimizer):
            what = "the optimizer's state that goes with" if self.has(opened.policy) else "the weights of"
            raise BadInput(
                f"the Learner's part begins at step {opened.step}, and the run's folder no longer has {what} {opened.policy}; "
                "re-run a recording that begins at step 1"
            )
        if optimizer:
            (self._optimizers / state).symlink_to(optimizer.resolve())

    def go_on_as(self, recorded: PolicyTrained, now: PolicyTrained) -> None:
        """Gives the policy just made the recorded name too, since the recorded facts that follow will ask for that one."""
        target = self.store.root / recorded.policy
        if recorded.policy == now.policy or target.exists() or not is_policy_name(recorded.policy):
            return
        shutil.copytree(self.store.path(now.policy), target, copy_function=os.link)
        made, wanted = (self._optimizers / f"s{fact.step}-{fact.policy}.pt" for fact in (now, recorded))
        if made.exists() and not wanted.exists():
            os.link(made, wanted)

    def _folders_like_the_base(self) -> Iterator[Path]:
        path = str(self._run.config.get("model", {}).get("path", PACKAGED_MODEL))
        named = [] if path == PACKAGED_MODEL else [Path(path).expanduser(), HERE / path]
        for folder in [*([self._model] if self._model else []), *named, HERE / "models" / "tiny"]:
            if _name_of(folder) == self._run.base_policy:
                yield folder


def _name_of(folder: Path) -> str:
    """The name that the folder's content has as a policy; empty when there is none."""
    try:
        return content_name(folder)
    except (OSError, ValueError):
        return ""
