# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd as users run it: as a daemon with its JSON Lines and its control socket, and as a command."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, IO, Self

from .case import Failure, answered, check, patient, settled
from .control import ControlClient, RPCError

DEVNULL, PIPE = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE

Condition = Callable[[Any], bool]


class Event(dict[str, Any]):
    """One line of JSON Lines, and its place among the others."""

    def __init__(self, index: int, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.index = index
        self.name: str = fields.get("event", "")


def clean(number: signal.Signals) -> int:
    """How a process ends that this signal ends cleanly: of SIGINT it dies, so that a shell's loop ends with it."""
    return -number if number == signal.SIGINT else 128 + number


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it printed."""

    command: str
    status: int
    out: str
    err: str

    def expect(self, status: int) -> Self:
        """Checks the exit status, and that any failure but 1 is explained in one line."""
        said = (self.err or self.out).strip().splitlines()[:1]
        check(self.status == status, f"`{self.command}` ended with {self.status}, not {status}: {said}")
        if status not in (0, 1):
            check(len(self.err.strip().splitlines()) == 1, f"`{self.command}` printed {self.err!r}")
        return self

    @property
    def objects(self) -> list[Any]:
        """What it printed as JSON, one object a line or in arrays."""
        found: list[Any] = []
        for line in self.out.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                raise Failure(f"`{self.command}` printed a line that is no JSON: {line}") from None
            found += value if isinstance(value, list) else [value]
        return found


async def run(*command: Any, within: float = 10, stdin: bytes | None = None) -> Outcome:
    """Runs a command to its end."""
    words = [str(word) for word in command]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=DEVNULL if stdin is None else PIPE, stdout=PIPE, stderr=PIPE
    )
    shown = " ".join(["ancsd", *words[1:]])
    try:
        out, err = await asyncio.wait_for(process.communicate(stdin), patient(within))
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Failure(f"`{shown}` did not end within {patient(within):.0f} s") from None
    assert process.returncode is not None
    return Outcome(shown, process.returncode, out.decode(), err.decode())


class Process:
    """A program that runs during a case. Its folder has its output: `events` is standard output, `log` standard error.
    """

    def __init__(self, command: Sequence[Any], directory: Path) -> None:
        self.command = [str(word) for word in command]
        self.name = Path(self.command[0]).name
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.output = directory / "events"
        self.process: asyncio.subprocess.Process | None = None
        self.end: asyncio.Task[None] | None = None
        self.frozen = False

    async def start(
        self, stdin: int = DEVNULL, user: int | None = None, environment: Mapping[str, str] = {}, out: int | None = None
    ) -> Self:
        """Starts it, with the standard output `out` if there is one; a later call starts it again."""
        with (self.directory / "log").open("ab") as log, self.output.open("ab") as output:
            log.write(f"--- {' '.join(self.command)}\n".encode())
            log.flush()
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=stdin, stdout=self.stdout(output) if out is None else out, stderr=log, limit=1 << 20, user=user,
                env={**os.environ, **environment},
            )
        self.end = asyncio.create_task(self.follow(self.process))
        return self

    def stdout(self, output: IO[bytes]) -> Any:
        """Where standard output goes: directly into the file, which costs the case's process no time."""
        return output

    async def follow(self, process: asyncio.subprocess.Process) -> None:
        """Follows it until it ends."""
        await process.wait()

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return self.output.read_bytes().decode(errors="replace")  # read_text would hide "\r"

    @property
    def log(self) -> str:
        """What it has written to standard error so far."""
        lines = (self.directory / "log").read_bytes().splitlines(keepends=True)
        return b"".join(line for line in lines if not line.startswith(b"--- ")).decode(errors="replace")

    @property
    def running(self) -> bool:
        """Whether it is running, or has printed something that is not read yet."""
        return self.end is not None and not self.end.done()

    @property
    def ending(self) -> str:
        status = self.process.returncode if self.process else None
        if status is None:
            return "still running"
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def send_signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self, within: float = 8) -> int:
        """Waits for its end; returns the exit status, negative for a signal."""
        assert self.process is not None and self.end is not None
        try:
            await asyncio.wait_for(asyncio.shield(self.end), patient(within))
        except TimeoutError:
            raise Failure(f"`{' '.join(self.command)}` did not end within {patient(within):.0f} s") from None
        assert self.process.returncode is not None
        return self.process.returncode

    async def outcome(self, within: float = 8) -> Outcome:
        """Waits for its end; returns the outcome."""
        status = await self.ended(within)
        return Outcome(" ".join(["ancsd", *self.command[1:]]), status, self.text, self.log)

    async def stop(self, number: signal.Signals = signal.SIGTERM, within: float = 8) -> None:
        """Ends it by a signal, as systemd does; it must end cleanly."""
        self.send_signal(number)
        status = await self.ended(within)
        wanted = clean(number)
        check(status == wanted, f"{number.name} ended it with {self.ending}, not {wanted}")

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ends at this moment
            self.send_signal(signal.SIGKILL)
        await self.ended()

    def freeze(self) -> None:
        """Stops it permanently without ending it: it may hold a socket that this kernel must not close."""
        self.send_signal(signal.SIGSTOP)
        self.frozen = True

    def check(self) -> None:
        """Checks what must hold at the end of every case."""
        crashed = self.ending.startswith("signal") and not self.ending.endswith(("INT", "TERM", "KILL"))
        check(not crashed, f"{self.name} crashed: {self.ending}")

    async def close(self) -> None:
        """Ends it at the end of a case, whatever its state."""
        if self.running and not self.frozen:
            with contextlib.suppress(ProcessLookupError):  # it ends at this moment
                self.send_signal(signal.SIGTERM)
            try:
                await self.ended(3)
            except Failure:
                await self.kill()


class EventProcess(Process):
    """A process that prints JSON Lines: `events` has them in order, `event` waits for one."""

    def __init__(self, command: Sequence[Any], directory: Path) -> None:
        super().__init__(command, directory)
        self.events: list[Event] = []
        self.bad_lines: list[bytes] = []
        self.changed = asyncio.Event()

    def stdout(self, output: IO[bytes]) -> Any:
        return PIPE

    async def follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with self.output.open("ab", buffering=0) as copy:
            async for line in process.stdout:
                copy.write(line)
                self.parse(line)
                self.changed.set()
        await process.wait()
        self.changed.set()

    def parse(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if isinstance(fields, dict):
            self.events.append(Event(len(self.events), fields))
        else:
            self.bad_lines.append(line)

    @property
    def now(self) -> int:
        """The index that the next event will have."""
        return len(self.events)

    def since(self, since: int | Event, name: str | None = None) -> Iterator[Event]:
        """The events after one, or from an index on; only those of a name if it is given."""
        index = since.index + 1 if isinstance(since, Event) else since
        while index < len(self.events):
            if name in (None, self.events[index].name):
                yield self.events[index]
            index += 1

    def find(
        self, name: str, /, since: int | Event = 0, where: Condition | None = None, **fields: Any
    ) -> Event | None:
        """The first event of this name from `since` on that has these fields, if there is one."""
        for event in self.since(since, name):
            if fields.items() <= event.items() and (where is None or where(event)):
                return event
        return None

    async def event(
        self, name: str, /, since: int | Event = 0, within: float = 8, where: Condition | None = None,
        wanted: str = "", **fields: Any,
    ) -> Event:
        """Waits for the first such event from `since` on; `wanted` describes `where` in words."""
        what = f"{name} event" + "".join(f" with {detail}" for detail in (fields, wanted) if detail)
        try:
            async with asyncio.timeout(patient(within)):
                while True:
                    seen = self.now
                    if (found := self.find(name, since, where, **fields)) is not None:
                        return found
                    if not self.running:
                        raise Failure(f"{self.name} ended with {self.ending} before the {what}")
                    since = max(seen, since) if isinstance(since, int) else max(seen, since.index + 1)
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise Failure(f"no {what} in {patient(within):.0f} s; {self.last_events()}") from None

    def last_events(self) -> str:
        return "the last events: " + (" ".join(event.name for event in self.events[-30:]) or "none")

    async def write(self, fields: dict[str, Any]) -> None:
        """Gives it a line of JSON on standard input."""
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps(fields).encode() + b"\n")
        await self.process.stdin.drain()

    async def settled(self, name: str, quiet: float = 0.5) -> None:
        """Waits until no such event has come for a while."""
        await settled(lambda: sum(1 for _ in self.since(0, name)), quiet, within=5)

    def none(self, name: str, /, since: int | Event = 0, **fields: Any) -> None:
        """Checks that no such event has come."""
        found = self.find(name, since, **fields)
        check(found is None, f"an unexpected {name} event: {found}")

    async def stop(self, number: signal.Signals = signal.SIGTERM, within: float = 8) -> None:
        """Ends it by a signal; it must end cleanly, without an error event."""
        before = self.now
        await super().stop(number, within)
        self.none("error", since=before)

    def check(self) -> None:
        super().check()
        check(not self.bad_lines, f"{self.name} printed a line that is no JSON object: {self.bad_lines[:1]}")


class Daemon(EventProcess):
    """A daemon and its control socket."""

    def __init__(self, command: Sequence[Any], directory: Path, socket: Path) -> None:
        super().__init__([*command, "--socket", socket], directory)
        self.socket = socket

    async def call(self, method: str, /, within: float = 8, **params: Any) -> Any:
        """Makes one JSON-RPC call over a connection of its own."""
        client = await ControlClient.connect(self.socket)
        try:
            return await client.call(method, within, **params)
        finally:
            client.close()

    async def answer(self, method: str, holds: Condition, wanted: str, within: float = 8) -> Any:
        """The result of a call as soon as it holds; `wanted` describes that in words."""
        return await answered(lambda: self.call(method), holds, f"{method} never has {wanted}", within)

    async def passes_on(self, phone: Any, *notifications: Any, within: float = 8) -> Event:
        """Notifications appear on the phone; waits until the daemon tells of the last one, and returns that event."""
        since = self.now
        phone.ancs.post(*notifications)
        return await self.event("notification", since=since, uid=notifications[-1].uid, within=within)

    async def listed(self, what: str, **params: Any) -> list[Any]:
        """A whole list, page by page: `notifications`, `apps` or `phones`."""
        found: list[Any] = []
        while True:
            page = await self.call(f"{what}.list", **params)
            found += page[what]
            if "next" not in page:
                return found
            params["after"] = page["next"]

    async def refused(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Makes a call that must end in an error; returns the error."""
        try:
            result = await self.call(method, **params)
        except RPCError as error:
            return error.fields
        raise Failure(f"{method} with {params} returned {result} instead of an error")


class VirtualPhone(EventProcess):
    """`ancsd phone`: takes commands on standard input, prints events and the commands' results."""

    def __init__(self, binary: Path, place: Path | str, directory: Path, *options: Any) -> None:
        """A phone behind a socket at the path `place`, or on the air by the adapter `place`."""
        listens = isinstance(place, Path)
        where = ["--listen", f"unix:{place}"] if listens else [f"--{place}"]
        super().__init__([binary, "phone", *where, *options], directory)
        self.begins = "listening" if listens else "ready"
        self.path = place
        self.commands = 0

    async def start(self, stdin: int = PIPE, **how: Any) -> Self:
        await super().start(stdin, **how)
        await self.event(self.begins)
        return self

    async def do(self, command: str, **fields: Any) -> None:
        """Has the phone do something, which it must not refuse."""
        result = await self.ask(command, **fields)
        check(result.get("ok") is True, f"the phone answered {command} {fields} with {dict(result)}")

    async def ask(self, command: str, **fields: Any) -> Event:
        """Has the phone do something; returns its answer."""
        self.commands += 1
        since = self.now
        await self.write({"command": command, "id": self.commands, **fields})
        return await self.event("", since=since, id=self.commands)

    def check_rules(self) -> None:
        """Checks that the phone has reported no violation by the daemon."""
        self.none("violation")
        self.none("dropped")
