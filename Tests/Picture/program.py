# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a headless browser, with its own folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile


class Program:
    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = tempfile.TemporaryDirectory(prefix="ancsd-browser-")

    async def start(self, *arguments: str, mark: str) -> str:
        """Starts it; returns the address that it prints after `mark`."""
        self.process = await asyncio.create_subprocess_exec(
            self.name, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            start_new_session=True, env={**os.environ, "HOME": self.folder.name})
        assert self.process.stderr
        while line := (await asyncio.wait_for(self.process.stderr.readline(), 60)).decode():
            if mark in line:
                self.reading = asyncio.create_task(self.drain())
                return line.split()[-1]
        raise AssertionError(f"{self.name} ended at once")

    async def end(self) -> None:
        self.reading.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        with contextlib.suppress(OSError):
            self.folder.cleanup()

    async def drain(self) -> None:
        assert self.process.stderr
        while await self.process.stderr.readline():
            pass
