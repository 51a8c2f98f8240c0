#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many boards on one broker (docs/fleet.md, “How many boards a broker serves”): each board is a daemon, a bridge and `ancsd phone`,
processes of their own; the broker is a mosquitto on the loopback. scripts/bench --fleet calls it.

- Latency: one notification after the other at one board, with all others idle, in parts (latency.py); beside it a bare
  mosquitto_pub of as many bytes, in the same run.
- Burst: every board gets its notifications at once. All must arrive, once and in order a board; then the same with the
  broker killed during the burst.
- Idle and burst: a bridge's memory, CPU time and wake-ups.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
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
from Fleet.sleeper import Sleeper  # noqa: E402
from Fleet.watcher import Watcher  # noqa: E402
from Harness import procfs  # noqa: E402
from Harness.case import Failure, check, eventually  # noqa: E402
from Harness.process import PIPE, Daemon, Process, VirtualPhone  # noqa: E402

EVENTS = "ancsd/+/phone/+/event/notification"
#: The goal for a bridge's resident memory, in MB.
MEMORY_GOAL = 6.0


class QuietDaemon(Process):
    """A daemon whose events are not read."""

    def __init__(self, command: list[Any], directory: Path, socket: Path) -> None:
        super().__init__([*command, "--socket", socket], directory)
        self.socket = socket

    def stdout(self, output: Any) -> Any:
        return asyncio.subprocess.DEVNULL


class QuietPhone(VirtualPhone):
    """A phone of which only the responses are read."""


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
        phone = await QuietPhone(self.binary, place / "phone", out / "phone").start(PIPE)
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


async def burst(fleet: Fleet, sleeper: Sleeper, each: int, kill: bool) -> None:
    """Every board's phone posts its notifications at once."""
    boards = fleet.boards
    sleeper.clear()
    cpu = [procfs.cpu_seconds(board.bridge.pid) for board in boards]
    began = time.monotonic()
    for board in boards:
        assert board.phone.process is not None and board.phone.process.stdin is not None
        board.phone.process.stdin.write(
            json.dumps({"command": "burst", "count": each, "title": "Mum", "message": "Saturday?", "id": 0}).encode() + b"\n")
    wanted = len(boards) * each
    if kill:
        await eventually(lambda: len(sleeper.payloads) >= wanted // 5, "the burst does not begin", 120)
        # It is stopped first, so that what it has sent to the subscriber is read: when a process ends whose socket has unread
        # bytes, the kernel discards what is in transit.
        fleet.broker.send_signal(signal.SIGSTOP)
        await asyncio.sleep(0.5)
        await fleet.broker.down()
        await asyncio.sleep(2)
        await fleet.broker.up()

    def complete() -> bool:
        return len({(event["board"], event["uid"]) for event in sleeper.events}) >= wanted

    limit = 120
    while not (len(sleeper.payloads) >= wanted and complete()):
        if time.monotonic() - began > limit:
            break
        await asyncio.sleep(0.1)
    took = time.monotonic() - began
    await asyncio.sleep(1)
    told: dict[str, list[int]] = {board.name: [] for board in boards}
    for event in sleeper.events:
        told[event["board"]].append(event["uid"])
    missing = sum(each - len(set(uids)) for uids in told.values())
    twice = sum(len(uids) - len(set(uids)) for uids in told.values())
    in_order = all(list(dict.fromkeys(uids)) == sorted(set(uids)) for uids in told.values())
    spent = [procfs.cpu_seconds(board.bridge.pid) - before for board, before in zip(boards, cpu)]
    memory = [procfs.status(board.bridge.pid)["VmHWM"] / 1024 for board in boards]
    what = f"{len(boards)} boards × {each} at once" + (", the broker killed after a fifth" if kill else "")
    print(f"{what}: all after {took:.1f} s, {missing} missing, {twice} twice, "
          f"{'in order' if in_order else 'NOT in order'} a board")
    print(f"    a bridge: {statistics.median(spent) * 1e3:.0f} ms of CPU, at most {max(memory):.1f} MB resident", flush=True)
    check(not missing and in_order and (kill or not twice), f"{what}: notifications are missing, doubled or in another order")


async def idle(fleet: Fleet, seconds: float) -> None:
    """All boards idle."""
    boards = fleet.boards
    before = [(procfs.wake_ups(board.bridge.pid), procfs.cpu_seconds(board.bridge.pid)) for board in boards]
    await asyncio.sleep(seconds)
    wakes = [procfs.wake_ups(board.bridge.pid) - wake for board, (wake, _) in zip(boards, before)]
    cpu = [procfs.cpu_seconds(board.bridge.pid) - spent for board, (_, spent) in zip(boards, before)]
    resident = [procfs.status(board.bridge.pid)["VmRSS"] / 1024 for board in boards]
    daemons = [procfs.status(board.daemon.pid)["VmRSS"] / 1024 for board in boards]
    own = [procfs.status(board.bridge.pid)["RssAnon"] / 1024 for board in boards]
    print(f"idle for {seconds:.0f} s: a bridge wakes {statistics.median(wakes):.0f} times, takes {sum(cpu) / len(cpu) * 1e3:.1f} ms of CPU, "
          f"has {statistics.median(resident):.1f} MB resident ({statistics.median(own):.1f} MB its own; goal: {MEMORY_GOAL:.0f}); "
          f"a daemon {statistics.median(daemons):.1f} MB; the broker {procfs.status(fleet.broker.pid)['VmRSS'] / 1024:.1f} MB",
          flush=True)


async def run(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fleet.") as folder:
        work = Path(folder)
        # Without these limits, everything that the broker has acknowledged is already at the subscriber's socket, so killing it
        # loses nothing. The subscriber's session is saved once, so what arrives before its return is queued for it.
        broker = Mosquitto(work, arguments.out / "mosquitto", "max_queued_messages 0", "max_inflight_messages 0", persistent=True,
                           saves=False)
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
            sleeper = Sleeper(broker.port, EVENTS)
            await sleeper.connect()
            broker.save()
            await idle(fleet, arguments.idle)
            await measure_latency(fleet, arguments.count)
            await burst(fleet, sleeper, arguments.each, kill=False)
            await burst(fleet, sleeper, arguments.each, kill=True)
            await idle(fleet, arguments.idle)
            sleeper.close()
        finally:
            await fleet.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the ancsd to run, with ancsd-mqtt beside it")
    parser.add_argument("--out", type=Path, required=True, help="where logs are left")
    parser.add_argument("--boards", type=int, default=100)
    parser.add_argument("--each", type=int, default=50, help="notifications a board in a burst")
    parser.add_argument("--count", type=int, default=500, help="notifications whose latency is measured")
    parser.add_argument("--idle", type=float, default=60, help="seconds for which the idle bridges are watched")
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
