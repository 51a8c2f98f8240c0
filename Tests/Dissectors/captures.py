# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of random PDUs, made without ancsd, in a file of each format that `ancsd decode` reads."""

import os
import random
import struct
import sys

import random_pdus

sys.path.append(os.path.join(os.path.dirname(__file__), ".."))
from Harness.btsnoop import EPOCH, records  # noqa: E402

NEW_INDEX, EVENT, ACL_TX, ACL_RX, OPEN_INDEX = 0, 3, 4, 5, 8
OTHER_SERVER = 0x40
BEGINNING = 1_795_241_100_000_000  # microseconds since 1970


def acl(handle, data, sent, first=True):
    boundary = (0b00 if sent else 0b10) if first else 0b01
    return struct.pack("<HH", handle | boundary << 12, len(data)) + data


def frame(pdu):
    """An L2CAP frame on the channel of ATT."""
    return struct.pack("<HH", len(pdu), 4) + pdu


def connected(handle, peer):
    return (bytes([0x3E, 19, 0x01, 0x00]) + struct.pack("<HBB", handle, 1, 1)
            + peer.to_bytes(6, "little") + struct.pack("<HHHB", 24, 0, 500, 0))


class Traffic:
    """Packets (microseconds, adapter, monitor opcode, bytes) in the order of their times."""

    def __init__(self):
        self.packets = []
        self.adapter = 0
        self.time = BEGINNING
        self.pdus = 0

    def add(self, opcode, data):
        self.time += 1000
        self.packets.append((self.time, self.adapter, opcode, data))

    def begin(self, adapter):
        self.adapter = adapter
        self.add(NEW_INDEX, bytes([0, 0]) + adapter.to_bytes(6, "little") + b"hci\0\0\0\0\0")
        self.add(OPEN_INDEX, b"")


def crc24(pdu, state):
    """The CRC of the LE link layer (Core Specification Vol 6 Part B, 3.1.1), in the order of transmission."""
    for byte in pdu:
        for bit in range(8):
            feedback = state >> 23 ^ byte >> bit & 1
            state = (state << 1 & 0xFFFFFF) ^ (0x00065B if feedback else 0)
    return bytes(int(f"{state >> shift & 0xFF:08b}"[::-1], 2) for shift in (16, 8, 0))


class Sniffer:
    """One connection as a sniffer hears it: packets (microseconds, direction, flags, bytes).
    Directions are 0 (advertising), 2 (from the central) and 3 (from the peripheral)."""

    # The access address and the CRC's initial value: of advertising, and of the connection.
    ADVERTISING, CONNECTION = (0x8E89BED6, 0x555555), (0x50655D57, 0x17B3A2)

    def __init__(self):
        self.packets = []
        self.pdus = 0
        self.time = BEGINNING
        self.sequence = {2: 0, 3: 0}
        central, board = bytes.fromhex("665544332211"), bytes.fromhex("010203040506")
        self.add(0, 0x40, board + bytes.fromhex("020106"))
        address, initial = self.CONNECTION
        self.add(0, 0xC5, central + board + struct.pack("<I", address)
                 + initial.to_bytes(3, "little") + struct.pack("<BHHHH", 2, 5, 24, 0, 500)
                 + bytes.fromhex("ffffffff1f25"))

    def add(self, direction, header, payload, answers=False):
        # A response follows after 150 us; other packets are in a connection event of their own.
        self.time += 150 + self.length if answers else 30_000
        pdu = bytes([header, len(payload)]) + payload
        address, initial = self.CONNECTION if direction else self.ADVERTISING
        packet = struct.pack("<I", address) + pdu + crc24(pdu, initial)
        self.length = 8 * (1 + len(packet))
        self.packets.append((self.time, direction, packet))

    def data(self, direction, kind, payload):
        """Adds a data PDU, and the empty PDU with which the other side responds, or the central polls."""
        def send(direction, kind, payload, answers):
            header = kind | self.sequence[direction] << 3
            self.sequence[direction] ^= 1
            self.add(direction, header, payload, answers)
        if direction == 3:
            send(2, 1, b"", False)
        send(direction, kind, payload, direction == 3)
        if direction == 2:
            send(3, 1, b"", True)

    def pdu(self, from_board, pdu, step=27):
        data = frame(pdu)
        for start in range(0, len(data), step):
            self.data(3 if from_board else 2, 1 if start else 2, data[start:start + step])
        self.pdus += 1

    def pcap(self, link_type):
        return pcap_file(link_type, (
            (time, (self.remarks(direction) if link_type == 256 else b"") + packet)
            for time, direction, packet in self.packets))

    @staticmethod
    def remarks(direction):
        """The header of link type 256: whitening off, address valid, CRC checked and right."""
        return struct.pack("<BbbBIH", 5 if direction else 0, -40, -90, 0, 0, 0x0C11 | direction << 7)


def of_sniffer(seed):
    """A client and a server, as a sniffer hears them: every request gets a response."""
    sniffer = Sniffer()
    for from_board, pdu in random_pdus.talk(seed, 12):
        sniffer.pdu(from_board, pdu)
    sniffer.data(2, 3, b"\x02\x13")
    return sniffer


def fragments(chance, handle, sent, pdu, loses):
    """The ACL packets of a PDU, and whether all are there: its frame may lose the first or the last."""
    data = frame(pdu)
    # tshark needs the header of a frame in its first packet.
    step = chance.choice((len(data), 27, chance.randint(4, 60)))
    parts = [acl(handle, data[start:start + step], sent, first=start == 0)
             for start in range(0, len(data), step)]
    lost = loses and len(parts) > 1 and chance.random() < 0.2
    if lost:
        parts.pop(chance.choice((0, -1)))
    return parts, not lost


def of_noise(seed, broken=False, loses=False, adapters=2):
    """Random PDUs on three links of each adapter at once, in fragments in random order."""
    chance = random.Random(seed)
    traffic = Traffic()
    streams = []  # one direction of one link: adapter, opcode, and packets in their order
    for adapter in range(adapters):
        traffic.begin(adapter)
        for handle in (0x0000, 0x0040, 0x0EFF):
            traffic.add(EVENT, connected(handle, 0xC00000000000 + handle))
            both = {True: [], False: []}
            for sent, pdu in random_pdus.noise(chance.random(), 2, broken):
                parts, whole = fragments(chance, handle, sent, pdu, loses)
                both[sent] += parts
                traffic.pdus += whole
            streams += [(adapter, ACL_TX, both[True]), (adapter, ACL_RX, both[False])]
    while streams := [stream for stream in streams if stream[2]]:
        traffic.adapter, opcode, packets = chance.choice(streams)
        traffic.add(opcode, packets.pop(0))
    return traffic


def by_server(path):
    """A monitor capture with each adapter as two: PDUs about the board's own server move to the second.
    tshark takes the servers of both ends of a link for one: it pairs requests to one with responses from
    the other, and mixes up the names of their attributes."""
    traffic = Traffic()
    pieces = {}
    with open(path, "rb") as file:
        packets = [(r.time, r.adapter, r.opcode, r.data) for r in records(file.read())]
    for traffic.time, adapter, opcode, data in packets:
        if opcode not in (ACL_TX, ACL_RX):
            for traffic.adapter in (adapter, adapter ^ OTHER_SERVER):
                traffic.add(opcode, data)
            continue
        head = struct.unpack_from("<H", data)[0]
        stream = (adapter, head & 0xFFF, opcode)
        if head >> 12 & 0b11 != 0b01:
            pieces[stream] = b""
        whole = pieces[stream] = pieces.get(stream, b"") + data[4:]
        if len(whole) < 4 or len(whole) < 4 + struct.unpack_from("<H", whole)[0]:
            continue
        sent = opcode == ACL_TX
        channel, pdu = struct.unpack_from("<H", whole, 2)[0], whole[4:]
        moved = channel == 4 and pdu and sent != (pdu[0] in random_pdus.TO_SERVER)
        traffic.adapter = adapter ^ (OTHER_SERVER if moved else 0)
        traffic.add(opcode, acl(head & 0xFFF, whole, sent))
    return traffic


# Files

def is_hci(packet):
    return packet[2] in (EVENT, ACL_TX, ACL_RX)


def received(packet):
    return packet[2] != ACL_TX


def btsnoop(traffic, datalink=2001):
    out = [b"btsnoop\0" + struct.pack(">II", 1, datalink)]
    for packet in traffic.packets:
        time, adapter, opcode, data = packet
        if datalink == 2001:
            flags = adapter << 16 | opcode
        elif is_hci(packet):
            flags = (1 if received(packet) else 0) | (2 if opcode == EVENT else 0)
        else:
            continue
        out.append(struct.pack(">IIIIq", len(data), len(data), flags, 0, time + EPOCH))
        out.append(data)
    return b"".join(out)


def monitor_pcap(traffic):
    """Linktype 254: the adapter and the opcode of the monitor."""
    return pcap_file(254, ((packet[0], struct.pack(">HH", packet[1], packet[2]) + packet[3]) for packet in traffic.packets))


def pcap_file(link_type, packets):
    """A pcap file of packets: microseconds and bytes."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)]
    for time, data in packets:
        out.append(struct.pack("<IIII", *divmod(time, 1_000_000), len(data), len(data)) + data)
    return b"".join(out)


def pcapng(traffic):
    """Linktype 201: H4 with a direction."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(">I", len(body) + 12)
        return struct.pack(">I", kind) + length + body + length

    out = [block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1)), block(1, struct.pack(">HHI", 201, 0, 65535))]
    for packet in filter(is_hci, traffic.packets):
        data = struct.pack(">I", received(packet)) + bytes([4 if packet[2] == EVENT else 2]) + packet[3]
        head = struct.pack(">IIIII", 0, packet[0] >> 32, packet[0] & 0xFFFFFFFF, len(data), len(data))
        flags = struct.pack(">HHIHH", 2, 4, 1 if received(packet) else 2, 0, 0)
        out.append(block(6, head + data + bytes(-len(data) % 4) + flags))
    return b"".join(out)


def packetlogger(traffic):
    """Apple's format, without notes: they would be frames for tshark."""
    def record(kind, time, data):
        return struct.pack("<IIIB", len(data) + 9, *divmod(time, 1_000_000), kind) + data

    kinds = {EVENT: 1, ACL_TX: 2, ACL_RX: 3}
    return b"".join(record(kinds[packet[2]], packet[0], packet[3])
                    for packet in filter(is_hci, traffic.packets))


#: The files by name: what makes them of traffic. All but the monitor's have packets of one adapter, without its number.
FILES = {
    "monitor.btsnoop": btsnoop,
    "unencapsulated.btsnoop": lambda traffic: btsnoop(traffic, 1001),
    "monitor.pcap": monitor_pcap,
    "h4-direction.pcapng": pcapng,
    "little.pklg": packetlogger,
}
