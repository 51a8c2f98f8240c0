# SPDX-License-Identifier: GPL-3.0-or-later
"""Another program that manages the adapter, and what the kernel shows of the keys that it holds."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
from pathlib import Path

from Harness.case import check

from .vhci import Adapter

SET_POWERED = 0x0005
CONTROL_CHANNEL, NO_DEVICE = 3, 0xFFFF


def send(adapter: Adapter, opcode: int, parameters: bytes) -> None:
    """Sends a management command on a socket of its own, without waiting for the reply."""
    with socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI) as control:
        # Python's bind() knows no channels.
        address = struct.pack("<HHH", socket.AF_BLUETOOTH, NO_DEVICE, CONTROL_CHANNEL)
        bound = ctypes.CDLL(None, use_errno=True).bind(control.fileno(), address, len(address))
        check(bound == 0, f"bind: {os.strerror(ctypes.get_errno())}")
        control.send(struct.pack("<HHH", opcode, adapter.index, len(parameters)) + parameters)


def keys(adapter: Adapter) -> list[tuple[str, bool]]:
    """The Long Term Keys that the kernel holds: whose, and whether made with protection against a man in the
    middle (net/bluetooth/hci_debugfs.c)."""
    text = Path(f"/sys/kernel/debug/bluetooth/{adapter.name}/long_term_keys").read_text()
    found = re.findall(r"^(\S+) \(type \d\) (\d)", text, re.MULTILINE)
    return [(address.upper(), authenticated == "1") for address, authenticated in found]
