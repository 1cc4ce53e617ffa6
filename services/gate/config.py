"""The gate's knobs: the section ``[gate]`` of a run file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from services.gate.bettors.fixed import MAX_LAMBDA

Level = Annotated[float, Meta(gt=0.0, lt=1.0)]
Temperature = Annotated[float, Meta(ge=0.0)]


class GateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How decisive the evidence must be, and how much of it may be asked for."""

    alpha: Level = 0.05
    """Chance, per candidate, that one which is not better gets committed; commit when the wealth reaches 1/alpha."""
    alpha_harm: Level = 0.05
    """The same for each harm process (one overall, one per kind): chance of calling a candidate worse that is not."""
    bettor: Literal["grid", "fixed"] = "grid"
    """Betting strategy: ``grid`` mixes lambda 0.2, 0.4, 0.6, 0.8; ``fixed`` is the paper's, with `bettor_lambda`."""
    bettor_lambda: Annotated[float, Meta(gt=0.0, le=MAX_LAMBDA)] = 0.5
    """Share of the wealth that ``fixed`` bets on each discordant pair."""
    max_pairs: Annotated[int, Meta(ge=1)] = 300
    """Budget of a test: held-out instances answered by both policies, ties and dropped pairs included."""
    block: Annotated[int, Meta(ge=1)] = 32
    """Pairs asked at once: more is faster in a batch, less wastes fewer answers after the decision."""
    temperature: Temperature = 1.0
    """Sampling temperature of the pairs, for both policies."""
    min_pairs_per_kind: Annotated[int, Meta(ge=0)] = 8
    """No commit before each kind has so many graded pairs. With fewer than 7 no loss in that kind could show at all: ``grid``
    needs 7 straight losses to reach 1/0.05. It delays a commit and costs no error rate: evidence once reached stays."""
    test_tasks: Annotated[int, Meta(ge=1)] = 600
    """Tasks of the final evaluation, base against committed policy."""
    test_temperatures: Annotated[tuple[Temperature, ...], Meta(min_length=1)] = (1.0, 0.0)
    """Temperatures of the final evaluation; 0 is greedy."""
