"""Inference's knobs: the section ``[inference]`` of a run file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1)]


class InferenceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How much is answered at a time, and with what numbers."""

    max_rows: Count = 128
    """Requests answered at a time, over all policies; more is faster, up to a point, and takes memory for keys and values."""
    policies_in_memory: Count = 4
    """Models held at a time; the one that was asked longest ago makes room for another."""
    threads: Count = 1
    """Torch threads. With more than one, a request's log-probabilities may differ in their last bits from run to run."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Numbers of weights and activations; only float32 is promised to repeat bit for bit."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the models are; the promise to repeat bit for bit is for ``cpu``."""
