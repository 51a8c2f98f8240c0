# SPDX-License-Identifier: GPL-3.0-or-later
"""A minimal phone, so that the consumer is what is measured: without Bumble, a
table of attributes with ANCS, and one consumer on a UNIX SOCK_SEQPACKET socket.

It sends a few notifications at a time, because a socket holds some hundred packets only.
"""

import itertools
import os
import select
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from Harness import att

MTU = 185
#: How many notifications may be unfetched.
WINDOW = 8
PRIMARY, CHARACTERISTIC, CCCD = (struct.pack("<H", kind) for kind in (0x2800, 0x2803, 0x2902))
READ, WRITE, NOTIFY, INDICATE = 0x02, 0x08, 0x10, 0x20


def uuid(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))[::-1]


ANCS = uuid("7905F431-B5CE-4E99-A40F-4B1E122D00D0")
NOTIFICATION_SOURCE = uuid("9FBF120D-6301-42D9-8C58-25E699A21DBD")
CONTROL_POINT = uuid("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9")
DATA_SOURCE = uuid("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB")
APP_NAMES = {b"com.apple.MobileSMS": b"Messages", b"com.apple.mobilemail": b"Mail"}


@dataclass
class Attribute:
    handle: int
    kind: bytes
    value: bytes
    end: int  # the last handle of its group


def database() -> tuple[list[Attribute], dict[bytes, int]]:
    """GAP, GATT with Service Changed, and ANCS; and the handles of the values by UUID."""
    attributes: list[Attribute] = []
    values: dict[bytes, int] = {}

    def add(kind: bytes, value: bytes) -> Attribute:
        attributes.append(Attribute(len(attributes) + 1, kind, value, 0))
        return attributes[-1]

    def service(kind: bytes, *characteristics: tuple[bytes, int, bytes]) -> None:
        head = add(PRIMARY, kind)
        for number, properties, value in characteristics:
            handle = len(attributes) + 2
            declaration = struct.pack("<BH", properties, handle) + number
            first = add(CHARACTERISTIC, declaration)
            values[number] = add(number, value).handle
            if properties & (NOTIFY | INDICATE):
                add(CCCD, b"\0\0")
            first.end = len(attributes)
        head.end = len(attributes)

    service(b"\x00\x18", (b"\x00\x2a", READ, b"iPhone"), (b"\x01\x2a", READ, b"\x40\0"))
    service(b"\x01\x18", (b"\x05\x2a", INDICATE, b""))
    service(
        ANCS,
        (NOTIFICATION_SOURCE, NOTIFY, b""),
        (CONTROL_POINT, WRITE, b""),
        (DATA_SOURCE, NOTIFY, b""),
    )
    return attributes, values


def note(uid: int) -> list[bytes]:
    """The attributes of a notification, with the sizes of typical messages."""
    app = list(APP_NAMES)[uid % 2]
    message = (f"Message {uid}: are you coming on Saturday? 🎂 " * (1 + uid % 7)).encode()
    texts = [app, f"Sender {uid % 50}".encode(), b"Family", message, str(len(message)).encode()]
    return [*texts, b"20261121T070000", b"Reply", b"Clear"]


class Phone:
    """Serves one consumer `count` notifications, of which so many were `posted` and `fetched`."""

    def __init__(self, path: Path, count: int, mtu: int = MTU) -> None:
        self.attributes, self.handles = database()
        self.by_handle = {a.handle: a for a in self.attributes}
        self.source = self.handles[NOTIFICATION_SOURCE]
        self.data = self.handles[DATA_SOURCE]
        self.count = count
        self.posted = self.fetched = 0
        self.offered_mtu = mtu
        self.mtu = 23
        self.subscribed = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(path))
        self.listener.listen()

    def accept(self, within: float = 10) -> None:
        self.listener.settimeout(within)
        self.socket, _ = self.listener.accept()

    def turn(self, within: float) -> bool:
        """Handles one PDU from the consumer; False if none arrived in time."""
        ready, _, _ = select.select([self.socket], [], [], max(within, 0))
        if not ready:
            return False
        pdu = self.socket.recv(1024)
        if not pdu:
            raise ConnectionError("the consumer closed the link")
        self.handle(pdu)
        self.post()
        return True

    def post(self) -> None:
        """Sends notifications as long as there is room."""
        if not self.subscribed:
            return
        while self.posted < min(self.fetched + WINDOW, self.count):
            self.posted += 1
            self.notify(self.source, struct.pack("<BBBBI", 0, 0x18, 4, 1, self.posted))

    def notify(self, handle: int, value: bytes) -> None:
        self.socket.send(att.notification(handle, value))

    def handle(self, pdu: bytes) -> None:
        if pdu[0] == att.WRITE:
            self.write(att.first_handle(pdu), pdu[3:])
        elif pdu[0] in att.REQUESTS:
            self.socket.send(self.answer(pdu[0], pdu))

    def write(self, handle: int, value: bytes) -> None:
        self.socket.send(bytes([att.WRITE_RESPONSE]))
        if handle == self.handles[CONTROL_POINT]:
            self.command(value)
        elif handle == self.source + 1 and value == b"\1\0":
            self.subscribed = True

    def command(self, value: bytes) -> None:
        if value[0] == 1:
            app, _, _ = value[1:].partition(b"\0")
            name = APP_NAMES.get(app, b"")
            self.respond(b"\1" + app + b"\0" + struct.pack("<BH", 0, len(name)) + name)
            return
        uid = int.from_bytes(value[1:5], "little")
        attributes, wanted, parts = note(uid), value[5:], [value[:5]]
        while wanted:
            number = wanted[0]
            text = attributes[number]
            if number in (1, 2, 3):
                text = text[: wanted[1] | wanted[2] << 8]
            wanted = wanted[3 if number in (1, 2, 3) else 1 :]
            parts.append(struct.pack("<BH", number, len(text)) + text)
        self.respond(b"".join(parts))
        self.fetched += 1

    def respond(self, response: bytes) -> None:
        for at in range(0, len(response), self.mtu - 3):
            self.notify(self.data, response[at : at + self.mtu - 3])

    def answer(self, opcode: int, pdu: bytes) -> bytes:
        """The response to a discovery or read request: simple rather than fast, since there are few."""
        if opcode == att.MTU_REQUEST:
            self.mtu = max(23, min(self.offered_mtu, int.from_bytes(pdu[1:3], "little")))
            return struct.pack("<BH", att.MTU_RESPONSE, self.offered_mtu)
        if opcode in (att.READ, att.READ_BLOB):
            attribute = self.by_handle.get(att.first_handle(pdu))
            if attribute is None:
                return att.refusal(pdu, att.INVALID_HANDLE)
            offset = int.from_bytes(pdu[3:5], "little") if opcode == att.READ_BLOB else 0
            return bytes([opcode + 1]) + attribute.value[offset : offset + self.mtu - 1]
        first, last = att.handle_range(pdu) or (1, 0)
        entries = self.entries(opcode, pdu, [a for a in self.attributes if first <= a.handle <= last])
        if not entries:
            return att.refusal(pdu, att.NOT_FOUND)
        size = len(entries[0])
        head = bytes([opcode + 1])
        if opcode == att.FIND_INFORMATION:
            head += b"\1" if size == 4 else b"\2"
        elif opcode != att.FIND_BY_TYPE_VALUE:
            head += bytes([size])
        same = itertools.takewhile(lambda entry: len(entry) == size, entries)
        return head + b"".join(itertools.islice(same, (self.mtu - len(head)) // size))

    @staticmethod
    def entries(opcode: int, pdu: bytes, span: list[Attribute]) -> list[bytes]:
        if opcode == att.FIND_INFORMATION:
            return [struct.pack("<H", a.handle) + a.kind for a in span]
        if opcode == att.FIND_BY_TYPE_VALUE:
            found = [a for a in span if a.kind == pdu[5:7] and a.value == pdu[7:]]
            return [struct.pack("<HH", a.handle, a.end) for a in found]
        found = [a for a in span if a.kind == pdu[5:]]
        if opcode == att.READ_BY_GROUP:
            return [struct.pack("<HH", a.handle, a.end) + a.value for a in found]
        return [struct.pack("<H", a.handle) + a.value for a in found]

    def close(self, path: Path) -> None:
        self.listener.close()
        os.unlink(path)
