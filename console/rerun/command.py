"""`sagepace rerun`: one role again on a recording, and whether it says what it said then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from console.recording import log_file
from console.rerun.again import Rerun, Wishes
from console.rerun.report import as_json, as_text
from console.rerun.role import build_of
from shared.config import nearest
from shared.errors import BadInput
from shared.eventlog.reader import LogReader
from shared.flow import FLOW
from shared.logs import configure_logs
from shared.messages import Role

SERVICES = tuple(role for role in FLOW if role is not Role.CONSOLE)
"""What can be re-run: the seven roles and inference."""


def rerun(place: Path, service: str, wishes: Wishes, *, json: bool) -> int:
    """Runs a role again on the recording in `place` and prints what came of it.

    Gives the exit status: 0 when it said what it said then, 1 when not. Raises `BadInput`.
    """
    role = role_named(service)
    configure_logs(role)
    with closing(LogReader(log_file(place))) as reader:
        again = Rerun(reader, role, build_of(role), wishes)
        again.play()
        result = again.result()
    print(as_json(result) if json else as_text(result))
    return 0 if result.identical else 1


def role_named(service: str) -> Role:
    """The role of that name. Raises `BadInput` for a name that is none."""
    if service not in SERVICES:
        raise BadInput(f"--service {service}: no such service; {nearest(service, SERVICES)}")
    return Role(service)
