# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins a controller of RootCanal to the kernel, and is the place where commands get lost."""

import asyncio
import math
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from Lab.port import COMMAND, EVENT, hand_over
from Lab.vhci import Adapter

from .air import Air
from .presets import LE_CONNECTION_UPDATE, Preset

DISCONNECTION_COMPLETE, COMMAND_COMPLETE, COMMAND_STATUS, HARDWARE_ERROR = 0x05, 0x0E, 0x0F, 0x10
LE_META, CONNECTION_UPDATE_COMPLETE = 0x3E, 0x03
#: Commands that are answered by Command Status: Disconnect, and those that take their time on a link.
WITH_STATUS = {0x0406, 0x041D, 0x200D, 0x2013, 0x2016, 0x2019, 0x2032, 0x2043}


@dataclass
class Fault:
    """What happens to the next `times` commands of an opcode. Without more, they are lost."""

    opcode: int
    times: float = math.inf
    status: int | None = None  # the controller refuses with it
    struck: int = 0


def command_complete(opcode: int, parameters: bytes) -> bytes:
    content = struct.pack("<BH", 1, opcode) + parameters
    return bytes([EVENT, COMMAND_COMPLETE, len(content)]) + content


def refusal(opcode: int, status: int) -> bytes:
    """The event by which a controller refuses a command, or with status 0 accepts it."""
    if opcode in WITH_STATUS:
        return struct.pack("<BBBBBH", EVENT, COMMAND_STATUS, 4, status, 1, opcode)
    return command_complete(opcode, bytes([status]))


class BridgedAdapter(Adapter):
    """An adapter with a controller of RootCanal. `commands` has the kernel's commands by opcode, in order, and
    the file `log` all packets as the kernel saw them, each with its time."""

    def __init__(self, air: Air, address: str, preset: Preset, log: Path) -> None:
        super().__init__(address)
        self.log = log.open("a", buffering=1)
        self.air = air
        self.preset = preset
        self.controller = ""
        self.commands: list[int] = []
        self.faults = [Fault(opcode, status=status) for opcode, status in preset.refuses.items()]
        #: Why each link ends, as the controller says it; None: as it is.
        self.end: int | None = None

    async def plug(self) -> Self:
        async with self.air.changing:
            before = await self.air.controllers()
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.air.accessory_port)
            self.controller = await self.air.new_controller(before)
        await self.air.tell("set_device_address", self.controller, self.address)
        self.reading = asyncio.get_running_loop().create_task(hand_over(self.reader, lambda packet: self.on_packet(self.corrected(packet))))
        return await super().plug()

    def leave(self) -> None:
        # RootCanal may hang when it is the connection that ends.
        self.leaving = asyncio.get_running_loop().create_task(self.air.tell("del", self.controller))

    # Faults

    def spoil(self, *faults: Fault) -> Fault:
        """Makes commands fail from now on; returns the first fault."""
        self.faults += faults
        return faults[0]

    def fail(self) -> None:
        """Sends Hardware Error."""
        self.on_packet(bytes([EVENT, HARDWARE_ERROR, 1, 0x42]))

    # From the kernel

    def note(self, arrow: str, packet: bytes) -> None:
        self.log.write(f"{time.monotonic():.3f} {arrow} {packet.hex(' ')}\n")

    def on_packet(self, packet: bytes) -> None:
        self.note("<", packet)
        super().on_packet(packet)

    def on_packet_from_kernel(self, packet: bytes) -> None:
        self.note(">", packet)
        if packet[0] != COMMAND:
            self.writer.write(packet)
            return
        opcode = int.from_bytes(packet[1:3], "little")
        self.commands.append(opcode)
        if (answer := self.preset.answers.get(opcode)) is not None:
            parameters = bytes.fromhex(answer.format(handle=packet[4:6].hex()))
            self.on_packet(command_complete(opcode, parameters))
        elif opcode == LE_CONNECTION_UPDATE and (status := self.preset.update_ends) is not None:
            self.on_packet(refusal(opcode, 0))
            self.on_packet(bytes([EVENT, LE_META, 10, CONNECTION_UPDATE_COMPLETE, status]) + packet[4:6] + bytes(6))
        elif (fault := self.fault(opcode)) is None:
            self.writer.write(packet)
        elif fault.status is not None:
            self.on_packet(refusal(opcode, fault.status))

    def fault(self, opcode: int) -> Fault | None:
        """The fault that strikes a command."""
        for fault in self.faults:
            if fault.opcode == opcode and fault.struck < fault.times:
                fault.struck += 1
                return fault
        return None

    # From the controller

    def corrected(self, packet: bytes) -> bytes:
        """A packet as the preset has it."""
        if packet[:2] == bytes([EVENT, DISCONNECTION_COMPLETE]) and self.end is not None:
            return packet[:-1] + bytes([self.end])
        if packet[:2] != bytes([EVENT, COMMAND_COMPLETE]):
            return packet
        changed = bytearray(packet)
        for offset, value in self.preset.replaces.get(int.from_bytes(packet[4:6], "little"), []):
            new = bytes.fromhex(value)
            changed[6 + offset : 6 + offset + len(new)] = new
        return bytes(changed)
