# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompt of `ancsd gatt` or `ancsd phone` on a terminal of 80 columns."""

import fcntl
import os
import pty
import re
import struct
import termios
from pathlib import Path

from Harness.case import Failure, check, eventually

ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Prompt:
    """One run, and what it has printed."""

    def __init__(self, binary: Path, *words: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
            os.execve(str(binary), [str(binary), *words], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.set_blocking(self.fd, False)
        self.printed = b""
        self.status: int | None = None

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def read(self) -> str:
        """What it has printed, without the sequences that move the cursor."""
        while True:
            try:
                part = os.read(self.fd, 65536)
            except (BlockingIOError, OSError):
                break
            if not part:
                break
            self.printed += part
        return ESCAPE.sub(b"", self.printed).decode("utf-8", "replace").replace("\r\n", "\n")

    async def shows(self, *texts: str) -> None:
        """Waits for texts, one after the other."""
        for text in texts:
            try:
                await eventually(lambda: text in self.read(), "")
            except Failure:
                raise Failure(f"instead of “{text}” the prompt shows {self.read()!r}") from None
            self.printed = self.read().split(text, 1)[1].encode()

    async def hang_up(self) -> int:
        """Closes the terminal, as its window does; waits for the end as below."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self.fd)
        os.close(nothing)
        return await self.end()

    async def end(self, within: float = 5) -> int:
        """Waits for its end; returns the exit status."""

        def ended() -> bool:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid != 0

        await eventually(ended, "the prompt does not end", within)
        os.close(self.fd)
        check(self.status is not None, "no exit status")
        return self.status or 0
