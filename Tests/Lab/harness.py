# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case is, and what it has at hand. Imports no Bumble: naming the cases must be quick."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from notifications import Note
    from phone import Phone
    from radio import Adapter


class Failure(AssertionError):
    """What was seen is not what was promised; the text is the sentence that says so."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence if len(sentence) <= 500 else sentence[:500] + "...")


def check(condition: Any, sentence: str) -> None:
    if not condition:
        raise Failure(sentence)


async def eventually(condition: Callable[[], Any], sentence: str, within: float = 5) -> None:
    """Waits until the condition holds; the sentence says what is wrong if it never does."""
    for _ in range(int(within / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise Failure(f"{sentence} (waited {within} s)")


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    run: Callable[[Lab], Awaitable[None]]
    seconds: float


cases: dict[str, Case] = {}


def case(name: str, seconds: float = 45) -> Callable[..., Any]:
    """Names a case. Its docstring's first line says what it shows."""

    def register(run: Callable[[Lab], Awaitable[None]]) -> Callable[[Lab], Awaitable[None]]:
        cases[name] = Case(name, (run.__doc__ or "").strip().splitlines()[0], run, seconds)
        return run

    return register


class Lab:
    """One case's room. Its adapter is its own: no case sees what another left in the kernel."""

    adapter: Adapter
    ADDRESS = "F0:F1:F2:F3:F4:F5"

    def __init__(self, binary: Path, bluez: Path, out: Path) -> None:
        self.binary = binary
        self.bluez = bluez
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        # Not on the shared folder: a UNIX socket and file modes need a file system of this kernel.
        self.work = Path(tempfile.mkdtemp(prefix="ancsd-lab."))
        self.state = self.work / "state"
        self.daemons: list[Ancsd] = []
        self.late: list[Callable[[], Awaitable[None]]] = []  # once the daemons have ended
        self.closing: list[Callable[[], Awaitable[None]]] = []

    async def open(self) -> None:
        from radio import Adapter, Air

        self.air = Air()
        self.adapter = await Adapter.plug(self.air, self.ADDRESS)

    async def close(self) -> None:
        for close in reversed(self.closing):
            await close()
        for daemon in self.daemons:
            await daemon.end_anyway()
        for close in self.late:
            await close()
        if hasattr(self, "adapter"):  # not where plugging it in failed
            self.adapter.unplug()
        shutil.rmtree(self.work, ignore_errors=True)

    async def ancsd(self, *options: str, ready: bool = True) -> Ancsd:
        """Starts a daemon that serves the adapter; its state outlives it within the case."""
        from daemon import Ancsd

        socket = self.work / "control.sock"
        common = [
            f"--{self.adapter.name}", "--state-dir", str(self.state), "--socket", str(socket),
            "--format", "json", "--name", "ancsd-lab",
        ]  # fmt: skip
        daemon = Ancsd(self.binary, self.out, [*common, *options], socket)
        self.daemons.append(daemon)
        await daemon.start()
        if ready:
            await daemon.event("ready")
        return daemon

    def also(self, adapter: Adapter) -> None:
        """One more adapter, to be unplugged at the end."""

        async def end() -> None:
            adapter.unplug()

        self.late.append(end)

    async def phone(self, **traits: Any) -> Phone:
        from phone import Phone

        return await Phone(self.air, **traits).start()

    def note(self, **fields: Any) -> Note:
        from notifications import Note

        return Note(**fields)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Something that goes on beside the case; it ends with it."""
        task = asyncio.get_running_loop().create_task(work)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.closing.append(end)
        return task

    async def served(self, *options: str, **traits: Any) -> tuple[Ancsd, Phone, Event]:
        """A daemon and a phone, paired and subscribed: where most cases begin."""
        daemon = await self.ancsd("--io", "none", *options)
        phone = await self.phone(**traits)
        await phone.come()
        return daemon, phone, await daemon.event("subscribed")


class KernelLog:
    """Watches the kernel's log for what must never be there."""

    TROUBLE = re.compile(
        r"kernel BUG|BUG:|Oops|general protection|Call Trace|WARNING:|blocked for more"
    )

    def __init__(self) -> None:
        try:
            self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.fd = -1  # not root, or no such device: the caller learns nothing here

    def check(self) -> None:
        while self.fd >= 0:
            try:
                line = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return
            except OSError:
                continue  # lines were lost; those that are left still count
            check(
                not self.TROUBLE.search(line),
                f"the kernel complained: {line.split(';', 1)[-1].strip()}",
            )
