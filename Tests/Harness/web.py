# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers on the loopback, and the web service to which Apprise sends messages."""

import asyncio
import json
from typing import Self

from .testbed import Testbed


class Listener:
    """Its `serve` gets the connections to a port of the loopback, which it keeps when it is started again."""

    port = 0
    server: asyncio.Server | None = None

    async def start(self) -> Self:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def close(self) -> None:
        if self.server:
            self.server.close()


class Service(Listener):
    """A web service that takes what Apprise sends to `json://`, or refuses a title with a status; a silent one takes the
    connection, and answers nothing."""

    def __init__(self, bed: Testbed, silent: bool = False) -> None:
        self.messages: list[tuple[str, str]] = []
        self.requests = 0
        self.refusals: dict[str, int] = {}
        self.silent = silent
        bed.cleanups.append(self.close)

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.port}/board"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].split("\r\n")[0])
            message = json.loads(await reader.readexactly(length))
            self.requests += 1
            if self.silent:
                await reader.read()
                return
            status = self.refusals.get(message["title"], 200)
            if status == 200:
                self.messages.append((message["title"], message["message"]))
            writer.write(f"HTTP/1.1 {status} Status\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
            await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()
