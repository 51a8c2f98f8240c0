# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual controllers, which the kernel takes for real ones, and the switch that blocks them."""

import asyncio
import contextlib
import errno
import struct
from collections.abc import AsyncIterator
from typing import Any, Self

from .port import new_port

RFKILL_BLUETOOTH, RFKILL_CHANGE_ALL = 2, 3


def switch(on: bool) -> None:
    """Blocks every Bluetooth radio by rfkill, or unblocks it."""
    with open("/dev/rfkill", "wb", buffering=0) as device:
        device.write(struct.pack("<IBBBB", 0, RFKILL_BLUETOOTH, RFKILL_CHANGE_ALL, on, 0))


async def block(on: bool) -> None:
    """The same while the controllers of this process go on: newer kernels wait for their responses."""
    await asyncio.to_thread(switch, on)


@contextlib.asynccontextmanager
async def blocked() -> AsyncIterator[None]:
    """Blocks every Bluetooth radio meanwhile, as the switch on a laptop does."""
    await block(True)
    try:
        yield
    finally:
        await block(False)


class Adapter:
    """A virtual controller plugged into the kernel. `index` is the N of its hciN.

    A subclass decides what is behind it: it takes the kernel's packets in `on_packet_from_kernel`, and
    hands over its own by `on_packet`.
    """

    #: What the air calls the controller.
    controller: Any

    def __init__(self, address: str) -> None:
        self.address = address
        self.port: Any = None
        self.guest = ""  # the port of this machine where the kernel's guest is; empty: it is this machine's kernel
        self.index = -1

    async def plug(self) -> Self:
        self.port = new_port(self.guest)
        self.index = await self.port.open(self.on_packet_from_kernel)
        return self

    @property
    def name(self) -> str:
        return f"hci{self.index}"

    def on_packet_from_kernel(self, packet: bytes) -> None:
        """Takes an HCI packet with its type."""
        raise NotImplementedError

    def on_packet(self, packet: bytes) -> None:
        """Hands the kernel a packet from the controller."""
        if self.port:
            try:
                self.port.send(packet)
            except OSError as error:
                if error.errno != errno.ENXIO:  # which it says while the adapter is down
                    print(f"lab: the kernel did not accept an HCI packet: {error}", flush=True)

    def unplug(self) -> None:
        """Takes the controller away from the kernel, and out of the air."""
        if self.port:
            self.port.close()
            self.port = None
            self.leave()

    def leave(self) -> None:
        """Silences the controller."""
        raise NotImplementedError
