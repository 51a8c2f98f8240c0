# SPDX-License-Identifier: GPL-3.0-or-later
"""A relay on the way to a broker: it keeps what passes, and can hold it up, delay or end it."""

from __future__ import annotations

import asyncio
import contextlib


class Relay:
    """`sent` is all that the bridge has sent, `answered` what the broker has."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.port = 0
        self.sent = bytearray()
        self.answered = bytearray()
        self.connections: list[asyncio.StreamWriter] = []
        self.count = 0
        #: How long everything takes each way, in seconds.
        self.delay = 0.0
        self.open = asyncio.Event()
        self.open.set()
        self.server: asyncio.Server | None = None

    async def start(self) -> Relay:
        """Listens; at the same port as before, if it has listened."""
        self.server = await asyncio.start_server(self.relay, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        self.connections.append(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self.connections.append(far_writer)
        await asyncio.gather(
            self.copy(reader, far_writer, self.sent, held=False), self.copy(far_reader, writer, self.answered, held=True),
            return_exceptions=True,
        )

    async def copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, kept: bytearray, held: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                kept += data
                await asyncio.sleep(self.delay)
                if held:
                    await self.open.wait()
                target.write(data)
                await target.drain()
        target.close()

    def hold(self) -> None:
        """Nothing that the broker says arrives any more, acknowledgements neither; what is sent to it does."""
        self.open.clear()

    def release(self) -> None:
        self.open.set()

    def cut(self) -> None:
        """Ends what is open now."""
        for writer in self.connections:
            writer.close()
        self.connections = []

    def stop_listening(self) -> None:
        """Takes nobody in any more; who is there stays."""
        if self.server:
            self.server.close()

    def close(self) -> None:
        self.cut()
        self.stop_listening()
