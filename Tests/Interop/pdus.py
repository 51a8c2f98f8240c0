# SPDX-License-Identifier: GPL-3.0-or-later
"""ATT PDUs as bytes (Core Specification Vol 3 Part F, 3.4), for cases that send what no stack would."""

from __future__ import annotations

import struct

ERROR = 0x01
MTU_REQUEST, MTU_RESPONSE = 0x02, 0x03
FIND_INFORMATION, FIND_INFORMATION_RESPONSE = 0x04, 0x05
FIND_BY_TYPE_VALUE, FIND_BY_TYPE_VALUE_RESPONSE = 0x06, 0x07
READ_BY_TYPE, READ_BY_TYPE_RESPONSE = 0x08, 0x09
READ, READ_RESPONSE = 0x0A, 0x0B
READ_BLOB, READ_BLOB_RESPONSE = 0x0C, 0x0D
READ_MULTIPLE = 0x0E
READ_BY_GROUP, READ_BY_GROUP_RESPONSE = 0x10, 0x11
WRITE, WRITE_RESPONSE = 0x12, 0x13
PREPARE_WRITE, EXECUTE_WRITE = 0x16, 0x18
NOTIFY, INDICATE, CONFIRM = 0x1B, 0x1D, 0x1E
READ_MULTIPLE_VARIABLE, NOTIFY_MULTIPLE = 0x20, 0x23
WRITE_COMMAND, SIGNED_WRITE = 0x52, 0xD2
COMMAND_FLAG = 0x40

REQUESTS = {0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20}
RESPONSES = {ERROR} | {request + 1 for request in REQUESTS}
NAMES = {
    0x01: "error response", 0x02: "MTU request", 0x04: "find information request",
    0x06: "find by type value request", 0x08: "read by type request", 0x0A: "read request",
    0x0C: "read blob request", 0x0E: "read multiple request", 0x10: "read by group type request",
    0x12: "write request", 0x16: "prepare write request", 0x18: "execute write request",
    0x1E: "confirmation", 0x20: "read multiple variable request", 0x52: "write command",
}  # fmt: skip

INVALID_HANDLE, READ_NOT_PERMITTED, WRITE_NOT_PERMITTED, INVALID_PDU = 1, 2, 3, 4
REQUEST_NOT_SUPPORTED, INVALID_OFFSET, NOT_FOUND, NOT_LONG = 6, 7, 0x0A, 0x0B
INVALID_LENGTH, UNSUPPORTED_GROUP = 0x0D, 0x10

PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC, CCCD = 0x2800, 0x2801, 0x2802, 0x2803, 0x2902


def name(opcode: int) -> str:
    return NAMES.get(opcode, f"PDU of opcode 0x{opcode:02X}")


def error(request: int, handle: int, code: int) -> bytes:
    return struct.pack("<BBHB", ERROR, request, handle, code)


def mtu_request(mtu: int) -> bytes:
    return struct.pack("<BH", MTU_REQUEST, mtu)


def read(handle: int) -> bytes:
    return struct.pack("<BH", READ, handle)


def read_blob(handle: int, offset: int) -> bytes:
    return struct.pack("<BHH", READ_BLOB, handle, offset)


def write(handle: int, value: bytes) -> bytes:
    return struct.pack("<BH", WRITE, handle) + value


def by_type(opcode: int, kind: int, first: int = 1, last: int = 0xFFFF) -> bytes:
    """Read By Type, or Read By Group Type."""
    return struct.pack("<BHHH", opcode, first, last, kind)


def find_information(first: int = 1, last: int = 0xFFFF) -> bytes:
    return struct.pack("<BHH", FIND_INFORMATION, first, last)


def error_code(answer: bytes) -> int | None:
    """The code of an error response, None for any other."""
    return answer[4] if len(answer) == 5 and answer[0] == ERROR else None


def handles_asked(request: bytes) -> tuple[int, int] | None:
    """The range of handles that a discovery request is about."""
    if request[0] in (FIND_INFORMATION, FIND_BY_TYPE_VALUE, READ_BY_TYPE, READ_BY_GROUP):
        first, last = struct.unpack_from("<HH", request, 1)
        return first, last
    return None


def raw_event(event: int, flags: int, category: int, count: int, uid: int) -> bytes:
    """A value of ANCS's Notification Source."""
    return struct.pack("<BBBBI", event, flags, category, count, uid)
