"""A child that ends when its parent ends, however that ends: no run leaves a process behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "SAGEPACE_PARENT"
"""Set by the supervisor to its process id."""

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Asks Linux for SIGKILL at the parent's end; to be called in the child, between fork and exec.

    A supervisor that can still do so ends its children in order; this is for one that cannot. Any other signal, and anything
    that the child's own program does later, would not reach a process that is frozen; and nothing acknowledged is lost by this
    signal. On other systems the supervisor's own clean-up has to do.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def follow_parent() -> None:
    """Ends this process when the parent that `PARENT_VARIABLE` names was gone before it could be followed.

    A service started by hand has no such variable and goes on alone.
    """
    parent = os.environ.get(PARENT_VARIABLE)
    if not parent or sys.platform != "linux":
        return
    end_with_parent()
    if os.getppid() != int(parent):
        sys.exit(0)
