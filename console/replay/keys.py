"""What the keys of a replay mean. Pure: bytes of a terminal in, orders out.

space pauses and resumes, ``n`` shows the next fact, ``N`` asks how many, ``g`` asks which fact to go to (Enter does it, Escape
does not); right, up and ``+`` double the speed, left, down and ``-`` halve it; ``l`` switches the loop, ``q`` ends.
"""

from __future__ import annotations

from typing import NamedTuple

from console.replay.orders import STOP

HELP = "space pause · n next · N several · g go to · ←→ speed · l loop · q quit"

_ESCAPE = "\x1b"
_ARROWS = {"A": "faster", "C": "faster", "B": "slower", "D": "slower"}
_PLAIN = {" ": "toggle", "n": "step", "+": "faster", "=": "faster", "-": "slower", "_": "slower", "q": STOP}
_ASKING = {"N": "step", "g": "seek"}
_WORDS = {"step": "how many facts", "seek": "go to fact"}
_MOST_DIGITS = 15
"""More would not be exact in the message that carries them."""


class Given(NamedTuple):
    """An order as `console.replay.orders` takes it; the loop's value is left to whoever knows it (None)."""

    command: str
    value: float | None = 1.0


class Keys:
    """Remembers what is being typed."""

    def __init__(self) -> None:
        self._asked = ""
        self._digits = ""
        self._begun = ""

    @property
    def prompt(self) -> str:
        """The question that waits for a number, with what was typed so far; empty when there is none."""
        return f"{_WORDS[self._asked]}: {self._digits}_" if self._asked else ""

    def feed(self, data: bytes) -> list[Given]:
        """What was typed, as orders. Call it with nothing too, now and then: a lone Escape is known by what does not follow."""
        text = self._begun + data.decode("ascii", errors="replace")
        lone = self._begun == _ESCAPE and not data
        self._begun = ""
        found: list[Given] = []
        while text:
            if text[0] == _ESCAPE and not lone:
                if text in (_ESCAPE, "\x1b[", "\x1bO"):
                    self._begun = text
                    break
                order, text = self._escaped(text)
            else:
                order, text, lone = self._plain(text[0]), text[1:], False
            if order is not None:
                found.append(order)
        return found

    def _escaped(self, text: str) -> tuple[Given | None, str]:
        """An arrow, or an unknown sequence that is passed over; Escape before something else is just Escape."""
        if text[1] not in "[O":
            return self._plain(_ESCAPE), text[1:]
        length = 3
        while length < len(text) and not text[length - 1].isalpha() and text[length - 1] != "~":
            length += 1
        command = _ARROWS.get(text[2])
        return (Given(command) if command and not self._asked else None), text[length:]

    def _plain(self, key: str) -> Given | None:
        if self._asked:
            return self._answered(key)
        if key in _ASKING:
            self._asked = _ASKING[key]
        elif key == "l":
            return Given("loop", None)
        elif key in _PLAIN:
            return Given(_PLAIN[key])
        return None

    def _answered(self, key: str) -> Given | None:
        """A key while a number is asked for."""
        if key.isdigit() and len(self._digits) < _MOST_DIGITS:
            self._digits += key
        elif key in "\x7f\b":
            self._digits = self._digits[:-1]
        elif key in "\r\n" or key in {_ESCAPE, "q"}:
            order = Given(self._asked, float(self._digits)) if key in "\r\n" and self._digits else None
            self._asked = self._digits = ""
            return order
        return None
