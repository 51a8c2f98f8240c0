# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to the control socket that stays: JSON-RPC 2.0, one object a line each way."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

from daemon import Refused
from harness import Failure


class Control:
    """One client. `events` are the notifications that came since it subscribed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.ids = itertools.count(1)
        self.events: list[dict[str, Any]] = []

    @classmethod
    async def open(cls, socket: Path) -> Control:
        return cls(*await asyncio.open_unix_connection(str(socket), limit=1 << 22))

    def send(self, line: bytes) -> None:
        self.writer.write(line)

    async def receive(self, within: float = 5) -> Any:
        """The next object, whatever it is."""
        try:
            line = await asyncio.wait_for(self.reader.readline(), within)
        except TimeoutError:
            raise Failure(f"the control socket said nothing in {within} s") from None
        if not line:
            raise Failure("the control socket was closed")
        return json.loads(line)

    async def answer(self, within: float = 5) -> Any:
        """The next object that is no event."""
        while True:
            message = await self.receive(within)
            if isinstance(message, dict) and message.get("method") == "event":
                self.events.append(message["params"])
            else:
                return message

    async def call(self, method: str, **params: Any) -> Any:
        number = next(self.ids)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(request).encode() + b"\n")
        message = await self.answer()
        if message.get("id") != number:
            raise Failure(f"the answer to {method} is {message}")
        if "error" in message:
            raise Refused(method, message["error"])
        return message["result"]

    async def event(self, name: str, within: float = 8, **fields: Any) -> dict[str, Any]:
        """The next event of this name with these fields."""
        async with asyncio.timeout(within):
            while True:
                message = await self.receive(within)
                params: dict[str, Any] = message.get("params", {})
                self.events.append(params)
                if params.get("event") == name and fields.items() <= params.items():
                    return params

    def close(self) -> None:
        self.writer.close()
