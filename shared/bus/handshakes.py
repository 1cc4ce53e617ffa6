"""What a client learns from handshakes that fail: a final reason, or a guess for the end of its patience. Pure."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """How a handshake ended, as ZeroMQ tells the client."""

    SUCCEEDED = "succeeded"
    KEY_REFUSED = "key refused"
    """The broker knows itself addressed, and does not know this client's key."""
    OTHER_SECURITY = "other security"
    """The other side answered, and uses keys where this side does not, or none where this side does."""
    FOREIGN = "foreign"
    """The other side answered something that is no handshake at all."""
    HUNG_UP = "hung up"
    """The other side ended it without a word: so does a broker with keys when the client has none, or means another broker."""


class Handshakes:
    """The handshakes of one client."""

    def __init__(self, address: str, *, keyed: bool) -> None:
        """`address` as the user wrote it; `keyed`: whether this client uses keys."""
        self._address = address
        self._keyed = keyed
        self._hung_up = False

    def heard(self, outcome: Outcome) -> str | None:
        """Takes in one outcome; the reason in words when it is final, since ZeroMQ does not try again after it."""
        self._hung_up = outcome is Outcome.HUNG_UP
        if outcome is Outcome.KEY_REFUSED:
            return (
                f"the bus at {self._address} refused this process's key: its public key must be among those in the broker's "
                "folder of clients, where `sagepace keys` puts it"
            )
        if outcome is Outcome.OTHER_SECURITY and not self._keyed:
            return f"the bus at {self._address} uses keys and this process has none: give it some (--keys)"
        if outcome is Outcome.OTHER_SECURITY:
            return (
                f"the bus at {self._address} uses no keys and this process does: start the broker with its keys, or this "
                "process without"
            )
        if outcome is Outcome.FOREIGN:
            return f"whatever listens at {self._address} is no bus: is this the broker's address?"
        return None

    def guess(self) -> str:
        """Why there was no answer, as far as the handshakes tell."""
        if not self._hung_up:
            return "is the broker running?"
        if self._keyed:
            return "it ends every handshake: is the broker's public key that this process has the key of that broker?"
        return "it ends every handshake: is this the broker's address? If it uses keys, give this process some (--keys)"
