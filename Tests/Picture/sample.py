# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures for the page: a session like an iPhone's, with its own clock, and others that are hostile or large.

Handles, intervals and order are those of iOS 26 as captured: 30 ms, encryption after a third of a second, Service Changed,
two connection intervals for a request.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from Harness.btsnoop import EPOCH, MONITOR

#: A day in 2026, in seconds since 1970.
DAY = 1_795_500_000
COMMAND, EVENT, SENT, RECEIVED, NEW_INDEX, OPEN_INDEX = 2, 3, 4, 5, 0, 8


def little(uuid: str) -> bytes:
    return UUID(uuid).bytes[::-1]


ANCS = little("7905F431-B5CE-4E99-A40F-4B1E122D00D0")
AMS = little("89D3502B-0F36-433A-8EF4-C502AD55F8DC")
CONTROL_POINT = little("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9")
NOTIFICATION_SOURCE = little("9FBF120D-6301-42D9-8C58-25E699A21DBD")
DATA_SOURCE = little("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB")
REMOTE_COMMAND = little("9B3C81D8-57B1-4A8A-B8DF-0E56F7CA51C2")
ENTITY_UPDATE = little("2F7CABCE-808D-411F-9A0C-BB92BA96C102")
# The handles of iOS 26.
CP, NS, DS, EU = 0x1B, 0x1E, 0x21, 0x29


@dataclass
class Capture:
    """Packets at times; `wait` is the only clock."""

    # Of the host, in Connection Complete: it is the peripheral.
    ROLE: ClassVar[int] = 1

    time: float = 0
    records: list[bytes] = field(default_factory=list)
    handle: int = 0x40

    def wait(self, milliseconds: float) -> None:
        self.time += milliseconds / 1000

    def packet(self, opcode: int, data: bytes) -> None:
        moment = EPOCH + DAY * 1_000_000 + round(self.time * 1e6)
        self.records.append(struct.pack(">IIIIq", len(data), len(data), opcode, 0, moment) + data)

    def write(self, path: Path) -> Path:
        path.write_bytes(MONITOR + b"".join(self.records))
        return path

    # The controller

    def command(self, opcode: int, parameters: bytes = b"", results: bytes = b"") -> None:
        self.packet(COMMAND, struct.pack("<HB", opcode, len(parameters)) + parameters)
        self.wait(1)
        self.event(0x0E, struct.pack("<BHB", 1, opcode, 0) + results)

    def event(self, code: int, parameters: bytes) -> None:
        self.packet(EVENT, bytes([code, len(parameters)]) + parameters)

    def begin(self) -> None:
        self.packet(NEW_INDEX, b"\0\1" + bytes.fromhex("3322114433c4")[::-1] + b"hci0\0\0\0\0")
        self.packet(OPEN_INDEX, b"")
        self.command(0x0C03)
        self.command(0x2006, struct.pack("<HHBBB6sBB", 32, 32, 0, 1, 0, bytes(6), 7, 0))
        self.command(0x200A, b"\1")

    def connect(self, peer: str = "5ACB11223344", interval: int = 24) -> None:
        address = bytes.fromhex(peer)[::-1]
        self.event(0x3E, b"\x01\0" + struct.pack("<HBB6sHHHB", self.handle, self.ROLE, 1, address, interval, 0, 72, 0))

    def disconnect(self, reason: int = 0x13) -> None:
        self.event(0x05, struct.pack("<BHB", 0, self.handle, reason))

    def encrypt(self) -> None:
        self.event(0x3E, b"\x05" + struct.pack("<HQH", self.handle, 0, 0))
        self.wait(1)
        self.command(0x201A, struct.pack("<H16s", self.handle, b"\xA5" * 16), struct.pack("<H", self.handle))
        self.wait(60)
        self.event(0x08, struct.pack("<BHB", 0, self.handle, 1))

    def interval(self, units: int) -> None:
        self.event(0x3E, b"\x03\0" + struct.pack("<HHHH", self.handle, units, 0, 400))

    def rssi(self, value: int) -> None:
        self.command(0x1405, struct.pack("<H", self.handle), struct.pack("<Hb", self.handle, value))

    # L2CAP and ATT

    def frame(self, opcode: int, channel: int, payload: bytes, most: int = 251) -> None:
        rest = struct.pack("<HH", len(payload), channel) + payload
        flags = 0 if opcode == SENT else 2
        while rest:
            part, rest = rest[:most], rest[most:]
            self.packet(opcode, struct.pack("<HH", self.handle | flags << 12, len(part)) + part)
            flags = 1

    def sent(self, pdu: bytes) -> None:
        self.frame(SENT, 4, pdu)

    def received(self, pdu: bytes) -> None:
        self.frame(RECEIVED, 4, pdu)

    def ask(self, request: bytes, response: bytes, wait: float = 60) -> None:
        self.sent(request)
        self.wait(wait)
        self.received(response)

    def smp(self, opcode: int, pdu: bytes) -> None:
        self.frame(opcode, 6, pdu)

    def pair(self) -> None:
        """Just Works, with keys that the page must not contain."""
        self.smp(SENT, bytes.fromhex("0b05"))
        for opcode, pdu in [
            (RECEIVED, "01 04 00 05 10 0f 0f"), (SENT, "02 03 00 05 10 05 07"), (RECEIVED, "03" + "5e" * 16),
            (SENT, "03" + "5e" * 16), (RECEIVED, "04" + "5e" * 16), (SENT, "04" + "5e" * 16),
            (RECEIVED, "06" + "5e" * 16), (RECEIVED, "08" + "5e" * 16), (RECEIVED, "09 00 44 33 22 11 c0 5a"),
        ]:
            self.wait(58)
            self.smp(opcode, bytes.fromhex(pdu))

    # What a phone has

    def service_changed(self) -> None:
        self.received(bytes.fromhex("1d 0800 0a00 ffff"))
        self.wait(28)
        self.sent(b"\x1e")

    def discover(self, thorough: bool, wait: float = 60) -> None:
        """All services, and of ANCS and AMS all characteristics and descriptors, one request for each."""
        self.ask(struct.pack("<BH", 2, 517), struct.pack("<BH", 3, 185), wait)
        groups = [(0x01, 0x05, b"\0\x18"), (0x06, 0x09, b"\1\x18"), (0x0A, 0x0E, b"\x0A\x18"), (0x0F, 0x12, b"\x0F\x18"), (0x13, 0x18, b"\5\x18")]
        if thorough:
            self.ask(struct.pack("<BHHH", 0x10, 1, 0xFFFF, 0x2800), b"\x11\x06" + b"".join(struct.pack("<HH", *g[:2]) + g[2] for g in groups), wait)
            self.ask(struct.pack("<BHHH", 0x10, 0x19, 0xFFFF, 0x2800), b"\x11\x14" + struct.pack("<HH", 0x19, 0x22) + ANCS + struct.pack("<HH", 0x23, 0x2E) + AMS, wait)
            self.ask(struct.pack("<BHHH", 0x10, 0x2F, 0xFFFF, 0x2800), struct.pack("<BBHB", 1, 0x10, 0x2F, 0x0A), wait)
            for start, end, _ in groups:
                self.ask(struct.pack("<BHHH", 0x08, start, end, 0x2803), b"\x09\x07" + struct.pack("<HBHH", start + 1, 0x02, start + 2, 0x2A00 + start), wait)
                self.ask(struct.pack("<BHHH", 0x08, start + 2, end, 0x2803), struct.pack("<BBHB", 1, 0x08, end, 0x0A), wait)
            for handle in 0x03, 0x05, 0x0C, 0x0E, 0x11, 0x15, 0x18, 0x03, 0x05:
                self.ask(struct.pack("<BH", 0x0A, handle), b"\x0biPhone", wait)
        found = [(0x1A, 0x88, CP, CONTROL_POINT), (0x1D, 0x10, NS, NOTIFICATION_SOURCE), (0x20, 0x10, DS, DATA_SOURCE)]
        media = [(0x24, 0x98, 0x25, REMOTE_COMMAND), (0x28, 0x98, EU, ENTITY_UPDATE)]
        self.ask(struct.pack("<BHHH", 0x08, 0x19, 0xFFFF, 0x2803), b"\x09\x15" + b"".join(
            struct.pack("<HBH", one, two, three) + uuid for one, two, three, uuid in found + media), wait)
        cccds = [0x09, 0x12, 0x16, 0x1F, 0x22, 0x27, 0x2B]
        if thorough:
            for handle in cccds:
                self.ask(struct.pack("<BHH", 0x04, handle, handle), b"\x05\x01" + struct.pack("<HH", handle, 0x2902), wait)
        else:
            self.ask(struct.pack("<BHHH", 0x08, 1, 0xFFFF, 0x2902), b"\x09\x04" + b"".join(struct.pack("<HH", handle, 0) for handle in cccds), wait)

    def subscribe(self, wait: float = 60) -> None:
        for handle, value in [(0x22, 1), (0x1F, 1), (0x09, 2), (0x27, 1), (0x2B, 1)]:
            self.ask(struct.pack("<BHH", 0x12, handle, value), b"\x13", wait)
        self.ask(struct.pack("<BH", 0x12, EU) + b"\x02\x00\x01\x02\x03", b"\x13", wait)
        self.ask(struct.pack("<BH", 0x12, EU) + b"\x00\x00\x01\x02", b"\x13", wait)

    def notify(self, handle: int, value: bytes) -> None:
        self.received(struct.pack("<BH", 0x1B, handle) + value)

    def announce(self, uid: int, category: int = 4, change: int = 0, flags: int = 0x10) -> None:
        self.notify(NS, struct.pack("<BBBBI", change, flags, category, 1, uid))

    def fetch(self, uid: int, app: str, title: str, message: str, wait: float = 60) -> None:
        self.ask(struct.pack("<BHBI", 0x12, CP, 0, uid) + b"\x00\x01\x40\x00\x03\x00\x04\x05", b"\x13", wait)
        answer = struct.pack("<BI", 0, uid)
        for number, text in (0, app), (1, title), (3, message), (5, "20261124T060253"):
            answer += struct.pack("<BH", number, len(text.encode())) + text.encode()
        while answer:
            self.wait(1)
            part, answer = answer[:182], answer[182:]
            self.notify(DS, part)

    def play(self, entity: int, attribute: int, text: str) -> None:
        self.notify(EU, bytes([entity, attribute, 0]) + text.encode())


class PhoneLog(Capture):
    """The same as PacketLogger records it within the phone, which responds at once, and in whole milliseconds."""

    ROLE = 0

    def sent(self, pdu: bytes) -> None:
        self.frame(RECEIVED, 4, pdu)

    def received(self, pdu: bytes) -> None:
        self.frame(SENT, 4, pdu)

    def ask(self, request: bytes, response: bytes, wait: float = 60) -> None:
        self.sent(request)
        self.received(response)
        self.wait(wait)

    def packet(self, opcode: int, data: bytes) -> None:
        kind = {COMMAND: 0, EVENT: 1, SENT: 2, RECEIVED: 3}.get(opcode)
        if kind is not None:
            self.record(kind, data)

    def record(self, kind: int, data: bytes) -> None:
        milliseconds = round(self.time * 1000)
        self.records.append(struct.pack(
            "<IIIB", 9 + len(data), DAY + milliseconds // 1000, milliseconds % 1000 * 1000, kind) + data)

    def control(self, pdu: str, received: bool = False) -> None:
        """A control PDU of the link layer, as the phone's controller logs it."""
        head = struct.pack("<BI6sH", 0x80 | received, round(self.time * 800), bytes.fromhex("5ACB11223344"), self.handle)
        self.record(0x0A, head + bytes.fromhex(pdu) + b"\0")  # the last byte is what the buffer had before

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.records))
        return path


def agreements() -> PhoneLog:
    """A phone whose controller logs what it agrees on with an accessory's, beside the events that this causes."""
    log = PhoneLog(handle=0x40)
    log.connect()
    for pdu in "08 ff79014100000000", "09 ff79010000000000":
        log.wait(30)
        log.control(pdu, received=pdu.startswith("09"))
    log.event(0x3E, b"\x04\0" + struct.pack("<HQ", log.handle, 0x179FF))
    for pdu in "0c 0e4c001e00", "0c 0bf0050100":
        log.control(pdu, received="f0" in pdu)
        log.wait(30)
    log.event(0x0C, b"\0" + struct.pack("<HBHH", log.handle, 11, 0x05F0, 1))
    for pdu in "14 fb004808fb004808", "15 fb009042fb009042":
        log.control(pdu, received=pdu.startswith("15"))
        log.wait(30)
    log.event(0x3E, b"\x07" + struct.pack("<HHHHH", log.handle, 251, 2120, 251, 2120))
    for pdu in "16 0202", "17 0202", "18 02021000":
        log.control(pdu, received=pdu.startswith("17"))
        log.wait(30)
    log.event(0x3E, b"\x0c\0" + struct.pack("<HBB", log.handle, 2, 2))
    for pdu in "03" + "5e" * 22, "04" + "5e" * 12, "05", "06", "06":
        log.control(pdu, received=pdu.startswith(("04", "05")))
        log.wait(30)
    log.event(0x08, struct.pack("<BHB", 0, log.handle, 1))
    log.discover(thorough=False)
    log.control("0f 1800280000009001" + "00" * 15, received=True)
    log.wait(1)
    log.control("00 08160028000000c8002c00")
    log.wait(300)
    log.event(0x3E, b"\x03\0" + struct.pack("<HHHH", log.handle, 40, 0, 200))
    log.wait(900)
    # Pings and what ends no procedure are no marks; a length that the peer asks for again changes nothing, so no event comes.
    log.control("12")
    log.control("14 fb004808fb004808", received=True)
    log.wait(900)
    log.disconnect()
    return log


def phone() -> PhoneLog:
    """A phone with two accessories: one that was connected before, and one that wants no notifications."""
    log = PhoneLog(handle=0x30)
    for _ in range(4):
        log.received(struct.pack("<BHH", 0x12, 0x845, 1))
        log.wait(300)
        log.sent(b"\x13")
        log.wait(100)
    log.announce(5)
    log.fetch(5, "com.apple.MobileSMS", "Ann", "Soon")
    log.event(0x3E, b"\x0a\x02" + bytes(29))  # a connection that was cancelled
    log.handle = 0x40
    log.connect()
    log.wait(35)
    log.ask(struct.pack("<BHHH", 0x08, 1, 0xFFFF, 0x2A00), b"\x09\x08\x03\0iPhone")
    log.encrypt()
    log.service_changed()
    log.wait(30)
    log.discover(thorough=False)
    log.ask(struct.pack("<BHH", 0x12, 0x09, 2), b"\x13")
    log.wait(5000)
    log.ask(struct.pack("<BH", 0x0A, 0x03), b"\x0biPhone")
    return log


def session() -> Capture:
    """A first meeting whose first notification takes three seconds, most of them for discovery; a link that is lost; one
    that comes back; and a device that is refused."""
    one = Capture()
    one.begin()
    one.wait(800)
    one.connect()
    one.wait(35)
    one.pair()
    one.wait(40)
    one.encrypt()
    one.service_changed()
    one.wait(30)
    one.discover(thorough=True, wait=60)
    one.subscribe()
    one.announce(7, category=4, flags=0x15)
    one.announce(8, category=6, flags=0x15)
    one.announce(9, category=0, flags=0x15)
    one.wait(2)
    one.fetch(7, "com.apple.MobileSMS", "Mum", "Are you coming on Saturday? 🍰")
    one.fetch(8, "com.apple.mobilemail", "Jürgen Åström", "Dear family, we left the hut before sunrise and had the glacier for ourselves. " * 9)
    one.rssi(-52)
    one.fetch(9, "com.example.parcel", "On its way", "Your parcel arrives today between 13:00 and 15:00.")
    one.play(2, 2, "Sinnerman")
    one.play(2, 0, "Nina Simone")
    one.play(0, 1, "1,1.0,61.5")
    one.wait(700)
    one.interval(72)
    one.rssi(-61)
    for number in range(6):
        one.wait(500 + 130 * number)
        one.announce(20 + number, category=number % 10)
        one.wait(3)
        one.fetch(20 + number, "com.apple.mobilecal", f"Appointment {number + 1}", "Room 2", wait=180)
        if number == 2:
            one.play(0, 1, "0,0.0,64.0")
        one.rssi(-64 - 3 * number)
    # One that the phone no longer has, and a request that it never responds to.
    one.announce(30, category=1, flags=0x18)
    one.ask(struct.pack("<BHBI", 0x12, CP, 0, 30) + b"\x00\x01\x40\x00", struct.pack("<BBHB", 1, 0x12, CP, 0xA2), 180)
    one.announce(30, category=1, change=2)
    one.wait(900)
    one.sent(struct.pack("<BH", 0x0A, 0x11))
    one.wait(3200)
    one.disconnect(0x08)
    one.wait(5)
    one.command(0x200A, b"\1")
    one.wait(2500)
    one.handle = 0x41
    one.connect(interval=12)
    one.wait(310)
    one.encrypt()
    one.service_changed()
    one.discover(thorough=False, wait=30)
    one.subscribe(wait=30)
    one.announce(31, category=4)
    one.wait(1)
    one.fetch(31, "com.apple.MobileSMS", "Mum", "See you!", wait=30)
    one.play(2, 2, "Feeling Good")
    one.play(0, 1, "1,1.0,3.0")
    one.wait(2400)
    one.disconnect(0x13)
    return one


def large(records: int) -> Capture:
    """This many packets of a busy day."""
    one = Capture()
    one.begin()
    one.connect()
    one.wait(300)
    one.encrypt()
    one.service_changed()
    one.discover(thorough=False)
    one.subscribe()
    uid = 0
    while len(one.records) < records:
        uid += 1
        one.wait(400)
        one.announce(uid, category=uid % 12)
        one.wait(2)
        one.fetch(uid, "com.apple.mobilemail", f"Subject {uid}", "Lorem ipsum dolor sit amet. " * (uid % 30 + 1), wait=60)
        if uid % 9 == 0:
            one.play(2, 2, f"Track {uid}")
            one.play(0, 1, f"{uid % 2},1.0,{uid}.0")
    del one.records[records:]
    return one


def hostile(links: int) -> Capture:
    """This many links that begin and never end, names that look like markup, times that run backwards, cut PDUs."""
    one = Capture()
    one.begin()
    for number in range(links):
        one.wait(0.4)
        one.handle = number % 0xEFF
        one.connect(peer=f"C0{number:010X}")
    one.discover(thorough=True)
    one.subscribe()
    for number, text in enumerate(["</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "\u2028\u2029", "]]>", "\0\x1b[31m", "‮evil", "__proto__", "constructor", "x" * 60_000]):
        one.announce(number)
        one.fetch(number, text[:200], text, text)
    one.wait(-3_600_000)
    one.received(b"\x1b\x21")
    one.received(b"\xff" * 30)
    one.frame(RECEIVED, 4, b"")
    one.packet(EVENT, b"\x3e\x13\x01")
    one.wait(1e12)
    one.disconnect()
    return one

