# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case has at its disposal: a directory, ancsd as daemon and command, and whatever it adds."""

import asyncio
import shutil
import stat
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Self, TypeVar

from .ancs import Notification
from .case import Failure, check, expect
from .process import Daemon, Event, EventProcess, Outcome, Process, run

Item = TypeVar("Item")
Running = TypeVar("Running", bound=Process)

LONG_TEXT = "The quick brown fox, ☎️ and 🎂: " * 20


class Testbed:
    """Base of the suites' testbeds. Everything that a case started ends with it."""

    SECONDS = 60.0  # the time limit of a case that sets none
    JOBS = 8  # cases at a time
    NAME = "board"  # what the daemon calls itself

    def __init__(self, binary: Path, out: Path) -> None:
        self.binary = binary
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        # Short, since a UNIX socket's path has room for 107 bytes only; and not below `out`, which can
        # be on a shared file system that has neither sockets nor modes.
        self.work = Path(tempfile.mkdtemp(prefix="ancsd."))
        self.state = self.work / "state"
        #: The command that starts a daemon, for example as another user.
        self.runner: list[str] = []
        self.processes: list[Process] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.cleanups: list[Callable[[], Any]] = []
        self.remarks: list[str] = []
        #: The testbed of the part that failed, for its logs.
        self.failed: Testbed = self

    async def open(self) -> None:
        """Prepares what every case needs."""

    @classmethod
    def summary(cls) -> str:
        """What all cases together have shown; empty: nothing."""
        return ""

    def remark(self, text: str) -> None:
        """Adds a note to the line of a case that passes."""
        self.remarks.append(text)

    # Running ancsd

    def socket(self, number: int = 0) -> Path:
        """The control socket of the case's first daemon, or another one's."""
        return self.work / f"control{number}"

    async def start(self, process: Running, **how: Any) -> Running:
        """Starts a process that ends with the case."""
        self.processes.append(process)
        await process.start(**how)
        return process

    async def start_daemon(self, *options: Any, format: str = "json", **how: Any) -> Daemon:
        """Starts a daemon with these options. The case's daemons share a state directory, which only one of them can
        hold at a time."""
        number = sum(isinstance(process, Daemon) for process in self.processes)
        directory = self.out / str(number) if number else self.out
        common = ["--state-dir", self.state, "--format", format, "--name", self.NAME]
        return await self.start(
            Daemon([*self.runner, self.binary, *options, *common], directory, self.socket(number)), **how
        )

    async def run(self, *words: Any, **how: Any) -> Outcome:
        """Runs `ancsd` with these words to its end."""
        return await run(self.binary, *words, **how)

    async def client(self, daemon: Daemon, *words: Any, **how: Any) -> Outcome:
        """Runs `ancsd` as a client of the daemon."""
        return await self.run(*words, "--socket", daemon.socket, **how)

    # A device has `gatt_options`, by which `ancsd gatt` finds it.

    async def gatt(self, device: Any, *words: Any, within: float = 20, **how: Any) -> Outcome:
        """Runs `ancsd gatt` on a device to its end."""
        form = [] if {"--format", "--json", "--text"} & set(map(str, words)) else ["--json"]
        return await self.run("gatt", *device.gatt_options, *form, *words, within=within, **how)

    async def start_gatt(self, device: Any, *words: Any) -> EventProcess:
        """Starts `ancsd gatt` on a device."""
        command = [self.binary, "gatt", *device.gatt_options, *words, "--format", "json"]
        return await self.start(EventProcess(command, self.out / f"gatt{len(self.processes)}"))

    # Beside it

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs something in parallel to the case."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    async def every(
        self, items: Iterable[Item], part: Callable[[Self, Item], Awaitable[None]], at_once: int = 8,
        name: Callable[[Item], str] = str,
    ) -> None:
        """Does the same for each item on a testbed of its own; the first failure fails the case."""
        gate = asyncio.Semaphore(at_once)

        async def one(item: Item) -> None:
            async with gate:
                bed = type(self)(self.binary, self.out / name(item).replace("/", "-"))
                try:
                    await bed.open()
                    await part(bed, item)
                    bed.check()
                except Exception as error:
                    if self.failed is self:  # later failures are only consequences of the first
                        self.failed = bed.failed
                    if isinstance(error, Failure):
                        raise Failure(f"{name(item)}: {error}") from None
                    raise
                finally:
                    await bed.close()
                    self.remarks += bed.remarks

        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(one(item))

    def state_files(self) -> list[Path]:
        return [path for path in self.state.rglob("*") if path.is_file()]

    def check_state_private(self) -> None:
        """Checks that nobody but the daemon's user can read its state."""
        for path, wanted in [(self.state, 0o700), *((path, 0o600) for path in self.state_files())]:
            mode = stat.S_IMODE(path.stat().st_mode)
            check(mode == wanted, f"the mode of {path.name} is {mode:o}")

    # The end

    def check(self) -> None:
        """Checks what must hold in every case."""
        for process in self.processes:
            process.check()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.gather(*(process.close() for process in self.processes))
        for cleanup in reversed(self.cleanups):
            cleanup()
        shutil.rmtree(self.work, ignore_errors=True)


async def check_served(daemon: Daemon, phone: Any, uid: int, within: float = 15) -> Event:
    """Checks that a session works: a notification with a long text arrives whole."""
    event = await daemon.passes_on(phone, Notification(uid, title=f"number {uid}", message=LONG_TEXT), within=within)
    expect(event, title=f"number {uid}", message=LONG_TEXT)
    return event
