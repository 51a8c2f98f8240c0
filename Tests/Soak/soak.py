#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A daemon with a virtual phone for a long time: many notifications, slow clients, one notification that changes
all the time, and many reconnections. In the second half its memory and descriptors must be as in the first.

Figures are printed after each tenth; the exit status is 1 if anything grew, or was lost.
"""

import argparse
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Harness import procfs  # noqa: E402

#: What the daemon's memory may grow by after the first half, in KiB: the allocator's own. With reconnections it grows by 2,300,
#: after 600 to 1,800 of them, and ever more slowly; by 3,600 from 4,000 to 40,000 (docs/reliability.md).
SLACK = 4096


class Program:
    """A process whose lines are read as they come."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.counts: dict[str, int] = {}
        self.lost = 0
        self.errors = 0
        #: The title of the notification that was told last.
        self.title: str | None = None
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = line[10 : line.find(b'"', 10)].decode() if line.startswith(b'{"event":"') else "answer"
            if event == "notification":
                fields = json.loads(line)
                event = fields["change"]
                if "error" in fields:
                    self.errors += 1
                if event != "removed":
                    self.title = fields.get("title")
            with self.changed:
                self.counts[event] = self.counts.get(event, 0) + 1
                if event == "lost":
                    self.lost += json.loads(line).get("count", 0)
                self.changed.notify_all()

    def count(self, event: str) -> int:
        return self.counts.get(event, 0)

    def tell(self, command: str, **fields: object) -> None:
        assert self.process.stdin is not None
        answers = self.count("answer")
        self.process.stdin.write(json.dumps({"command": command, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        self.until("answer", answers + 1)

    def until(self, event: str, count: int, within: float = 120) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.count(event) >= count, within):
                raise SystemExit(f"soak: {self.count(event)} of {count} {event} in {within:.0f} s")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


@dataclass
class Sample:
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
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        for _ in range(number):
            self.connect()
        self.thread.start()

    def connect(self) -> None:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(self.path))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n')
        client.setblocking(False)
        self.sockets.append(client)

    def run(self) -> None:
        while not self.ended.wait(0.2):
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
        for client in self.sockets:
            client.close()

    def end(self) -> None:
        self.ended.set()
        self.thread.join(5)


class Soak:
    def __init__(self, binary: str, work: Path, clients: int) -> None:
        path, self.control = work / "phone", work / "control"
        self.phone = Program([binary, "phone", "--listen", f"unix:{path}"])
        self.phone.until("listening", 1)
        self.daemon = Program([
            binary, "--att", f"unix:{path}", "--format", "json", "--socket", str(self.control),
            "--state-dir", str(work / "state"),
        ])
        self.daemon.until("subscribed", 1)
        #: Of the daemon without clients.
        self.descriptors = sample(self.daemon.process.pid).descriptors
        self.clients = SlowClients(self.control, clients)
        #: How many notifications the phone has told.
        self.told = 0
        self.failures: list[str] = []

    def part(self, name: str, total: int, step: int, work: object) -> None:
        """Does something `total` times, `step` at a time, and watches what the daemon holds."""
        began = time.monotonic()
        samples: list[Sample] = []
        done = tenth = 0
        while done < total:
            work(min(step, total - done))  # type: ignore[operator]
            done += step
            if done * 10 // total > tenth:
                tenth = done * 10 // total
                held = sample(self.daemon.process.pid)
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

    def notifications(self, count: int) -> None:
        self.told += count
        self.phone.tell("burst", count=count, message="Where are you? The train is late again.")
        self.daemon.until("added", self.told)
        self.phone.tell("remove-all")
        self.daemon.until("removed", self.told)

    def modifications(self, count: int) -> None:
        for number in range(count):
            self.last = f"Download {number} of {count}"
            self.phone.tell("modify", uid=self.uid, title=self.last, message=f"{number} of many")
        with self.daemon.changed:
            if not self.daemon.changed.wait_for(lambda: self.daemon.title == self.last, 60):
                raise SystemExit(f"soak: “{self.daemon.title}” was told last, and not “{self.last}”")

    def reconnections(self, count: int) -> None:
        for _ in range(count):
            before = self.daemon.count("subscribed")
            self.phone.tell("disconnect")
            self.daemon.until("subscribed", before + 1)

    def run(self, notifications: int, modifications: int, reconnections: int) -> int:
        self.part("notifications", notifications, 250, self.notifications)
        self.uid = 0x7000_0000
        self.told += 2
        self.phone.tell("add", uid=self.uid, title="Download", message="it begins")
        self.daemon.until("added", self.told - 1)
        self.part("modifications", modifications, max(modifications // 20, 1), self.modifications)
        self.phone.tell("add", title="after all that")
        self.daemon.until("added", self.told)
        if (added := self.daemon.count("added")) != self.told:
            self.failures.append(f"{added} notifications were told, of {self.told}")
        if self.daemon.errors:
            self.failures.append(f"{self.daemon.errors} notifications were not fetched")
        if not 0 < (modified := self.daemon.count("modified")) <= modifications:
            self.failures.append(f"{modified} changes were told, of {modifications}")
        self.part("reconnections", reconnections, max(reconnections // 20, 1), self.reconnections)
        if self.clients.number and not (self.clients.dropped and self.clients.thread.is_alive()):
            self.failures.append("no slow client was dropped")
        self.clients.end()
        time.sleep(1)
        if (left := sample(self.daemon.process.pid).descriptors) != self.descriptors:
            self.failures.append(f"without the clients it has {left} descriptors, and had {self.descriptors}")
        self.daemon.end()
        self.phone.end()
        if self.daemon.lost:
            self.failures.append(f"{self.daemon.lost} lines of the daemon's output were lost")
        if self.daemon.process.returncode != 128 + signal.SIGTERM:
            self.failures.append(f"the daemon ended with {self.daemon.process.returncode}")
        for failure in self.failures:
            print(f"FAILED {failure}")
        return 1 if self.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--notifications", type=int, default=1_000_000)
    parser.add_argument("--modifications", type=int, default=10_000)
    parser.add_argument("--reconnections", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ancsd.") as directory:
        soak = Soak(arguments.binary, Path(directory), arguments.clients)
        return soak.run(arguments.notifications, arguments.modifications, arguments.reconnections)


if __name__ == "__main__":
    sys.exit(main())
