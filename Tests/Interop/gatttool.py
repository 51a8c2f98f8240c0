# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` against a device of this suite: runs to their end, runs that go on, and its prompt."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import termios
from typing import TYPE_CHECKING, Any

from harness import Failure, check, eventually

if TYPE_CHECKING:
    from device import Device
    from peer import Peer
    from room import Outcome, Room

ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def device(room: Room, mtu: int = 185) -> Device:
    """A device that listens; it goes with the room."""
    # Bumble comes with it: naming the cases must be quick.
    from device import Device

    found = Device(room.work / f"device{len(room.phones)}", mtu)
    room.phones.append(found)
    return found.listen()


async def gatt(
    room: Room, peer: Peer, *words: str, within: float = 15, stdin: bytes | None = None
) -> Outcome:
    """Runs `ancsd gatt` with a command to its end."""
    arguments = ("gatt", "--att", f"unix:{peer.path}", *words)
    return await room.program(*arguments, within=within, stdin=stdin)


def events(outcome: Outcome) -> list[dict[str, Any]]:
    """What it printed as JSON."""
    found = []
    for line in outcome.out.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            raise Failure(f"a line of `{outcome.command}` is no JSON: {line}") from None
    return found


class Running:
    """A run that goes on, as JSON Lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    @classmethod
    async def start(cls, room: Room, peer: Peer, *words: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            str(room.binary), "gatt", "--att", f"unix:{peer.path}", "--format", "json", *words,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        return cls(process)

    async def event(self, name: str, within: float = 8) -> dict[str, Any]:
        """The next event of this name."""
        assert self.process.stdout is not None
        async with asyncio.timeout(within):
            while line := await self.process.stdout.readline():
                self.seen.append(json.loads(line))
                if self.seen[-1]["event"] == name:
                    return self.seen[-1]
        raise Failure(f"it ended before a {name}: {await self.end()}")

    async def end(self, within: float = 8) -> tuple[int, str]:
        """Its exit status, and what it said on standard error."""
        out, err = await asyncio.wait_for(self.process.communicate(), within)
        self.seen += [json.loads(line) for line in out.splitlines()]
        return self.process.returncode or 0, err.decode()


class Prompt:
    """The prompt, on a terminal of 80 columns."""

    def __init__(self, room: Room, peer: Peer | None) -> None:
        target = ["--att", f"unix:{peer.path}"] if peer else []
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            os.execve(str(room.binary), [str(room.binary), "gatt", *target], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.set_blocking(self.fd, False)
        self.shown = b""
        self.status: int | None = None

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def look(self) -> str:
        """All that it showed so far, without what moves the cursor."""
        while True:
            try:
                part = os.read(self.fd, 65536)
            except (BlockingIOError, OSError):
                break
            if not part:
                break
            self.shown += part
        return ESCAPE.sub(b"", self.shown).decode("utf-8", "replace").replace("\r\n", "\n")

    async def shows(self, text: str, within: float = 5) -> None:
        """Waits until a text is there; what came up to it is over then."""
        await eventually(
            lambda: text in self.look(), f"the prompt never shows “{text}”: {self.look()!r}", within
        )
        self.shown = self.look().split(text, 1)[1].encode()

    async def end(self, within: float = 5) -> int:
        """Waits for its end; its exit status."""

        def ended() -> bool:
            self.look()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid != 0

        await eventually(ended, "the prompt does not end", within)
        os.close(self.fd)
        check(self.status is not None, "no exit status")
        return self.status or 0
