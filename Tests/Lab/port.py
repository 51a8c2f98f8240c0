# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways in which a controller of the lab reaches the kernel: hci_vhci, a serial line where a kernel has none, or a guest."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
import tty
from collections.abc import Callable
from pathlib import Path

from Harness.case import eventually, patient

from .mgmt import is_set_up

COMMAND, ACL, SCO, EVENT, ISO, VENDOR = 1, 2, 3, 4, 5, 0xFF
#: Where a packet's length is, and in how many bytes (Core Specification Vol 4 Part E, 5.4). VENDOR is only the lab's.
LENGTHS = {COMMAND: (3, 1), ACL: (3, 2), SCO: (3, 1), EVENT: (2, 1), ISO: (3, 2), VENDOR: (1, 1)}

#: Takes an HCI packet with its type.
Take = Callable[[bytes], None]


async def read_packet(reader: asyncio.StreamReader) -> bytes:
    """The next packet of a stream, with its type."""
    kind = await reader.readexactly(1)
    place, size = LENGTHS[kind[0]]
    head = await reader.readexactly(place + size - 1)
    return kind + head + await reader.readexactly(int.from_bytes(head[-size:], "little") & 0x3FFF)


async def hand_over(reader: asyncio.StreamReader, take: Take) -> None:
    """Takes the packets of a stream until it ends."""
    with contextlib.suppress(asyncio.IncompleteReadError, OSError):
        while True:
            take(await read_packet(reader))


async def set_up(index: int) -> int:
    """Waits until the kernel has set an adapter up, and returns its index."""
    await eventually(lambda: is_set_up(index), f"the kernel does not set hci{index} up", within=3)
    return index


class VirtualController:
    """/dev/vhci (hci_vhci), which gives and takes whole packets."""

    async def open(self, take: Take) -> int:
        loop = asyncio.get_running_loop()
        known: asyncio.Future[int] = loop.create_future()
        self.fd = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

        def on_readable() -> None:
            try:
                packet = os.read(self.fd, 4096)
            except OSError:
                return
            if packet[0] != VENDOR:
                take(packet)
            elif not known.done():
                known.set_result(int.from_bytes(packet[2:4], "little"))

        loop.add_reader(self.fd, on_readable)
        # Asks for a primary controller; the response has its index.
        os.write(self.fd, bytes([VENDOR, 0]))
        return await set_up(await asyncio.wait_for(known, patient(5)))

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

    async def open(self, take: Take) -> int:
        loop = asyncio.get_running_loop()
        fd, self.line = pty.openpty()
        tty.setraw(self.line)
        reader = asyncio.StreamReader()
        ends = open(os.dup(fd), "rb", buffering=0), open(fd, "wb", buffering=0)
        self.input, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), ends[0])
        self.output, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, ends[1])
        self.reading = loop.create_task(hand_over(reader, take))
        fcntl.ioctl(self.line, termios.TIOCSETD, struct.pack("i", self.N_HCI))
        # A controller that is reset when it is closed would have to answer while it is unplugged.
        fcntl.ioctl(self.line, self.SET_FLAGS, self.RESET_ON_INIT)
        fcntl.ioctl(self.line, self.SET_PROTOCOL, self.H4)
        return await set_up(fcntl.ioctl(self.line, self.GET_DEVICE))

    def send(self, packet: bytes) -> None:
        self.output.write(packet)

    def close(self) -> None:
        self.reading.cancel()
        self.input.close()
        self.output.abort()
        os.close(self.line)


class Guest:
    """The kernel of a guest, whose Tests/Lab/guest.py relays the packets; it tells the adapter's index in one of VENDOR."""

    def __init__(self, port: str) -> None:
        self.port = port

    async def open(self, take: Take) -> int:
        loop = asyncio.get_running_loop()
        self.known: asyncio.Future[int] = loop.create_future()
        self.reading = loop.create_task(self.read(take))
        return await asyncio.wait_for(self.known, patient(20))

    async def read(self, take: Take) -> None:
        reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(b"adapter\n")

        def take_or_learn(packet: bytes) -> None:
            if packet[0] == VENDOR:
                self.known.set_result(int.from_bytes(packet[2:4], "little"))
            else:
                take(packet)

        with contextlib.closing(self.writer):
            await hand_over(reader, take_or_learn)

    def send(self, packet: bytes) -> None:
        self.writer.write(packet)

    def close(self) -> None:
        self.reading.cancel()


def new_port(guest: str) -> VirtualController | SerialLine | Guest:
    """A controller's connection to this machine's kernel, or to that of the guest that is behind a TCP port of it.

    `open` makes the adapter, which the kernel sets up, has its packets taken, and returns the N of its hciN; `send` hands
    the kernel a packet with its type, and `close` takes the adapter away.
    """
    if guest:
        return Guest(guest)
    return VirtualController() if Path("/dev/vhci").exists() else SerialLine()
