# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways in which a controller of the lab reaches the kernel: hci_vhci, or a serial line where a kernel has none."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import pty
import struct
import termios
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from Harness.case import patient

#: Takes an HCI packet with its type.
Take = Callable[[bytes], None]


class Port(Protocol):
    """A controller's connection to the kernel."""

    async def open(self, take: Take) -> int:
        """Makes the adapter; returns the N of its hciN. `take` gets the kernel's packets."""

    def send(self, packet: bytes) -> None:
        """Hands the kernel a packet with its type."""

    def close(self) -> None:
        """Takes the adapter away."""


def new_port() -> Port:
    return VirtualController() if Path("/dev/vhci").exists() else SerialLine()


class VirtualController:
    """/dev/vhci (hci_vhci), which gives and takes whole packets."""

    VENDOR_PACKET = 0xFF

    async def open(self, take: Take) -> int:
        loop = asyncio.get_running_loop()
        known: asyncio.Future[int] = loop.create_future()
        self.fd = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

        def on_readable() -> None:
            try:
                packet = os.read(self.fd, 4096)
            except OSError:
                return
            if packet[0] != self.VENDOR_PACKET:
                take(packet)
            elif not known.done():
                known.set_result(int.from_bytes(packet[2:4], "little"))

        loop.add_reader(self.fd, on_readable)
        # Asks for a primary controller; the response has its index.
        os.write(self.fd, bytes([self.VENDOR_PACKET, 0]))
        return await asyncio.wait_for(known, patient(5))

    def send(self, packet: bytes) -> None:
        os.write(self.fd, packet)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self.fd)
        os.close(self.fd)


class SerialLine:
    """A pseudo-terminal for which hci_uart speaks H4 (Core Specification Vol 4 Part A), as to the controllers of many boards.

    The numbers are those of drivers/bluetooth/hci_uart.h and of the line discipline N_HCI.
    """

    N_HCI, H4, RESET_ON_INIT = 15, 0, 1 << 1
    SET_PROTOCOL, GET_DEVICE, SET_FLAGS = 0x400455C8, 0x800455CA, 0x400455CB
    #: By the packet's type, where the length is that follows its header, and in which format.
    LENGTHS = {1: (3, "B"), 2: (3, "<H"), 3: (3, "B"), 5: (3, "<H")}

    async def open(self, take: Take) -> int:
        self.take, self.received, self.unsent = take, b"", b""
        self.fd, self.line = pty.openpty()
        tty.setraw(self.line)
        os.set_blocking(self.fd, False)
        asyncio.get_running_loop().add_reader(self.fd, self.on_readable)
        fcntl.ioctl(self.line, termios.TIOCSETD, struct.pack("i", self.N_HCI))
        # A controller that is reset when it is closed would have to answer while it is unplugged.
        fcntl.ioctl(self.line, self.SET_FLAGS, self.RESET_ON_INIT)
        fcntl.ioctl(self.line, self.SET_PROTOCOL, self.H4)
        return fcntl.ioctl(self.line, self.GET_DEVICE)

    def on_readable(self) -> None:
        try:
            self.received += os.read(self.fd, 4096)
        except OSError:
            return
        while self.received:
            place, form = self.LENGTHS[self.received[0]]
            end = place + struct.calcsize(form)
            if len(self.received) >= end:
                end += struct.unpack_from(form, self.received, place)[0]
            if len(self.received) < end:
                return
            packet, self.received = self.received[:end], self.received[end:]
            self.take(packet)

    def send(self, packet: bytes) -> None:
        self.unsent += packet
        self.write()

    def write(self) -> None:
        """Writes what has room, and the rest once there is more."""
        loop = asyncio.get_running_loop()
        try:
            self.unsent = self.unsent[os.write(self.fd, self.unsent):]
        except BlockingIOError:
            pass
        except OSError as error:
            raise OSError(errno.ENXIO, "the serial line is closed") from error
        if self.unsent:
            loop.add_writer(self.fd, self.write)
        else:
            loop.remove_writer(self.fd)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.fd)
        loop.remove_writer(self.fd)
        os.close(self.fd)
        os.close(self.line)
