# SPDX-License-Identifier: GPL-3.0-or-later
"""ATT PDUs as bytes (Core Specification Vol 3 Part F, 3.4), for tests that send what no stack would."""

import struct

ERROR = 0x01
MTU_REQUEST, MTU_RESPONSE = 0x02, 0x03
FIND_INFORMATION, FIND_BY_TYPE_VALUE = 0x04, 0x06
READ_BY_TYPE, READ_BY_TYPE_RESPONSE = 0x08, 0x09
READ, READ_RESPONSE = 0x0A, 0x0B
READ_BLOB, READ_BLOB_RESPONSE = 0x0C, 0x0D
READ_MULTIPLE, READ_BY_GROUP = 0x0E, 0x10
WRITE, WRITE_RESPONSE = 0x12, 0x13
PREPARE_WRITE, EXECUTE_WRITE = 0x16, 0x18
NOTIFY, INDICATE, CONFIRM = 0x1B, 0x1D, 0x1E
READ_MULTIPLE_VARIABLE, NOTIFY_MULTIPLE = 0x20, 0x23
WRITE_COMMAND = 0x52
COMMAND_FLAG = 0x40

REQUESTS = {
    MTU_REQUEST, FIND_INFORMATION, FIND_BY_TYPE_VALUE, READ_BY_TYPE, READ, READ_BLOB, READ_MULTIPLE,
    READ_BY_GROUP, WRITE, PREPARE_WRITE, EXECUTE_WRITE, READ_MULTIPLE_VARIABLE,
}
RESPONSES = {ERROR} | {request + 1 for request in REQUESTS}
#: The requests of a discovery: each begins with a range of handles.
DISCOVERY = {FIND_INFORMATION, FIND_BY_TYPE_VALUE, READ_BY_TYPE, READ_BY_GROUP}
NAMES = {
    ERROR: "error response", MTU_REQUEST: "MTU request", FIND_INFORMATION: "find information request",
    FIND_BY_TYPE_VALUE: "find by type value request", READ_BY_TYPE: "read by type request",
    READ: "read request", READ_BLOB: "read blob request", READ_MULTIPLE: "read multiple request",
    READ_BY_GROUP: "read by group type request", WRITE: "write request",
    PREPARE_WRITE: "prepare write request", EXECUTE_WRITE: "execute write request",
    CONFIRM: "confirmation", READ_MULTIPLE_VARIABLE: "read multiple variable request",
    WRITE_COMMAND: "write command",
}

INVALID_HANDLE, READ_NOT_PERMITTED, WRITE_NOT_PERMITTED, INVALID_PDU = 1, 2, 3, 4
INSUFFICIENT_AUTHENTICATION, REQUEST_NOT_SUPPORTED, INVALID_OFFSET = 5, 6, 7
NOT_FOUND, NOT_LONG, INVALID_LENGTH, UNLIKELY = 0x0A, 0x0B, 0x0D, 0x0E
INSUFFICIENT_ENCRYPTION = 0x0F

PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC, CCCD = 0x2800, 0x2801, 0x2802, 0x2803, 0x2902


def name(opcode: int) -> str:
    return NAMES.get(opcode, f"PDU with opcode 0x{opcode:02X}")


def error(request: int, handle: int, code: int) -> bytes:
    return struct.pack("<BBHB", ERROR, request, handle, code)


def refusal(request: bytes, code: int) -> bytes:
    """An error response that names the first handle of the request."""
    return error(request[0], first_handle(request), code)


def mtu_request(mtu: int) -> bytes:
    return struct.pack("<BH", MTU_REQUEST, mtu)


def read(handle: int) -> bytes:
    return struct.pack("<BH", READ, handle)


def read_blob(handle: int, offset: int) -> bytes:
    return struct.pack("<BHH", READ_BLOB, handle, offset)


def write(handle: int, value: bytes) -> bytes:
    return struct.pack("<BH", WRITE, handle) + value


def by_type(opcode: int, kind: int) -> bytes:
    """Read By Type, or Read By Group Type, of all handles."""
    return struct.pack("<BHHH", opcode, 1, 0xFFFF, kind)


def notification(handle: int, value: bytes) -> bytes:
    return struct.pack("<BH", NOTIFY, handle) + value


def indication(handle: int, value: bytes) -> bytes:
    return struct.pack("<BH", INDICATE, handle) + value


def first_handle(request: bytes) -> int:
    """The handle that a request is about, or begins with."""
    return int.from_bytes(request[1:3], "little")


def handle_range(request: bytes) -> tuple[int, int] | None:
    """The range of handles that a discovery request is about."""
    return struct.unpack_from("<HH", request, 1) if request[0] in DISCOVERY else None


def searched_type(request: bytes) -> int:
    """The 16-bit type that a discovery request looks for; 0 for Find Information."""
    return 0 if request[0] == FIND_INFORMATION else int.from_bytes(request[5:7], "little")
