# SPDX-License-Identifier: GPL-3.0-or-later
"""Another program that manages the adapter, and what the kernel shows of the keys that it holds."""

import ctypes
import os
import re
import socket
import struct
from pathlib import Path

from Harness.case import check

READ_INDEX_LIST, SET_POWERED = 0x0003, 0x0005
CONTROL_CHANNEL, NO_DEVICE = 3, 0xFFFF


def open_control() -> socket.socket:
    """A management socket."""
    control = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    # Python's bind() knows no channels.
    address = struct.pack("<HHH", socket.AF_BLUETOOTH, NO_DEVICE, CONTROL_CHANNEL)
    bound = ctypes.CDLL(None, use_errno=True).bind(control.fileno(), address, len(address))
    check(bound == 0, f"bind: {os.strerror(ctypes.get_errno())}")
    return control


def send(index: int, opcode: int, parameters: bytes) -> None:
    """Sends a management command on a socket of its own, without waiting for the reply."""
    with open_control() as control:
        control.send(struct.pack("<HHH", opcode, index, len(parameters)) + parameters)


def is_set_up(index: int) -> bool:
    """Whether the kernel has read an adapter's features, and lists it."""
    with open_control() as control:
        control.settimeout(1)
        control.send(struct.pack("<HHH", READ_INDEX_LIST, NO_DEVICE, 0))
        while True:  # the reply may come after an event
            packet = control.recv(1024)
            if packet[:2] == b"\x01\x00" and packet[6:8] == struct.pack("<H", READ_INDEX_LIST):
                count, *indexes = struct.unpack(f"<{(len(packet) - 9) // 2}H", packet[9:])
                return index in indexes[:count]


def keys(index: int) -> list[tuple[str, bool]]:
    """The Long Term Keys that the kernel holds: whose, and whether made with protection against a man in the
    middle (net/bluetooth/hci_debugfs.c)."""
    text = Path(f"/sys/kernel/debug/bluetooth/hci{index}/long_term_keys").read_text()
    found = re.findall(r"^(\S+) \(type \d\) (\d)", text, re.MULTILINE)
    return [(address.upper(), authenticated == "1") for address, authenticated in found]
