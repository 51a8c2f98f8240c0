#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many boards on one broker (docs/fleet.md, “What was measured”): each board is a daemon, a bridge and `ancsd phone`,
processes of their own; the broker is a mosquitto on the loopback. scripts/bench --fleet calls it.

- Latency: one notification after the other at one board, with all others idle. `pub` is a bare mosquitto_pub of payloads as
  long as the bridge's, to a subscriber in the same run.
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

from Fleet.mosquitto import Mosquitto, program  # noqa: E402
from Fleet.sleeper import Sleeper  # noqa: E402
from Fleet.watcher import Watcher  # noqa: E402
from Harness import procfs  # noqa: E402
from Harness.case import Failure, check, eventually  # noqa: E402
from Harness.process import PIPE, Daemon, Process, VirtualPhone  # noqa: E402

EVENTS = "ancsd/+/phone/+/event/notification"
#: What a client may take that the bridge's figure is held against (issue: not more than twice).
LATENCY_GOAL, MEMORY_GOAL = 2.0, 6.0


def milliseconds(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    at = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return f"median {statistics.median(ordered) * 1e3:.2f} ms, 99th percentile {at * 1e3:.2f} ms"


class QuietDaemon(Process):
    """A daemon whose events nobody reads here."""

    def __init__(self, command: list[Any], directory: Path, socket: Path) -> None:
        super().__init__([*command, "--socket", socket], directory)
        self.socket = socket

    def stdout(self, output: Any) -> Any:
        return asyncio.subprocess.DEVNULL


class QuietPhone(VirtualPhone):
    """Only answers are read."""


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
        daemon = await QuietDaemon(
            [self.binary, "run", "--att", f"unix:{place}/phone", "--state-dir", place / "state", "--name", name], out / "daemon",
            place / "control").start()
        settings = place / "mqtt.toml"
        settings.write_text(f'[mqtt]\nurl = "{self.broker.url}"\nboard = "{name}"\n')
        bridge = await Process(
            [self.bridge_program, "--config", settings, "--socket", place / "control", "--state-dir", place / "bridge"],
            out / "bridge").start()
        self.boards.append(Board(name, phone, daemon, bridge))

    async def close(self) -> None:
        for board in self.boards:
            await asyncio.gather(board.bridge.close(), board.daemon.close(), board.phone.close())
        await self.broker.close()


async def measure_latency(fleet: Fleet, watcher: Watcher, count: int) -> None:
    """One notification after the other at the first board, by its phone; beside it bare publications of as many bytes."""
    board = fleet.boards[0]
    topic = f"ancsd/{board.name}/phone/iphone/event/notification"
    whole, bare = [], []
    sizes = []
    arrivals: dict[str, float] = {}
    original = watcher.client.on_message

    # The time is taken where the message arrives, in the client's own thread.
    def arrived(client: Any, data: Any, message: Any) -> None:
        arrivals[f"{message.topic} {len(arrivals)}"] = time.monotonic()
        original(client, data, message)

    watcher.client.on_message = arrived
    publisher = await asyncio.create_subprocess_exec(
        program("mosquitto_pub"), "-V", "5", "-q", "1", "-p", str(fleet.broker.port), "-t", "bare/x", "-l", stdin=PIPE)
    assert publisher.stdin is not None
    # Its connection stands before the first line.
    publisher.stdin.write(b"begin\n")
    await watcher.message("bare/x")

    async def timed(send: Any, on: str) -> float:
        since = watcher.now
        arrivals.clear()
        began = time.monotonic()
        await send()
        message = await watcher.message(on, since=since)
        sizes.append(len(message.payload))
        return next(at for name, at in arrivals.items() if name.startswith(on)) - began

    async def notify() -> None:
        command = json.dumps({"command": "add", "title": "Mum", "message": "Are you coming on Saturday?", "id": 0})
        assert board.phone.process is not None and board.phone.process.stdin is not None
        board.phone.process.stdin.write(command.encode() + b"\n")

    async def publish() -> None:
        publisher.stdin.write(b"x" * size + b"\n")  # type: ignore[union-attr]

    for _ in range(count):
        whole.append(await timed(notify, topic))
        size = sizes[-1]
        bare.append(await timed(publish, "bare/x"))
        await asyncio.sleep(0.02)
    publisher.terminate()
    await publisher.wait()
    watcher.client.on_message = original
    print(f"from the phone to a subscriber, {count} times: {milliseconds(whole)}")
    print(f"mosquitto_pub to a subscriber, {size} bytes, {count} times: {milliseconds(bare)}")
    print(f"the first is {statistics.median(whole) / statistics.median(bare):.1f} times the second", flush=True)


async def measure_bridge(fleet: Fleet, count: int) -> None:
    """From the daemon's event to a subscriber: what the bridge and the broker take, without phone and daemon."""
    board = fleet.boards[0]
    reader, writer = await asyncio.open_unix_connection(str(board.daemon.socket), limit=1 << 22)  # type: ignore[attr-defined]
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["notification"]}}\n')
    await reader.readline()
    watcher = Watcher(fleet.broker.port, name="bridge")
    await watcher.start(f"ancsd/{board.name}/phone/iphone/event/notification")
    taken = []
    for _ in range(count):
        since = watcher.now
        assert board.phone.process is not None and board.phone.process.stdin is not None
        board.phone.process.stdin.write(b'{"command":"add","title":"Mum","id":0}\n')
        await reader.readline()
        began = time.monotonic()
        await watcher.message(f"ancsd/{board.name}/phone/iphone/event/notification", since=since)
        taken.append(time.monotonic() - began)
        await asyncio.sleep(0.02)
    watcher.close()
    writer.close()
    print(f"from the daemon's event at one client to a subscriber, {count} times: {milliseconds(taken)}", flush=True)


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
        # It stops first, so that what it has sent to the subscriber is read: the end of a process whose socket has unread bytes
        # has the kernel throw away what is on the way.
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
    """All boards at rest."""
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
        # What the broker has acknowledged is at the subscriber's socket: it holds nothing back that its end would lose. The
        # subscriber's session is saved once, so that what comes before its return waits for it.
        broker = Mosquitto(work, arguments.out / "mosquitto", "max_queued_messages 0", "max_inflight_messages 0", persistent=True,
                           saves=False)
        await broker.up()
        fleet = Fleet(arguments.binary, work, arguments.out, broker)
        try:
            watcher = await Watcher(broker.port).start("ancsd/+/state", EVENTS, "bare/#")
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
            await measure_latency(fleet, watcher, arguments.count)
            await measure_bridge(fleet, arguments.count)
            watcher.close()
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
