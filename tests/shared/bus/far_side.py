"""A client process for tests with two hosts: publishes facts one by one and follows the whole log meanwhile.

``python far_side.py ADDRESS KEYS NAME FACTS PAUSE_S``: prints ``going`` after the first acknowledgement, and at the end, once
another client's as many facts are there too, one line of JSON: the ids that were acknowledged, and all that was read as
(seq, id), in the order of reading.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from shared.bus.port import BusClosed
from shared.bus.zeromq import ZmqBus
from shared.messages import StepOpened, named


async def publish(bus: ZmqBus, name: str, count: int, pause_s: float) -> list[str]:
    """The ids, in the order in which they were acknowledged."""
    acknowledged: list[str] = []
    for number in range(count):
        fact = named(StepOpened(step=number, policy=name, num_challenges=1, num_assignments=1), name, number)
        await bus.publish([fact])
        if not acknowledged:
            print("going", flush=True)
        acknowledged.append(fact.id)
        await asyncio.sleep(pause_s)
    return acknowledged


async def follow(bus: ZmqBus, expected: int) -> list[tuple[int, str]]:
    """So many facts from the beginning."""
    seen: list[tuple[int, str]] = []
    after = 0
    while len(seen) < expected:
        page = await bus.read(after, [StepOpened])
        seen += [(seq, fact.id) for seq, fact in page.facts]
        after = page.upto
        if not page.facts:
            await bus.news(after, 1.0)
    return seen


async def main(address: str, keys: str, name: str, count: str, pause_s: str) -> None:
    """Both at once, on clients of their own."""
    writing, reading = ZmqBus(address, keys=Path(keys)), ZmqBus(address, keys=Path(keys))
    try:
        acknowledged, seen = await asyncio.gather(
            publish(writing, name, int(count), float(pause_s)), follow(reading, 2 * int(count))
        )
        print(json.dumps({"acknowledged": acknowledged, "seen": seen}), flush=True)
    finally:
        await writing.close()
        await reading.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except BusClosed as error:
        sys.exit(str(error))
