# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads btsnoop files in the format of the kernel's monitor."""

import struct
from typing import NamedTuple

MONITOR = b"btsnoop\0" + struct.pack(">II", 1, 2001)
HEAD, RECORD_HEAD = 16, 24
#: 1970 in btsnoop's microseconds.
EPOCH = 0x00DCDDB30F2F8000


class Record(NamedTuple):
    time: int  # microseconds since 1970
    adapter: int
    opcode: int
    original: int  # the packet's length; the file may hold less of it
    drops: int
    data: bytes


def records(content: bytes) -> list[Record]:
    """The records of a file; the last one may be cut. Raises ValueError for other formats."""
    if content[:HEAD] != MONITOR:
        raise ValueError("not in btsnoop's monitor format")
    found, place = [], HEAD
    while place + RECORD_HEAD <= len(content):
        original, length, flags, drops, time = struct.unpack_from(">IIIIq", content, place)
        place += RECORD_HEAD
        data = content[place : place + length]
        place += length
        found.append(Record(time - EPOCH, flags >> 16, flags & 0xFFFF, original, drops, data))
    return found
