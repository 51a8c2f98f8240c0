# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual controllers (/dev/vhci), which the kernel takes for real ones, and the switch that blocks them."""

from __future__ import annotations

import asyncio
import errno
import os
import struct
from pathlib import Path
from typing import Any, Self

from Harness.case import patient

VENDOR_PACKET = 0xFF
RFKILL_BLUETOOTH, RFKILL_CHANGE_ALL = 2, 3


def block(on: bool) -> None:
    """Blocks every Bluetooth radio by rfkill, or unblocks it."""
    with open("/dev/rfkill", "wb", buffering=0) as device:
        device.write(struct.pack("<IBBBB", 0, RFKILL_BLUETOOTH, RFKILL_CHANGE_ALL, on, 0))


class Adapter:
    """A virtual controller plugged into the kernel. `index` is the N of its hciN.

    What is behind it is a subclass's business: it takes the kernel's packets in `on_packet_from_kernel`, and
    hands over its own by `on_packet`.
    """

    #: What the air calls the controller.
    controller: Any

    def __init__(self, address: str) -> None:
        self.address = address
        self.fd = -1
        self.index = -1
        self.known: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def plug(self) -> Self:
        self.fd = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(self.fd, self.on_readable)
        # Asks for a primary controller; the response has its index.
        os.write(self.fd, bytes([VENDOR_PACKET, 0]))
        self.index = await asyncio.wait_for(self.known, patient(5))
        # The kernel reads the controller's features first, as of a real one.
        while not Path(f"/sys/class/bluetooth/hci{self.index}").exists():
            await asyncio.sleep(0.02)
        return self

    @property
    def name(self) -> str:
        return f"hci{self.index}"

    def on_readable(self) -> None:
        try:
            packet = os.read(self.fd, 4096)
        except OSError:
            return
        if packet[0] != VENDOR_PACKET:
            self.on_packet_from_kernel(packet)
        elif not self.known.done():
            self.known.set_result(int.from_bytes(packet[2:4], "little"))

    def on_packet_from_kernel(self, packet: bytes) -> None:
        """Takes an HCI packet with its type."""
        raise NotImplementedError

    def on_packet(self, packet: bytes) -> None:
        """Hands the kernel a packet from the controller."""
        if self.fd >= 0:
            try:
                os.write(self.fd, packet)
            except OSError as error:
                if error.errno != errno.ENXIO:  # which it says while the adapter is down
                    print(f"lab: the kernel did not accept an HCI packet: {error}", flush=True)

    def unplug(self) -> None:
        """Takes the controller away from the kernel, and out of the air."""
        if self.fd >= 0:
            asyncio.get_running_loop().remove_reader(self.fd)
            os.close(self.fd)
            self.fd = -1
            self.leave()

    def leave(self) -> None:
        """Silences the controller."""
        raise NotImplementedError
