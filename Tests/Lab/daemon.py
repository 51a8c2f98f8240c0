# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd as a user runs it: a process, its JSON Lines on standard output, its control socket."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Failure, check


class Event(dict[str, Any]):
    """One line of standard output, and where it stands among the others."""

    def __init__(self, index: int, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.index = index
        self.name: str = fields.get("event", "?")


class Refused(Exception):
    """A JSON-RPC error; `error` is the object as it came."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        super().__init__(f"{method}: {error}")
        self.error = error


class Ancsd:
    """One daemon. Events are kept in order; `event` looks for one from an earlier one on."""

    def __init__(self, binary: Path, directory: Path, options: list[str], socket: Path) -> None:
        self.command = [str(binary), *options]
        self.directory = directory
        self.socket = socket
        self.events: list[Event] = []
        self.bad_lines: list[str] = []
        self.process: asyncio.subprocess.Process | None = None
        self.reader: asyncio.Task[None] | None = None
        self.arrived = asyncio.Condition()
        self.frozen = False
        self.ids = itertools.count(1)
        self.log_path = directory / "log"

    async def start(self, *more: str) -> Ancsd:
        """Runs it; later calls run it again with the same options and keep the events so far."""
        with self.log_path.open("ab") as log:
            log.write(f"--- {' '.join([*self.command, *more])}\n".encode())
            log.flush()
            self.process = await asyncio.create_subprocess_exec(
                *self.command, *more,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=1 << 20,
            )  # fmt: skip
        self.reader = asyncio.create_task(self.read(self.process.stdout))
        return self

    async def read(self, lines: Any) -> None:
        with (self.directory / "events").open("ab") as copy:
            async for line in lines:
                copy.write(b"%.3f " % time.monotonic() + line)
                copy.flush()
                try:
                    fields = json.loads(line)
                    if not isinstance(fields, dict):
                        raise ValueError(line)
                except ValueError:
                    self.bad_lines.append(repr(line))
                    continue
                async with self.arrived:
                    self.events.append(Event(len(self.events), fields))
                    self.arrived.notify_all()
        async with self.arrived:
            self.arrived.notify_all()

    # Events

    @property
    def now(self) -> int:
        """The place where the next event will stand."""
        return len(self.events)

    def find(self, name: str, since: int | Event, fields: dict[str, Any]) -> Event | None:
        start = since.index + 1 if isinstance(since, Event) else since
        for event in self.events[start:]:
            if event.name == name and all(event.get(k) == v for k, v in fields.items()):
                return event
        return None

    async def event(
        self, name: str, *, since: int | Event = 0, within: float = 8, **fields: Any
    ) -> Event:
        """The first such event from `since` on, waited for if need be."""
        wanted = f"{name} event" + (f" with {fields}" if fields else "")
        try:
            async with asyncio.timeout(within), self.arrived:
                while (found := self.find(name, since, fields)) is None:
                    if self.process is None or self.process.returncode is not None:
                        raise Failure(f"ancsd ended ({self.ending}) before its {wanted}")
                    # A process may end without a last line: look again now and then.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.arrived.wait(), 0.5)
                return found
        except TimeoutError:
            start = since.index + 1 if isinstance(since, Event) else since
            seen = " ".join(e.name for e in self.events[start:]) or "nothing"
            raise Failure(f"no {wanted} in {within} s; instead: {seen}") from None

    async def event_where(
        self, name: str, holds: Callable[[Event], bool], *, since: int | Event, wanted: str,
        within: float = 8,
    ) -> Event:  # fmt: skip
        """The first such event for which `holds`; `wanted` says in words what that is."""
        end = time.monotonic() + within
        while True:
            left = end - time.monotonic()
            try:
                since = await self.event(name, since=since, within=max(left, 0.01))
            except Failure as failure:
                raise Failure(f"no {name} event with {wanted}: {failure}") from None
            if holds(since):
                return since

    async def settled(self, name: str, quiet: float = 0.5, within: float = 5) -> None:
        """Waits until no such event has come for a while."""
        for _ in range(int(within / quiet)):
            count = sum(event.name == name for event in self.events)
            await asyncio.sleep(quiet)
            if count == sum(event.name == name for event in self.events):
                return

    def none(self, name: str, *, since: int | Event = 0, **fields: Any) -> None:
        """That no such event came."""
        found = self.find(name, since, fields)
        check(found is None, f"a {name} event came that should not: {found}")

    # The process

    @property
    def ending(self) -> str:
        code = None if self.process is None else self.process.returncode
        if code is None:
            return "still running"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def ended(self, within: float = 8) -> int:
        """Waits for the end; the exit status, negative for a signal."""
        assert self.process is not None and self.reader is not None
        try:
            status = await asyncio.wait_for(self.process.wait(), within)
        except TimeoutError:
            raise Failure(f"ancsd did not end in {within} s") from None
        await asyncio.wait_for(self.reader, 2)
        return status

    async def stop(self) -> None:
        """Asks it to end, as systemd does; it ends cleanly, and complains of nothing."""
        assert self.process is not None
        before = len(self.events)
        self.process.terminate()
        status = await self.ended()
        check(
            status in (143, -signal.SIGTERM),
            f"after SIGTERM ancsd ended with {self.ending}, not with 143",
        )
        errors = [event for event in self.events[before:] if event["event"] == "error"]
        check(not errors, f"while it ended it complained: {errors}")

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.ended()

    def freeze(self) -> None:
        """Stops it for good, without its end: it may hold what this kernel must not close."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        self.frozen = True

    async def end_anyway(self) -> None:
        """For the end of a case, whatever its outcome."""
        if self.running and not self.frozen:
            assert self.process is not None
            self.process.terminate()
            try:
                await self.ended(3)
            except Failure:
                self.process.kill()
                await self.ended(3)

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # The control socket

    async def call(self, method: str, within: float = 8, **params: Any) -> Any:
        """One JSON-RPC call over a connection of its own; raises Refused for an error."""
        try:
            async with asyncio.timeout(within):
                reader, writer = await asyncio.open_unix_connection(str(self.socket), limit=1 << 20)
                try:
                    request = {
                        "jsonrpc": "2.0",
                        "id": next(self.ids),
                        "method": method,
                        "params": params,
                    }
                    writer.write(json.dumps(request).encode() + b"\n")
                    line = await reader.readline()
                finally:
                    writer.close()
        except TimeoutError:
            raise Failure(f"the control socket did not answer {method} in {within} s") from None
        except OSError as error:
            raise Failure(f"no control socket for {method}: {error}") from None
        if not line:
            raise Failure(f"the control socket was closed instead of answering {method}")
        reply = json.loads(line)
        check(reply.get("id") == request["id"], f"the answer to {method} has another id: {reply}")
        if "error" in reply:
            raise Refused(method, reply["error"])
        return reply["result"]


def processes(name: str) -> list[int]:
    """The ids of all processes of this machine whose program has this name."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name[:15]:
                    found.append(int(entry.name))
            except OSError:
                pass
    return found
