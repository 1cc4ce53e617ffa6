"""What a client makes of handshakes that fail."""

from __future__ import annotations

import pytest

from shared.bus.handshakes import Handshakes, Outcome


@pytest.mark.parametrize(
    ("outcome", "keyed", "reason"),
    [
        (Outcome.SUCCEEDED, True, None),
        (Outcome.HUNG_UP, True, None),
        (Outcome.KEY_REFUSED, True, "refused this process's key"),
        (Outcome.OTHER_SECURITY, True, "uses no keys and this process does"),
        (Outcome.OTHER_SECURITY, False, "uses keys and this process has none"),
        (Outcome.FOREIGN, False, "is no bus"),
    ],
)
def test_what_is_final_has_a_reason(outcome: Outcome, keyed: bool, reason: str | None) -> None:
    """After some outcomes ZeroMQ does not try again; these end the line, in words that name the address."""
    said = Handshakes("tcp://gpu:5550", keyed=keyed).heard(outcome)
    assert said is None if reason is None else said is not None and reason in said and "tcp://gpu:5550" in said


def test_the_guess_follows_the_last_handshake() -> None:
    """Silence is a broker that does not run; a bus that hangs up is a matter of keys, until a handshake succeeds."""
    plain, keyed = Handshakes("a", keyed=False), Handshakes("a", keyed=True)
    assert plain.guess() == keyed.guess() == "is the broker running?"
    plain.heard(Outcome.HUNG_UP)
    keyed.heard(Outcome.HUNG_UP)
    assert plain.guess().endswith("(--keys)")
    assert "public key" in keyed.guess()
    plain.heard(Outcome.SUCCEEDED)
    assert plain.guess() == "is the broker running?"
