"""`python -m services.bus --bus ADDRESS --log FILE`: prints ``ready ADDRESS`` once it listens; serves until SIGTERM or SIGINT.

Exit codes: 0 stopped, 2 wrong usage or bad input, 3 the log cannot be written any more.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from shared.bus.address import parse_address
from shared.bus.broker import Broker
from shared.errors import BadInput
from shared.eventlog.port import JournalFault
from shared.eventlog.sqlite import SqliteJournal
from shared.parent import follow_parent


def complain(line: str) -> None:
    """One line on standard error."""
    print(f"bus: {line}", file=sys.stderr, flush=True)


def serve(address: str, log: Path) -> None:
    """Opens log and sockets, serves until a signal, closes both. Raises `BadInput` or `JournalFault`."""
    place = parse_address(address)
    journal = SqliteJournal(log)
    try:
        broker = Broker(journal, place, complain)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: broker.stop())
            print(f"ready {address}", flush=True)
            broker.run()
        finally:
            broker.close()
    finally:
        journal.close()


def main() -> int:
    """The process's exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.bus", description="The broker: numbers, journals, then tells.")
    parser.add_argument("--bus", required=True, metavar="ADDRESS", help="ipc:///absolute/path or tcp://127.0.0.1:PORT")
    parser.add_argument("--log", required=True, metavar="FILE", type=Path, help="the log, made when it is missing")
    options = parser.parse_args()
    follow_parent()
    try:
        serve(options.bus, options.log)
    except BadInput as error:
        complain(str(error))
        return 2
    except JournalFault as error:
        complain(str(error))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
