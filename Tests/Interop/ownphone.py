# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd phone` as a process: told by lines on its standard input, watched by its events."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from daemon import Ancsd, Event
from harness import Failure, check

if TYPE_CHECKING:
    from room import Room


class OwnPhone(Ancsd):
    """The project's own virtual phone. Answers to commands are among its events, under `?`."""

    def __init__(self, room: Room, *options: str) -> None:
        self.path = room.work / f"own{len(room.daemons)}"
        directory = room.out / "phone"
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(
            room.binary, directory, ["phone", "--listen", f"unix:{self.path}", *options], self.path
        )
        room.daemons.append(self)

    async def start(self, *more: str) -> OwnPhone:
        with self.log_path.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, *more,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=1 << 20,
            )  # fmt: skip
        self.reader = asyncio.create_task(self.read(self.process.stdout))
        await self.event("listening")
        return self

    async def do(self, command: str, **fields: Any) -> Event:
        """Has it do something; its answer, which must not be a refusal."""
        number = next(self.ids)
        since = self.now
        assert self.process is not None and self.process.stdin is not None
        line = json.dumps({"command": command, "id": number, **fields})
        self.process.stdin.write(line.encode() + b"\n")
        await self.process.stdin.drain()
        answer = await self.event("?", since=since, id=number)
        if answer.get("ok") is not True:
            raise Failure(f"the phone answers {line} with {dict(answer)}")
        return answer

    def content(self) -> None:
        """That the other end broke none of the rules that it watches over."""
        for name in ("violation", "dropped"):
            found = self.find(name, 0, {})
            check(found is None, f"the phone complains: {found}")
