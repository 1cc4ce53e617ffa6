"""The gate's knobs: what a run file may and may not say."""

import msgspec
import pytest

from services.gate.config import GateConfig


def test_defaults_are_valid_and_survive_the_log() -> None:
    """A run's first fact carries the section as plain data, tuples as lists."""
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(GateConfig()))
    assert msgspec.convert(plain, GateConfig) == GateConfig()


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0}, {"alpha": 1.0}, {"alpha_harm": -0.1}, {"bettor": "kelly"}, {"bettor_lambda": 1.0}, {"max_pairs": 0},
        {"block": 0}, {"temperature": -1.0}, {"test_temperatures": []}, {"test_temperatures": [-0.5]}, {"alfa": 0.05},
    ],
)  # fmt: skip
def test_values_out_of_range_and_unknown_keys_are_refused(wrong: dict[str, object]) -> None:
    """A typo must not silently run with the default."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, GateConfig)
