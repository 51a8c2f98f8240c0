# SPDX-License-Identifier: GPL-3.0-or-later
"""A relay in front of a broker: it records the traffic, and can hold it, delay it or cut it."""

import asyncio
import contextlib
import socket
import struct

from Harness.case import eventually
from Harness.web import Listener

from .mosquitto import OnLoopback
from .scripted import PUBACK, PUBLISH, first_packet


class Relay(OnLoopback, Listener):
    """`sent` is everything that the bridge has sent."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.sent = bytearray()
        #: The number of publications that the broker has not acknowledged, or whose acknowledgement was not passed on yet.
        self.unacknowledged = 0
        self.connections: list[asyncio.StreamWriter] = []
        self.count = 0
        #: The delay in each direction, in seconds.
        self.delay = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        self.connections.append(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self.connections.append(far_writer)
        self.unacknowledged = 0
        await asyncio.gather(self.copy(reader, far_writer), self.copy(far_reader, writer, from_broker=True), return_exceptions=True)

    async def copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, from_broker: bool = False) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if not from_broker:
                    self.sent += data
                await asyncio.sleep(self.delay)
                target.write(data)
                await target.drain()
                rest += data
                while found := first_packet(rest):
                    first, _, size = found
                    rest = rest[size:]
                    self.unacknowledged += (first >> 4 == PUBLISH and first & 6 > 0 and not from_broker) - (first >> 4 == PUBACK and from_broker)
        target.close()

    async def acknowledged(self) -> None:
        """Waits until the bridge has the acknowledgements of all that it has sent: what is not acknowledged may come twice."""
        await eventually(lambda: self.unacknowledged <= 0, "the broker does not acknowledge", 20)

    def cut(self) -> None:
        """Closes the open connections."""
        for writer in self.connections:
            writer.close()
        self.connections = []

    def reset(self) -> None:
        """Resets the open connections, so that whoever writes to them fails."""
        for writer in self.connections:
            found = writer.get_extra_info("socket")
            if found is not None:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.cut()

    def stop_listening(self) -> None:
        """Accepts no more connections; open ones stay."""
        super().close()

    def close(self) -> None:
        self.cut()
        self.stop_listening()
