"""`python -m services.bus --bus ADDRESS --log FILE`: prints ``ready ADDRESS`` once it listens; serves until SIGTERM or SIGINT.

Exit codes: 0 stopped, 2 wrong usage or bad input, 3 the log cannot be written any more.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
from pathlib import Path

from shared.bus.address import parse_address
from shared.bus.attendance import LEAVE_S
from shared.bus.broker import Broker
from shared.bus.calls import Later, Refusals
from shared.bus.keys import KEYS_VARIABLE, broker_keys
from shared.bus.server import Server
from shared.errors import BadInput
from shared.eventlog.port import JournalFault
from shared.eventlog.sqlite import SqliteJournal
from shared.parent import follow_parent


def complain(line: str) -> None:
    """One line on standard error."""
    print(f"bus: {line}", file=sys.stderr, flush=True)


def serve(address: str, log: Path, keys: Path | None, leave_s: float) -> None:
    """Opens log and sockets, serves until a signal, closes both. Raises `BadInput` or `JournalFault`."""
    place = parse_address(address)
    ring = broker_keys(place, keys)
    journal = SqliteJournal(log)
    try:
        refusals = Refusals(complain)
        later = Later()
        broker = Broker(journal, refusals, later, leave_s=leave_s)
        server = Server(broker, place, refusals, keys=ring, later=later)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: server.stop())
            print(f"ready {address}", flush=True)
            server.run()
        finally:
            broker.close()
            server.close()
            later.close()
    finally:
        journal.close()


def make_room() -> None:
    """Lets the process have as many connections as it is allowed: without a free one ZeroMQ would abort it on ipc."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # The thread that waits for the disk is to be heard soon after it has come back, also while this one is busy.
    sys.setswitchinterval(0.0005)


def main() -> int:
    """The process's exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.bus", description="The broker: numbers, journals, then tells.")
    parser.add_argument("--bus", required=True, metavar="ADDRESS", help="ipc:///absolute/path or tcp://HOST:PORT")
    parser.add_argument("--log", required=True, metavar="FILE", type=Path, help="the log, made when it is missing")
    keys_help = f"the broker's keys, as `sagepace keys` makes them; needed where other hosts can come in [{KEYS_VARIABLE}]"
    parser.add_argument("--keys", metavar="DIR", type=Path, help=keys_help)
    leave_help = "others take over the work of a process that was not heard of for so long [%(default)g]"
    parser.add_argument("--leave", metavar="SECONDS", type=float, default=LEAVE_S, help=leave_help)
    options = parser.parse_args()
    follow_parent()
    make_room()
    try:
        serve(options.bus, options.log, options.keys, options.leave)
    except BadInput as error:
        complain(str(error))
        return 2
    except JournalFault as error:
        complain(str(error))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
