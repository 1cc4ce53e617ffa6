"""The Learner's knobs. The defaults are those of the tiny loop; docs/decisions.md says where they part from the paper."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Statistic = Literal["role", "kind", "planned"]
TrainedRole = Literal["challenger", "planner", "solver", "critic"]

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]


class LearnerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How big a step is and what is done with its experiences."""

    temperature: Annotated[float, Meta(gt=0.0, le=5.0)] = 1.0
    """What the trained roles sample at (theirs must equal it): the policy that is trained is the one that was sampled."""
    lr: Annotated[float, Meta(ge=0.0, le=1.0)] = 3e-4
    """AdamW's learning rate after the warm-up; 0 leaves every weight as it is, bit for bit."""
    warmup_steps: Annotated[int, Meta(ge=0)] = 5
    """The learning rate rises linearly over so many steps, also after a rollback."""
    clip: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.2
    """PPO's clip range: the ratio counts between 1 - clip and 1 + clip."""
    kl: NotNegative = 0.01
    """Weight of the k3 estimate of the divergence from the base policy; 0 keeps no reference in memory."""
    entropy: NotNegative = 0.0
    """Weight of the entropy bonus."""
    epochs: Count = 1
    """How often the step's sequences are gone through."""
    minibatches: Count = 2
    """Into so many optimizer updates an epoch is cut."""
    grad_clip: Annotated[float, Meta(gt=0.0)] = 1.0
    """The gradient's norm is cut to this."""
    statistics: tuple[Statistic, ...] = ("role",)
    """What a group of comparable rewards shares: its role, and on request the kind of task and whether a plan was shown."""
    roles: tuple[TrainedRole, ...] = ("challenger", "planner", "solver", "critic")
    """Roles whose sequences are trained on; a role left out still acts (the paper's ablation)."""
    nominate_every: Count = 10
    """The gate is asked after every so many steps, and after the last one."""
    num_challenges: Annotated[int, Meta(ge=0)] = 16
    """New tasks to invent in a step."""
    num_assignments: Annotated[int, Meta(ge=0)] = 24
    """Tasks of the dataset to plan and solve in a step."""
    threads: Count = 2
    """Threads of the training arithmetic; the same number gives the same bits."""
    micro_tokens: Count = 2048
    """At most so many tokens, padding included, go through the model at once; bounds memory and changes no result."""
    step_deadline_s: Annotated[float, Meta(gt=0.0)] = 300.0
    """A step that lacks experiences after so many seconds is closed without them; what is missing counts as lost to a fault."""
    max_fault_share: Share = 0.2
    """Training ends when a larger share of a step's experiences was lost to faults of ours."""
    keep_policies: Count = 3
    """So many of the newest policies stay in the store, besides base, committed, working and nominated ones."""
