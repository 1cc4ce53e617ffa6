"""The one exception for mistakes that a user can make and mend."""

from __future__ import annotations


class BadInput(Exception):
    """A mistake in what the user gave: its text is one line that says what, where and what to do.

    The command line prints that line and ends with exit code 2, without a traceback.
    """
