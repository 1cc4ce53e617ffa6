"""`sagepace log verify`: is a log whole? Names the first bad row, lists the others up to a limit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from console.recording import open_recording
from shared.eventlog.verify import Problem

LISTED = 50
"""So many problems are listed; the others are counted."""


def print_verification(directory: Path, *, as_json: bool) -> int:
    """Prints what is wrong with a log and gives the exit status: 0 when it is whole, 1 when not. Raises `BadInput`."""
    listed: list[Problem] = []
    count = 0
    with open_recording(directory) as recording:
        recording.require_readable()
        for problem in recording.reader.verify():
            count += 1
            if len(listed) < LISTED:
                listed.append(problem)
        facts = sum(recording.reader.counts().values()) if not count else 0
    if as_json:
        report = {"whole": not count, "facts": facts, "count": count, "problems": listed}
        print(msgspec.json.encode(report).decode())
    elif count:
        print("\n".join(problem.what for problem in listed))
        if count > len(listed):
            print(f"... and {count - len(listed)} more problems")
    else:
        print(f"the log is whole: {facts} facts")
    return 1 if count else 0
