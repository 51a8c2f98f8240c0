#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a notification takes to a subscriber of the broker (docs/fleet.md): one after the other, in parts (latency.py),
beside a bare mosquitto_pub of as many bytes. The daemon and the bridge are processes of their own; the broker is a mosquitto on
the loopback. scripts/bench --fleet calls it.
"""

import argparse
import asyncio
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench.latency import Way, serve, serve_until_quiet  # noqa: E402
from Bench.phone import Phone  # noqa: E402
from Fleet.testbed import Testbed  # noqa: E402
from Harness.case import Failure  # noqa: E402
from Harness.process import Process  # noqa: E402


async def measure(bed: Testbed, count: int) -> None:
    """One notification after the other on a board whose phone is in this process."""
    broker = await bed.mosquitto()
    phone = Phone(bed.work / "phone", 0)
    # Its events go into a file, so that nobody has to read them.
    options = ["--state-dir", bed.state, "--socket", bed.socket(), "--name", "measured", "--quirk", "search=off"]
    await bed.start(Process([bed.binary, "run", "--att", f"unix:{bed.work}/phone", *options], bed.out))
    await asyncio.to_thread(serve, phone)
    await bed.bridge(bed.socket(), broker.url, board="measured")
    watcher = await bed.watcher(broker, "ancsd/measured/#", name="measured")
    await asyncio.gather(asyncio.to_thread(serve_until_quiet, phone), watcher.message("ancsd/measured/phone/iphone/counts", within=30))
    watcher.close()
    way = Way(phone, bed.socket(), broker.port, "ancsd/measured/phone/iphone/event/notification")
    try:
        await asyncio.to_thread(way.measure, count)
    finally:
        way.close()


async def run(arguments: argparse.Namespace) -> None:
    bed = Testbed(arguments.binary, arguments.out)
    try:
        await measure(bed, arguments.count)
    finally:
        await bed.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the ancsd to run, with ancsd-mqtt beside it")
    parser.add_argument("--out", type=Path, required=True, help="where logs are left")
    parser.add_argument("--count", type=int, default=500, help="notifications whose latency is measured")
    try:
        asyncio.run(run(parser.parse_args()))
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
