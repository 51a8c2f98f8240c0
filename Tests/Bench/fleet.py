#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a notification takes to a subscriber of the broker (docs/fleet.md): one after the other at one board, with all others
idle, in parts (latency.py); beside it a bare mosquitto_pub of as many bytes, in the same run. Each board is a daemon, a bridge
and `ancsd phone`, processes of their own; the broker is a mosquitto on the loopback. scripts/bench --fleet calls it.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench.latency import Way, serve, serve_until_quiet  # noqa: E402
from Bench.phone import Phone  # noqa: E402
from Fleet.mosquitto import Mosquitto  # noqa: E402
from Fleet.watcher import Watcher  # noqa: E402
from Harness.case import Failure, eventually  # noqa: E402
from Harness.process import PIPE, Process, VirtualPhone  # noqa: E402


class QuietDaemon(Process):
    """A daemon whose events are not read."""

    def __init__(self, command: list[Any], directory: Path, socket: Path) -> None:
        super().__init__([*command, "--socket", socket], directory)
        self.socket = socket

    def stdout(self, output: Any) -> Any:
        return asyncio.subprocess.DEVNULL


@dataclass
class Board:
    name: str
    phone: VirtualPhone
    daemon: Process
    bridge: Process


@dataclass
class Fleet:
    binary: Path
    work: Path
    out: Path
    broker: Mosquitto
    boards: list[Board] = field(default_factory=list)

    @property
    def bridge_program(self) -> Path:
        return self.binary.with_name("ancsd-mqtt")

    async def add(self, number: int) -> None:
        """Starts a board: a phone, a daemon and a bridge."""
        name = f"b{number}"
        place = self.work / name
        place.mkdir()
        out = self.out / name
        phone = await VirtualPhone(self.binary, place / "phone", out / "phone").start(PIPE)
        daemon = await self.daemon(place, out, name)
        self.boards.append(Board(name, phone, daemon, await self.bridge(place, out, name)))

    async def daemon(self, place: Path, out: Path, name: str, *options: str) -> QuietDaemon:
        command = [self.binary, "run", "--att", f"unix:{place}/phone", "--state-dir", place / "state", "--name", name, *options]
        return await QuietDaemon(command, out / "daemon", place / "control").start()

    async def bridge(self, place: Path, out: Path, name: str) -> Process:
        settings = place / "mqtt.toml"
        settings.write_text(f'[mqtt]\nurl = "{self.broker.url}"\nboard = "{name}"\n')
        command = [self.bridge_program, "--config", settings, "--socket", place / "control", "--state-dir", place / "bridge"]
        return await Process(command, out / "bridge").start()

    async def close(self) -> None:
        for board in self.boards:
            await asyncio.gather(board.bridge.close(), board.daemon.close(), board.phone.close())
        await self.broker.close()


async def measure_latency(fleet: Fleet, count: int) -> None:
    """One notification after the other on a board whose phone is in this process, with all others idle."""
    place = fleet.work / "measured"
    place.mkdir()
    phone = Phone(place / "phone", sys.maxsize)
    phone.held = True
    daemon = await fleet.daemon(place, fleet.out / "measured", "measured", "--quirk", "search=off")
    await asyncio.to_thread(serve, phone)
    bridge = await fleet.bridge(place, fleet.out / "measured", "measured")
    watcher = await Watcher(fleet.broker.port, name="measured").start("ancsd/measured/#")
    await asyncio.gather(asyncio.to_thread(serve_until_quiet, phone), watcher.message("ancsd/measured/phone/iphone/counts", within=30))
    watcher.close()
    way = Way(phone, place / "control", fleet.broker.port, "ancsd/measured/phone/iphone/event/notification")
    try:
        await asyncio.to_thread(way.measure, count)
    finally:
        way.close()
        await asyncio.gather(bridge.close(), daemon.close())
    sys.stdout.flush()


async def run(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fleet.") as folder:
        work = Path(folder)
        broker = Mosquitto(work, arguments.out / "mosquitto")
        await broker.up()
        fleet = Fleet(arguments.binary, work, arguments.out, broker)
        try:
            began = time.monotonic()
            for number in range(arguments.boards):
                await fleet.add(number)
            online = {f"ancsd/{board.name}/phone/iphone/state" for board in fleet.boards}
            states = await Watcher(broker.port, name="states").start("ancsd/+/phone/+/state")
            await eventually(
                lambda: {m.topic for m in states.messages if m.json["state"] == "online"} >= online, "not all boards are online", 300)
            states.close()
            print(f"{arguments.boards} boards are online after {time.monotonic() - began:.0f} s", flush=True)
            await measure_latency(fleet, arguments.count)
        finally:
            await fleet.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the ancsd to run, with ancsd-mqtt beside it")
    parser.add_argument("--out", type=Path, required=True, help="where logs are left")
    parser.add_argument("--boards", type=int, default=1, help="boards that are idle meanwhile")
    parser.add_argument("--count", type=int, default=500, help="notifications whose latency is measured")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(run(arguments))
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
