"""A child that ends when its parent ends, however that ends: no run leaves a process behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "SAGEPACE_PARENT"
"""Set by the supervisor to its process id."""


def follow_parent() -> None:
    """Asks Linux for SIGKILL at the parent's end when `PARENT_VARIABLE` names it.

    A supervisor that can still do so ends its children in order; this is for one that cannot. Any other signal would not reach
    a process that is frozen, and nothing acknowledged is lost by this one. Elsewhere the supervisor's own clean-up has to do. A
    service started by hand has no such variable and goes on alone.
    """
    parent = os.environ.get(PARENT_VARIABLE)
    if not parent or sys.platform != "linux":
        return
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before we asked
        sys.exit(0)
