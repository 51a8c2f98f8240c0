# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the daemon with this folder's phone: alone, or under a tool that counts what it does.

What a notification costs is the cost of a long run less that of a shorter one, by the difference in notifications:
start, set-up and end fall out, and so does what happens only until the daemon's buffers are full.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from Bench.phone import MTU, Phone
from Harness import procfs

#: A notification's cost is the difference between runs with these two numbers of notifications. The daemon keeps the last
#: 1,000 events, so from there on each new one replaces an old one.
SHORT, LONG = 1_000, 2_000
#: The timeout for a run, in seconds; valgrind makes it fifty times as long.
PATIENCE = 300


class Unavailable(Exception):
    """A figure that can't be measured here, and why."""


@dataclass(frozen=True)
class Ancsd:
    """The program, which leaves its files and those of the tools in a folder."""

    binary: Path
    work: Path
    #: Where the linker has written the addresses of the functions.
    linker_map: Path

    @property
    def control(self) -> Path:
        return self.work / "control"

    @property
    def log(self) -> Path:
        """What a tool has written."""
        return self.work / "tool"

    def daemon(self, phone: str, *options: str) -> list[str]:
        """The daemon, which prints JSON, of a phone on a socket of this name."""
        place = ["--socket", str(self.control), "--state-dir", str(self.work / "state")]
        return [str(self.binary), "--att", f"unix:{self.work / phone}", "--format", "json", *place, *options]

    def client(self, *words: str) -> list[str]:
        return [str(self.binary), *words, "--socket", str(self.control)]


class Cost(NamedTuple):
    """What a tool has counted, and the number of allocations if it was callgrind: of a run, or of each notification."""

    count: float
    allocations: float


# MARK: Tools


@dataclass(frozen=True)
class Tool:
    """A program that runs another one and counts something."""

    name: str
    #: `LOG` stands for its result file.
    command: tuple[str, ...]
    #: Finds the count in the result.
    pattern: str

    def wrap(self, command: list[str], log: Path) -> list[str]:
        if shutil.which(self.command[0]) is None:
            raise Unavailable(f"{self.command[0]} is not installed")
        return [word.replace("LOG", str(log)) for word in self.command] + command

    def read(self, log: Path) -> int:
        said = log.read_text() if log.exists() else ""
        found = re.findall(self.pattern, said, re.MULTILINE)
        if not found:
            raise Unavailable(f"{self.name} has counted nothing: {said[-300:]}")
        return int(found[-1].replace(",", ""))


#: Instructions in user space; they repeat within a few per cent, where times do not.
INSTRUCTIONS = Tool(
    "callgrind",
    ("valgrind", "-q", "--tool=callgrind", "--demangle=no", "--callgrind-out-file=LOG"),
    r"^(?:summary|totals): (\d+)",
)
#: The consumer runs when the phone waits (`one_processor`): otherwise the number of packets that it finds at a time, and
#: with it the count, would depend on the machine.
SYSTEM_CALLS = Tool(
    "strace",
    ("chrt", "--idle", "0", "strace", "-f", "-c", "-qq", "-o", "LOG"),
    r"^100\.00 +\S+ +\S* +(\d+) .*total$",
)

#: The functions that allocate.
ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"))


def allocators(linker_map: Path) -> frozenset[str]:
    """callgrind's names for them. Without symbols, a function's name is its address, which is in lld's map."""
    found = set(ALLOCATORS)
    if linker_map.exists():
        symbols = re.findall(r"^ *([0-9a-f]+) .* (\w+)$", linker_map.read_text(errors="replace"), re.MULTILINE)
        found |= {f"0x{int(address, 16):016x}" for address, name in symbols if name in ALLOCATORS}
    return frozenset(found)


def calls(profile: Path, functions: frozenset[str]) -> int:
    """The number of calls of these functions in a callgrind profile."""
    names: dict[str, str] = {}
    called, count = "", 0
    for line in profile.open(errors="replace"):
        if match := re.match(r"c?fn=\((\d+)\)(?: (\S+))?", line):
            number, name = match.groups()
            if name:
                names[number] = name
            called = names[number]
        elif called in functions and (match := re.match(r"calls=(\d+)", line)):
            count += int(match[1])
    return count


def stop(pid: int) -> None:
    """Ends a process, or the one that a tool runs as its child."""
    children = procfs.children(pid)
    if children:
        return stop(children[0])
    os.kill(pid, signal.SIGTERM)


# MARK: Runs


class Clients:
    """Clients of the control socket that read and ignore every event."""

    def __init__(self, path: Path, count: int) -> None:
        self.sockets = [self.connect(path) for _ in range(count)]
        self.threads = [threading.Thread(target=self.drain, args=(s,), daemon=True) for s in self.sockets]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def connect(path: Path) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n')
        if b'"result":true' not in client.recv(4096):
            raise RuntimeError("a client's subscription was refused")
        return client

    @staticmethod
    def drain(client: socket.socket) -> None:
        while client.recv(1 << 16):
            pass

    def close(self) -> None:
        for client in self.sockets:
            client.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def ready(ancsd: Ancsd, tool: Tool | None = None) -> Iterator[int]:
    """A daemon that waits for an absent phone; its process id."""
    command = ancsd.daemon("nobody")
    process = subprocess.Popen(
        tool.wrap(command, ancsd.log) if tool else command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.2)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.communicate()


def printed(output: Path) -> int:
    """How many notifications the daemon has printed."""
    return sum(b'"notification"' in line[:30] for line in output.read_bytes().splitlines())


@contextlib.contextmanager
def one_processor() -> Iterator[None]:
    """Binds this thread and the processes that it starts to one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def served(
    ancsd: Ancsd, count: int, *options: str, mtu: int = MTU, tool: Tool | None = None, clients: int = 0
) -> Iterator[tuple[int, Phone]]:
    """A daemon that has printed all `count` notifications of its phone: its process id, and the phone."""
    path, output = ancsd.work / "phone", ancsd.work / "output"
    command = ancsd.daemon("phone", *options)
    ancsd.log.unlink(missing_ok=True)
    phone = Phone(path, count, mtu)
    phone.held = True
    with output.open("wb") as out:
        process = subprocess.Popen(tool.wrap(command, ancsd.log) if tool else command, stdin=subprocess.DEVNULL, stdout=out)
    readers = None
    try:
        accept(phone, process.pid, ancsd.log)
        until(phone, lambda: phone.subscribed)
        if clients:
            # The rest of the daemon's setup comes first, since it serves clients between the phone's responses.
            pause(phone, 0.3 if tool is None else 3)
            readers = Clients(ancsd.control, clients)
        phone.held = False
        phone.post()
        until(phone, lambda: phone.fetched >= count)
        until(phone, lambda: printed(output) >= count)
        yield process.pid, phone
    finally:
        stop(process.pid)
        process.wait()
        if readers:
            readers.close()
        phone.close(path)


def accept(phone: Phone, pid: int, log: Path) -> None:
    """Waits until the consumer has connected, which takes long under a tool, or has ended."""
    for _ in range(PATIENCE):
        try:
            return phone.accept(1)
        except TimeoutError:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                said = log.read_text()[-300:] if log.exists() else ""
                raise Unavailable(f"it ended before it connected: {said}") from None
    raise TimeoutError("it did not connect")


def pause(phone: Phone, seconds: float) -> None:
    """Answers the consumer's requests for a while."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        phone.turn(left)


def until(phone: Phone, condition: Callable[[], bool]) -> None:
    """Answers the consumer's requests until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{phone.fetched} of {phone.count} notifications were fetched in time")
        phone.turn(0.05)


def cost(ancsd: Ancsd, count: int, tool: Tool, **how: int) -> Cost:
    """What a run with so many notifications costs, from start to end."""
    with served(ancsd, count, tool=tool, **how):
        pass
    return Cost(tool.read(ancsd.log), calls(ancsd.log, allocators(ancsd.linker_map)) if tool is INSTRUCTIONS else 0)


def each(ancsd: Ancsd, tool: Tool, **how: int) -> Cost:
    """What a notification costs."""
    with one_processor() if tool is SYSTEM_CALLS else contextlib.nullcontext():
        short, long = (cost(ancsd, count, tool, **how) for count in (SHORT, LONG))
    return Cost(*((most - least) / (LONG - SHORT) for most, least in zip(long, short, strict=True)))


def instructions(ancsd: Ancsd, *words: str) -> int:
    """The cost of a client, which ends by itself."""
    command = INSTRUCTIONS.wrap(ancsd.client(*words), ancsd.log)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE)
    return INSTRUCTIONS.read(ancsd.log)
