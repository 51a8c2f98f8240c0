# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the daemon with this folder's phone, under valgrind's callgrind, which counts what it does.

What a notification costs is the cost of a long run less that of a shorter one, by the difference in notifications:
start, set-up and end fall out, and so does what happens only until the daemon's buffers are full.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from Bench.phone import MTU, Phone

#: A notification's cost is the difference between runs with these two numbers of notifications. The daemon keeps the last
#: 1,000 events, so from there on each new one replaces an old one.
SHORT, LONG = 1_000, 2_000
#: The timeout for a run, in seconds; valgrind makes it fifty times as long.
PATIENCE = 300
#: The functions that allocate.
ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"))


class Unavailable(Exception):
    """A figure that can't be measured here, and why."""


@dataclass(frozen=True)
class Ancsd:
    """The program, which leaves its files and callgrind's in a folder."""

    binary: Path
    work: Path
    #: Where the linker has written the addresses of the functions.
    linker_map: Path

    @property
    def profile(self) -> Path:
        """What callgrind has written."""
        return self.work / "profile"

    def daemon(self, phone: str, is_counted: bool) -> list[str]:
        """The daemon, which prints JSON, of a phone on a socket of this name, by itself or under callgrind."""
        place = ["--socket", str(self.work / "control"), "--state-dir", str(self.work / "state")]
        command = [str(self.binary), "--att", f"unix:{self.work / phone}", "--format", "json", *place]
        if not is_counted:
            return command
        if shutil.which("valgrind") is None:
            raise Unavailable("valgrind is not installed")
        self.profile.unlink(missing_ok=True)
        return ["valgrind", "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={self.profile}", *command]

    def instructions(self) -> int:
        """Those in user space, of the last run under callgrind; they repeat within a few per cent, where times do not."""
        said = self.profile.read_text() if self.profile.exists() else ""
        found = re.findall(r"^(?:summary|totals): (\d+)", said, re.MULTILINE)
        if not found:
            raise Unavailable(f"callgrind has counted nothing: {said[-300:]}")
        return int(found[-1])

    def allocations(self) -> int:
        """The allocations of the same run. Without symbols, a function's name is its address, which is in lld's map."""
        functions = set(ALLOCATORS)
        if self.linker_map.exists():
            symbols = re.findall(r"^ *([0-9a-f]+) .* (\w+)$", self.linker_map.read_text(errors="replace"), re.MULTILINE)
            functions |= {f"0x{int(address, 16):016x}" for address, name in symbols if name in ALLOCATORS}
        names: dict[str, str] = {}
        called, count = "", 0
        for line in self.profile.open(errors="replace"):
            if match := re.match(r"c?fn=\((\d+)\)(?: (\S+))?", line):
                number, name = match.groups()
                if name:
                    names[number] = name
                called = names[number]
            elif called in functions and (match := re.match(r"calls=(\d+)", line)):
                count += int(match[1])
        return count


class Cost(NamedTuple):
    """The cost of a run, or of each notification."""

    instructions: float
    allocations: float


@contextlib.contextmanager
def ready(ancsd: Ancsd, is_counted: bool = False) -> Iterator[int]:
    """A daemon that waits for an absent phone; its process id."""
    command = ancsd.daemon("nobody", is_counted)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.2)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.communicate()


def cost(ancsd: Ancsd, count: int, mtu: int = MTU) -> Cost:
    """What a run costs, from its start to its end, in which the daemon prints all `count` notifications of its phone."""
    path, output = ancsd.work / "phone", ancsd.work / "output"
    command = ancsd.daemon("phone", is_counted=True)
    phone = Phone(path, count, mtu)
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)

    def printed() -> int:
        return sum(b'"notification"' in line[:30] for line in output.read_bytes().splitlines())

    try:
        accept(phone, process.pid)
        until(phone, lambda: phone.fetched >= count)
        until(phone, lambda: printed() >= count)
    finally:
        process.terminate()
        process.wait()
        phone.close(path)
    return Cost(ancsd.instructions(), ancsd.allocations())


def accept(phone: Phone, pid: int) -> None:
    """Waits until the consumer has connected, which takes long under callgrind, or has ended."""
    for _ in range(PATIENCE):
        try:
            return phone.accept(1)
        except TimeoutError:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                raise Unavailable("it ended before it connected") from None
    raise TimeoutError("it did not connect")


def until(phone: Phone, condition: Callable[[], bool]) -> None:
    """Answers the consumer's requests until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{phone.fetched} of {phone.count} notifications were fetched in time")
        phone.turn(0.05)


def each(ancsd: Ancsd, mtu: int = MTU) -> Cost:
    """What a notification costs."""
    short, long = (cost(ancsd, count, mtu) for count in (SHORT, LONG))
    return Cost(*((most - least) / (LONG - SHORT) for most, least in zip(long, short, strict=True)))
