# SPDX-License-Identifier: GPL-3.0-or-later
"""RootCanal as a process: the controllers that connect to it, and its test channel, which moves them about."""

import asyncio
import itertools
import os
import re
from pathlib import Path

from bumble.host import Host
from bumble.transport import open_transport

from Harness.case import Failure, eventually
from Harness.process import Process
from Lab.radio import Antenna

#: The program, which scripts/lab has unpacked.
PROGRAM = Path(os.environ.get("ROOTCANAL", "/nonexistent"))
LOW_ENERGY = "1"  # the number of the physical layer
#: Its supervision time-out, whatever a link's is, and a little more.
SUPERVISION = 3.5

CONFIGURATION = """
tcp_server {{ tcp_port: {phones} configuration {{ strict: false }} }}
tcp_server {{ tcp_port: {accessories} configuration {{ strict: false {configuration} }} }}
"""


class Air(Process):
    """RootCanal. Each connection to one of its ports is a controller; `controller` is its number there."""

    #: The first of its six ports: below those that Linux gives to clients.
    PORTS = itertools.cycle(range(6401, 32000, 6))

    def __init__(self, configuration: str, directory: Path) -> None:
        port = next(self.PORTS)
        self.test_port, self.phone_port, self.accessory_port, hci_port, link_port, self.link_port = range(port, port + 6)
        text = CONFIGURATION.format(
            phones=self.phone_port, accessories=self.accessory_port, configuration=configuration
        )
        super().__init__([
            PROGRAM, f"-test_port={self.test_port}", f"-hci_port={hci_port}", f"-link_port={link_port}",
            f"-link_ble_port={self.link_port}", f"-configuration={text}",
        ], directory)  # fmt: skip
        self.changing = asyncio.Lock()
        self.telling = asyncio.Lock()

    async def open(self) -> None:
        """Waits until it is ready, and opens the test channel, which would mix things up before."""
        await eventually(lambda: "initialize: Finished" in self.text, "RootCanal does not start", 20)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.test_port)
        await self.answer()  # it greets

    async def tell(self, command: str, *arguments: str) -> str:
        """Sends a command over the test channel; returns the answer."""
        words = [command, *arguments]
        sized = [bytes([len(word)]) + word.encode() for word in words]
        async with self.telling:
            self.writer.write(sized[0] + bytes([len(arguments)]) + b"".join(sized[1:]))
            return await asyncio.wait_for(self.answer(), 5)

    async def answer(self) -> str:
        size = int.from_bytes(await self.reader.readexactly(4), "little")
        return (await self.reader.readexactly(size)).decode(errors="replace")

    async def controllers(self) -> set[str]:
        """The numbers of all controllers."""
        devices, _, _ = (await self.tell("list")).partition("Phys:")
        return set(re.findall(r"^ +(\d+):", devices, re.MULTILINE))

    async def new_controller(self, before: set[str]) -> str:
        """The number of the controller that has joined the others."""
        for _ in range(100):
            if new := await self.controllers() - before:
                return new.pop()
            await asyncio.sleep(0.02)
        raise Failure("RootCanal made no controller of a connection")

    async def attach(self, name: str) -> Antenna:
        """A controller for another device. It hears only what is in advertisements themselves, as iOS does
        while it looks for accessories."""
        async with self.changing:
            before = await self.controllers()
            transport = await open_transport(f"tcp-client:127.0.0.1:{self.phone_port}")
            number = await self.new_controller(before)
        return Antenna(Host(transport.source, transport.sink), number, {"active": False})

    async def separate(self, one: str, _other: str) -> None:
        """Takes a controller out of range until its links have timed out."""
        await self.tell("del_device_from_phy", one, LOW_ENERGY)
        await asyncio.sleep(SUPERVISION)
        await self.tell("add_device_to_phy", one, LOW_ENERGY)
