#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A daemon with a virtual phone for a long time: many notifications, slow clients, one notification that changes
all the time, and many reconnections. In the second half its memory and descriptors must be as in the first.

Figures are printed after each tenth; the exit status is 1 if anything grew, or was lost.
"""

import argparse
import asyncio
import os
import select
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Harness import procfs  # noqa: E402
from Harness.case import Failure  # noqa: E402
from Harness.process import Daemon, VirtualPhone  # noqa: E402

#: What the daemon's memory may grow by after the first half, in KiB: the allocator's own. With reconnections it grows by 2,300,
#: after 600 to 1,800 of them, and ever more slowly; by 3,600 from 4,000 to 40,000 (docs/reliability.md).
SLACK = 4096


class Sample(NamedTuple):
    anonymous: int  # KiB
    descriptors: int


def sample(pid: int) -> Sample:
    return Sample(procfs.status(pid)["RssAnon"], len(os.listdir(f"/proc/{pid}/fd")))


class SlowClients:
    """Clients that subscribe to everything and read a little now and then; the daemon drops those that lag."""

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.dropped = 0
        self.sockets: list[socket.socket] = []
        self.task = asyncio.create_task(self.run())

    def connect(self) -> None:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(self.path))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n')
        client.setblocking(False)
        self.sockets.append(client)

    async def run(self) -> None:
        while True:
            while len(self.sockets) < self.number:
                self.connect()
            poll = select.poll()
            for client in self.sockets:
                poll.register(client, select.POLLIN | select.POLLRDHUP)
            clients = {client.fileno(): client for client in self.sockets}
            for number, state in poll.poll(0):
                # What it has not read yet does not matter to one that was dropped.
                if state & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
                    self.dropped += 1
                    self.sockets.remove(clients[number])
                    clients[number].close()
                elif state & select.POLLIN:
                    clients[number].recv(1024)
            await asyncio.sleep(0.2)

    def end(self) -> None:
        self.task.cancel()
        for client in self.sockets:
            client.close()


class Soak:
    def __init__(self, phone: VirtualPhone, daemon: Daemon, clients: SlowClients) -> None:
        self.phone, self.daemon, self.clients = phone, daemon, clients
        #: How many notifications the phone has told, which number them from 1 on.
        self.told = 0
        #: The daemon's events, notifications by their change.
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    async def part(self, name: str, total: int, step: int, work: Callable[[int], Awaitable[None]]) -> None:
        """Does something `total` times, `step` at a time, and watches what the daemon holds."""
        began = time.monotonic()
        samples: list[Sample] = []
        done = tenth = 0
        while done < total:
            await work(min(step, total - done))
            self.count()
            done += step
            if done * 10 // total > tenth:
                tenth = done * 10 // total
                held = sample(self.daemon.pid)
                print(f"{name:16} {min(done, total):>9} {held.anonymous:>8} KiB {held.descriptors:>4} descriptors", flush=True)
                samples.append(held)
        print(f"{name:16} in {time.monotonic() - began:.0f} s; {self.clients.dropped} slow clients dropped", flush=True)
        # The slow clients come and go, and with them what is queued for them: all or none may be there when a sample is
        # taken. What leaks with each of so many leaks more than that.
        half = len(samples) // 2
        for what, slack in (("anonymous", SLACK), ("descriptors", self.clients.number)):
            early, late = (max(getattr(one, what) for one in part) for part in (samples[:half], samples[half:]))
            if late > early + slack:
                self.failures.append(f"{name}: {what} grew from {early} to {late}")

    def count(self) -> None:
        """Counts the events since the last call, and forgets them: there will be millions."""
        for event in self.daemon.events:
            self.counts[event.get("change", event.name)] += event.get("count", 1) if event.name == "lost" else 1
            self.counts["not fetched"] += "error" in event
        self.daemon.events.clear()
        self.phone.events.clear()

    async def changed(self, change: str, **fields: Any) -> None:
        """Waits until the daemon tells of a notification."""
        await self.daemon.event("notification", within=120, change=change, **fields)

    async def add(self, title: str) -> None:
        self.told += 1
        await self.phone.do("add", uid=self.told, title=title, message="it begins")
        await self.changed("added", uid=self.told)

    async def notifications(self, count: int) -> None:
        self.told += count
        await self.phone.do("burst", count=count, message="Where are you? The train is late again.")
        await self.changed("added", uid=self.told)
        await self.phone.do("remove-all")
        await self.changed("removed", uid=self.told)

    async def modifications(self, count: int) -> None:
        for number in range(count):
            await self.phone.do("modify", uid=self.told, title=f"Download {number} of {count}", message=f"{number} of many")

    async def reconnections(self, count: int) -> None:
        for _ in range(count):
            since = self.daemon.now
            await self.phone.do("disconnect")
            await self.daemon.event("subscribed", since=since, within=120)

    async def run(self, notifications: int, modifications: int, reconnections: int) -> None:
        await self.part("notifications", notifications, 250, self.notifications)
        await self.add("Download")
        await self.part("modifications", modifications - 1, max(modifications // 20, 1), self.modifications)
        await self.phone.do("modify", uid=self.told, title="Downloaded")
        await self.changed("modified", title="Downloaded")
        await self.add("after all that")
        self.count()
        if self.counts["added"] != self.told:
            self.failures.append(f"{self.counts['added']} notifications were told, of {self.told}")
        if self.counts["not fetched"]:
            self.failures.append(f"{self.counts['not fetched']} notifications were not fetched")
        if not 0 < self.counts["modified"] <= modifications:
            self.failures.append(f"{self.counts['modified']} changes were told, of {modifications}")
        await self.part("reconnections", reconnections, max(reconnections // 20, 1), self.reconnections)
        if self.clients.number and (self.clients.task.done() or not self.clients.dropped):
            self.failures.append("no slow client was dropped")


async def soak(arguments: argparse.Namespace, work: Path) -> list[str]:
    """Returns what was wrong."""
    phone = VirtualPhone(arguments.binary, work / "phone", work)
    options = ["--att", f"unix:{phone.path}", "--format", "json", "--state-dir", work / "state"]
    daemon = Daemon([arguments.binary, *options], work, work / "control")
    for process in (phone, daemon):
        process.output = Path(os.devnull)
        await process.start()
    await daemon.event("subscribed")
    before = sample(daemon.pid).descriptors
    soaked = Soak(phone, daemon, SlowClients(daemon.socket, arguments.clients))
    try:
        await soaked.run(arguments.notifications, arguments.modifications, arguments.reconnections)
        soaked.clients.end()
        await asyncio.sleep(1)
        if (left := sample(daemon.pid).descriptors) != before:
            soaked.failures.append(f"without the clients it has {left} descriptors, and had {before}")
        await daemon.stop(within=20)
        daemon.check()
    finally:
        await asyncio.gather(daemon.close(), phone.close())
    soaked.count()
    if soaked.counts["lost"]:
        soaked.failures.append(f"{soaked.counts['lost']} lines of the daemon's output were lost")
    return soaked.failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--notifications", type=int, default=1_000_000)
    parser.add_argument("--modifications", type=int, default=10_000)
    parser.add_argument("--reconnections", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=20)
    with tempfile.TemporaryDirectory(prefix="ancsd.") as directory:
        try:
            failures = asyncio.run(soak(parser.parse_args(), Path(directory)))
        except Failure as failure:
            sys.exit(f"soak: {failure}")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
