# SPDX-License-Identifier: GPL-3.0-or-later
"""The consumer that ancsd is compared with: ANCS in Python, as simple and fast as possible, in one file.

It has one blocking socket and no framework, subscribes, fetches all eight attributes of each notification
and each app's name once, and prints the event that ancsd prints. It trusts the phone in everything, and
has one phone and no time-outs: whatever else a daemon needs would only make it slower.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections import deque
from datetime import datetime, timezone


def uuid(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))[::-1]


ANCS = uuid("7905F431-B5CE-4E99-A40F-4B1E122D00D0")
NOTIFICATION_SOURCE = uuid("9FBF120D-6301-42D9-8C58-25E699A21DBD")
CONTROL_POINT = uuid("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9")
DATA_SOURCE = uuid("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB")
WANTED = bytes([0, 1, 0, 1, 2, 0, 1, 3, 0, 4, 4, 5, 6, 7])  # titles to 256 bytes, messages to 1024
NAMES = ("app_id", "title", "subtitle", "message", "message_size", "date", "positive", "negative")
CATEGORIES = (
    "other incoming-call missed-call voicemail social schedule email news "
    "health-and-fitness business-and-finance location entertainment"
).split()
FLAGS = ("silent", "important", "pre-existing", "positive-action", "negative-action")
CHANGES = ("added", "modified", "removed")


class Consumer:
    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.source = self.data = self.control = -1
        self.waiting: deque[bytes] = deque()
        self.fragments: deque[bytes] = deque()
        self.apps: dict[str, str] = {}
        self.seq = 0

    def receive(self) -> bytes:
        """The next PDU that is neither a notification nor an indication, after handling those."""
        while True:
            pdu = self.socket.recv(1024)
            if not pdu:
                raise SystemExit(0)
            if pdu[0] == 0x1B:
                handle = pdu[1] | pdu[2] << 8
                if handle == self.data:
                    self.fragments.append(pdu[3:])
                elif handle == self.source and len(pdu) == 11:
                    self.waiting.append(pdu[3:])
            elif pdu[0] == 0x1D:
                self.socket.send(b"\x1e")
            else:
                return pdu

    def request(self, pdu: bytes) -> bytes:
        self.socket.send(pdu)
        answer = self.receive()
        if answer[0] == 0x01:
            raise OSError(f"the phone answered {pdu.hex()} with error 0x{answer[4]:02X}")
        return answer

    def subscribe(self) -> None:
        self.request(struct.pack("<BH", 0x02, 517))
        found = self.request(struct.pack("<BHHH", 0x06, 1, 0xFFFF, 0x2800) + ANCS)
        first, last = struct.unpack_from("<HH", found, 1)
        handles = {}
        start = first
        while start <= last:
            try:
                answer = self.request(struct.pack("<BHHH", 0x08, start, last, 0x2803))
            except OSError:
                break
            for at in range(2, len(answer), answer[1]):
                declaration, _, value = struct.unpack_from("<HBH", answer, at)
                handles[answer[at + 5 : at + answer[1]]] = value
                start = declaration + 1
        self.source, self.data = handles[NOTIFICATION_SOURCE], handles[DATA_SOURCE]
        self.control = handles[CONTROL_POINT]
        for handle in (self.data, self.source):
            self.request(struct.pack("<BHH", 0x12, handle + 1, 1))

    def command(self, command: bytes, head: int, count: int) -> list[str]:
        """Sends a command; returns the texts of the response."""
        self.fragments.clear()
        self.request(struct.pack("<BH", 0x12, self.control) + command)
        answer = b""
        while True:
            while not self.fragments:
                self.wait()
            answer += self.fragments.popleft()
            texts: list[str] = []
            at = head
            while len(texts) < count and len(answer) >= at + 3:
                length = answer[at + 1] | answer[at + 2] << 8
                if len(answer) < at + 3 + length:
                    break
                texts.append(answer[at + 3 : at + 3 + length].decode("utf-8", "replace"))
                at += 3 + length
            if len(texts) == count:
                return texts

    def wait(self) -> None:
        """Waits for a PDU from the phone, a notification or an indication, and handles it."""
        pdu = self.socket.recv(1024)
        if not pdu:
            raise SystemExit(0)
        if pdu[0] == 0x1B:
            handle = pdu[1] | pdu[2] << 8
            if handle == self.data:
                self.fragments.append(pdu[3:])
            elif handle == self.source and len(pdu) == 11:
                self.waiting.append(pdu[3:])
        elif pdu[0] == 0x1D:
            self.socket.send(b"\x1e")

    def run(self) -> None:
        self.subscribe()
        while True:
            while not self.waiting:
                self.wait()
            change, flags, category, count, uid = struct.unpack("<BBBBI", self.waiting.popleft())
            self.seq += 1
            event = {
                "event": "notification",
                "seq": self.seq,
                "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                "change": CHANGES[change],
                "uid": uid,
                "category": CATEGORIES[category] if category < 12 else category,
                "category_count": count,
                "flags": [name for bit, name in enumerate(FLAGS) if flags >> bit & 1],
            }
            if change != 2:
                texts = self.command(struct.pack("<BI", 0, uid) + WANTED, 5, len(NAMES))
                event.update(zip(NAMES, texts))
                event["message_size"] = int(texts[4] or 0)
                date = texts[5]
                event["date"] = (
                    f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[9:11]}:{date[11:13]}:{date[13:15]}"
                    if len(date) == 15
                    else None
                )
                event["app"] = self.app(texts[0])
            sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def app(self, app_id: str) -> str:
        name = self.apps.get(app_id)
        if name is None:
            data = app_id.encode()
            [name] = self.command(b"\1" + data + b"\0\0", len(data) + 2, 1)
            self.apps[app_id] = name
        return name


if __name__ == "__main__":
    Consumer(sys.argv[1]).run()
