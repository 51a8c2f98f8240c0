# SPDX-License-Identifier: GPL-3.0-or-later
"""What a case of this suite is, and what it has at hand: a phone on a socket and daemons to serve it.

Imports no Bumble until a phone is asked for: naming the cases must be quick.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness import Failure

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from handset import Handset
    from notifications import Note
    from peer import Peer

Item = TypeVar("Item")


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    run: Callable[[Room], Awaitable[None]]
    seconds: float
    alone: bool


cases: dict[str, Case] = {}


def case(name: str, seconds: float = 60, alone: bool = False) -> Callable[..., Any]:
    """Names a case. Its docstring's first line says what it shows.

    `seconds` is when it is given up; the longest are begun first. One that measures is run `alone`.
    """

    def register(run: Callable[[Room], Awaitable[None]]) -> Callable[[Room], Awaitable[None]]:
        about = (run.__doc__ or "").strip().splitlines()[0]
        cases[name] = Case(name, about, run, seconds, alone)
        return run

    return register


class Room:
    """One case's own corner: files, phones and daemons, all gone when it is over."""

    def __init__(self, binary: Path, out: Path) -> None:
        self.binary = binary
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        # Short: a UNIX socket's path has room for 107 bytes.
        self.work = Path(tempfile.mkdtemp(prefix="ancsd."))
        self.state = self.work / "state"
        self.daemons: list[Ancsd] = []
        self.phones: list[Peer] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.remarks: list[str] = []
        #: Where a part of this case failed, for its logs.
        self.failed: Room = self

    def remark(self, text: str) -> None:
        """Something worth knowing about a case that passed."""
        self.remarks.append(text)

    # Phones and daemons

    def phone(self, mtu: int = 185, listen: bool = True) -> Handset:
        from handset import Handset

        phone = Handset(self.work / f"phone{len(self.phones)}", mtu)
        self.phones.append(phone)
        return phone.listen() if listen else phone

    async def ancsd(self, phone: Handset, *options: str, format: str = "json") -> Ancsd:
        """Starts a daemon that serves the phone; its state outlives it within the case."""
        from daemon import Ancsd

        number = len(self.daemons)
        socket = self.work / f"control{number}"
        common = [
            "--att", f"unix:{phone.path}", "--state-dir", str(self.state), "--socket", str(socket),
            "--format", format, "--name", "board",
        ]  # fmt: skip
        directory = self.out / str(number) if number else self.out
        directory.mkdir(parents=True, exist_ok=True)
        daemon = Ancsd(self.binary, directory, [*common, *options], socket)
        self.daemons.append(daemon)
        await daemon.start()
        return daemon

    async def served(
        self, *options: str, mtu: int = 185, within: float = 8
    ) -> tuple[Ancsd, Handset, Event]:
        """A daemon and a phone, subscribed: where most cases begin."""
        phone = self.phone(mtu)
        daemon = await self.ancsd(phone, *options)
        return daemon, phone, await daemon.event("subscribed", within=within)

    async def client(
        self, daemon: Ancsd, *arguments: str, within: float = 10, stdin: bytes | None = None
    ) -> Outcome:
        """Runs `ancsd` as a client of the daemon."""
        return await self.program(
            *arguments, "--socket", str(daemon.socket), within=within, stdin=stdin
        )

    async def program(
        self, *arguments: str, within: float = 10, stdin: bytes | None = None,
        environment: dict[str, str] | None = None,
    ) -> Outcome:  # fmt: skip
        """Runs `ancsd` with these arguments to its end."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary), *arguments,
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), within)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Failure(f"`ancsd {' '.join(arguments)}` did not end in {within} s") from None
        status = process.returncode if process.returncode is not None else -1
        return Outcome(" ".join(arguments), status, out.decode("utf-8"), err.decode("utf-8"))

    def note(self, uid: int, **fields: Any) -> Note:
        from notifications import Note

        return Note(uid, **fields)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Something that goes on beside the case; it ends with it."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        return task

    async def every(
        self, items: Iterable[Item], part: Callable[[Room, Item], Awaitable[None]],
        at_once: int = 8, name: Callable[[Item], str] = str,
    ) -> None:  # fmt: skip
        """The same for each item, in a room of its own, some at a time; the first failure is the case's."""
        gate = asyncio.Semaphore(at_once)

        async def one(item: Item) -> None:
            async with gate:
                room = Room(self.binary, self.out / name(item).replace("/", "-"))
                try:
                    await part(room, item)
                    room.check()
                except Exception as error:
                    if self.failed is self:  # the others are cancelled, or fail in its wake
                        self.failed = room.failed
                    if isinstance(error, Failure):
                        raise Failure(f"{name(item)}: {error}") from None
                    raise
                finally:
                    await room.close()
                    self.remarks += room.remarks

        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(one(item))

    # The end

    def check(self) -> None:
        """What holds in every case: JSON is JSON, ATT's rules are kept, nothing crashed."""
        for daemon in self.daemons:
            if daemon.bad_lines:
                raise Failure(f"standard output has a line that is no JSON: {daemon.bad_lines[0]}")
            if daemon.ending.startswith("signal") and not daemon.ending.endswith(("TERM", "KILL")):
                raise Failure(f"ancsd died of {daemon.ending}")
        for phone in self.phones:
            if phone.complaints:
                raise Failure(phone.complaints[0])

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for daemon in self.daemons:
            await daemon.end_anyway()
        for phone in self.phones:
            phone.close()
        shutil.rmtree(self.work, ignore_errors=True)


@dataclass(frozen=True)
class Outcome:
    """How a run of `ancsd` as a client went."""

    command: str
    status: int
    out: str
    err: str

    def expect(self, status: int) -> Outcome:
        if self.status != status:
            said = (self.err or self.out).strip().splitlines()[:1]
            raise Failure(
                f"`ancsd {self.command}` ended with {self.status}, not {status}: {said or 'nothing said'}"
            )
        if status and status != 1 and len(self.err.strip().splitlines()) != 1:
            raise Failure(f"`ancsd {self.command}` said {self.err!r}: not one line")
        return self
