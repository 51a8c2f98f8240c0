# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of the control socket: JSON-RPC 2.0, one object a line each way."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any, Self

from .case import Failure, check, patient


class RPCError(Exception):
    """An error that a call was answered with; `fields` is the JSON object."""

    def __init__(self, method: str, fields: dict[str, Any]) -> None:
        super().__init__(f"{method}: {fields}")
        self.fields = fields


class ControlClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.ids = itertools.count(1)

    @classmethod
    async def connect(cls, socket: Path) -> Self:
        try:
            return cls(*await asyncio.open_unix_connection(str(socket), limit=1 << 22))
        except OSError as error:
            raise Failure(f"no control socket at {socket}: {error}") from None

    def send(self, line: bytes) -> None:
        self.writer.write(line)

    async def receive(self, within: float = 5) -> Any:
        """The next object, whatever it is."""
        try:
            line = await asyncio.wait_for(self.reader.readline(), patient(within))
        except TimeoutError:
            raise Failure(f"nothing came over the control socket in {patient(within):.0f} s") from None
        check(line, "the daemon closed the control socket")
        return json.loads(line)

    async def response(self, within: float = 5) -> Any:
        """The next object that is not an event."""
        while True:
            message = await self.receive(within)
            if not isinstance(message, dict) or message.get("method") != "event":
                return message

    async def call(self, method: str, /, within: float = 5, **params: Any) -> Any:
        """The result of a call; raises an RPCError for an error."""
        number = next(self.ids)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(request).encode() + b"\n")
        response = await self.response(within)
        check(response.get("id") == number, f"the response to {method} has another id: {response}")
        if "error" in response:
            raise RPCError(method, response["error"])
        return response["result"]

    async def event(self, name: str, /, within: float = 8, **fields: Any) -> dict[str, Any]:
        """The next event of this name with these fields."""
        async with asyncio.timeout(patient(within)):
            while True:
                message = await self.receive(within)
                params: dict[str, Any] = message.get("params", {})
                if params.get("event") == name and fields.items() <= params.items():
                    return params

    def close(self) -> None:
        self.writer.close()
