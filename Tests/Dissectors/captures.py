# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures made without ancsd: the transcripts of Tests/Vectors/att-gatt.json as HCI traffic, in every
kind of file that `ancsd decode` reads."""

import json
import struct

NEW_INDEX, EVENT, ACL_TX, ACL_RX, OPEN_INDEX = 0, 3, 4, 5, 8
BTSNOOP_EPOCH = 0x00DCDDB30F2F8000
BEGINNING = 1_795_241_100_000_000  # microseconds since 1970


def transcripts(path):
    """Name and PDUs of each transcript; a PDU is (sent by the board?, bytes)."""
    with open(path) as file:
        for test in json.load(file)["tests"]:
            pdus = [(p["dir"] == "tx", bytes.fromhex(p["hex"])) for p in test["pdus"]]
            yield test["name"], [p for p in pdus if p[1]]


def acl(handle, data, sent, first=True):
    boundary = (0b00 if sent else 0b10) if first else 0b01
    return struct.pack("<HH", handle | boundary << 12, len(data)) + data


def frame(pdu, channel=4):
    return struct.pack("<HH", len(pdu), channel) + pdu


def connected(handle, peer):
    return (bytes([0x3E, 19, 0x01, 0x00]) + struct.pack("<HBB", handle, 1, 1)
            + peer.to_bytes(6, "little") + struct.pack("<HHHB", 24, 0, 500, 0))


def disconnected(handle):
    return bytes([0x05, 4, 0x00]) + struct.pack("<HB", handle, 0x13)


class Traffic:
    """Packets (microseconds, adapter, monitor opcode, bytes) in the order of their times."""

    def __init__(self, fragment=None):
        self.packets = []
        self.adapter = 0
        self.time = BEGINNING
        self.fragment = fragment
        self.pdus = 0

    def add(self, opcode, data):
        self.time += 1000
        self.packets.append((self.time, self.adapter, opcode, data))

    def begin(self, adapter):
        self.adapter = adapter
        self.add(NEW_INDEX, bytes([0, 0]) + adapter.to_bytes(6, "little") + b"hci\0\0\0\0\0")
        self.add(OPEN_INDEX, b"")

    def pdu(self, handle, sent, pdu):
        data = frame(pdu)
        step = self.fragment or len(data)
        for start in range(0, len(data), step):
            part = acl(handle, data[start:start + step], sent, first=start == 0)
            self.add(ACL_TX if sent else ACL_RX, part)
        self.pdus += 1

    def talk(self, handle, peer, pdus):
        self.add(EVENT, connected(handle, peer))
        for sent, pdu in pdus:
            self.pdu(handle, sent, pdu)
        self.add(EVENT, disconnected(handle))


def of_transcripts(path, fragment=None, adapters=None):
    """Every transcript as a connection of its own, one after the other; each on an adapter of its own,
    since the others' databases are not its, or on the first of them all (`adapters=1`)."""
    traffic = Traffic(fragment)
    for number, (_, pdus) in enumerate(transcripts(path)):
        if adapters is None or number < adapters:
            traffic.begin(number)
        traffic.talk(0, 0xC00000000000 + number, pdus)
    return traffic


# Files

def is_hci(packet):
    return packet[2] in (EVENT, ACL_TX, ACL_RX)


def h4(packet):
    return bytes([4 if packet[2] == EVENT else 2]) + packet[3]


def received(packet):
    return packet[2] != ACL_TX


def btsnoop(traffic, datalink):
    out = [b"btsnoop\0" + struct.pack(">II", 1, datalink)]
    for packet in traffic.packets:
        time, adapter, opcode, data = packet
        if datalink == 2001:
            flags = adapter << 16 | opcode
        elif not is_hci(packet):
            continue
        else:
            flags = (1 if received(packet) else 0) | (2 if opcode == EVENT else 0)
            data = h4(packet) if datalink == 1002 else data
        out.append(struct.pack(">IIIIq", len(data), len(data), flags, 0, time + BTSNOOP_EPOCH))
        out.append(data)
    return b"".join(out)


def link_packet(packet, link_type):
    if link_type == 187:
        return h4(packet)
    if link_type == 201:
        return struct.pack(">I", 1 if received(packet) else 0) + h4(packet)
    return struct.pack(">HH", packet[1], packet[2]) + packet[3]


def pcap(traffic, link_type, order="<", nanoseconds=False):
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)]
    for packet in traffic.packets:
        if link_type != 254 and not is_hci(packet):
            continue
        data = link_packet(packet, link_type)
        seconds, part = divmod(packet[0], 1_000_000)
        part = part * 1000 if nanoseconds else part
        out.append(struct.pack(order + "IIII", seconds, part, len(data), len(data)) + data)
    return b"".join(out)


def pcapng(traffic, link_type, order="<"):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    out = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)),
           block(1, struct.pack(order + "HHI", link_type, 0, 65535))]
    for packet in traffic.packets:
        if link_type != 254 and not is_hci(packet):
            continue
        data = link_packet(packet, link_type)
        head = struct.pack(order + "IIIII", 0, packet[0] >> 32, packet[0] & 0xFFFFFFFF,
                           len(data), len(data))
        flags = struct.pack(order + "HHIHH", 2, 4, 1 if received(packet) else 2, 0, 0)
        out.append(block(6, head + data + bytes(-len(data) % 4) + flags))
    return b"".join(out)


def all_files(vectors):
    """Name, suffix, bytes and number of PDUs of every capture."""
    whole = of_transcripts(vectors)
    pieces = of_transcripts(vectors, fragment=13)
    for name, suffix, content in (
            ("monitor", "btsnoop", btsnoop(whole, 2001)),
            ("monitor-fragments", "btsnoop", btsnoop(pieces, 2001)),
            ("uart", "btsnoop", btsnoop(pieces, 1002)),
            ("unencapsulated", "btsnoop", btsnoop(whole, 1001)),
            ("h4", "pcap", pcap(whole, 187)),
            ("h4-direction", "pcap", pcap(pieces, 201, ">")),
            ("monitor", "pcap", pcap(whole, 254, "<", nanoseconds=True)),
            ("h4", "pcapng", pcapng(whole, 187)),
            ("monitor", "pcapng", pcapng(pieces, 254, ">"))):
        yield name, suffix, content, whole.pdus
