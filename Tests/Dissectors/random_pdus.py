# SPDX-License-Identifier: GPL-3.0-or-later
"""Random ATT PDUs from a seed: every opcode with ordinary, shortest, longest and malformed bodies
(Core Specification Vol 3 Part F, 3.4)."""

import random
import struct

MTU = 517


def octets(chance, count):
    return chance.randbytes(count)


def handle(chance):
    return struct.pack("<H", chance.choice((1, chance.randint(1, 0x30), chance.randint(1, 0xFFFF))))


def handles(chance):
    return b"".join(sorted((handle(chance), handle(chance)), key=lambda h: h[::-1]))


def number(chance, last=0xFFFF):
    return struct.pack("<H", chance.randint(0, last))


def uuid(chance):
    return octets(chance, chance.choice((2, 16)))


def value(chance, room):
    """A value of no octets, some, or as many as possible."""
    return octets(chance, chance.choice((0, 1, chance.randint(0, min(room, 40)), room)))


def entries(chance, least, most):
    """A length, and entries of that length, which begin with a handle."""
    width = chance.choice((least, chance.randint(least, 24), min(255, most)))
    count = chance.choice((1, chance.randint(1, 4), (MTU - 2) // width))
    return bytes([width]) + octets(chance, width * count)


def information(chance):
    kind = chance.choice((1, 2))
    width = (4, 18)[kind - 1]
    return bytes([kind]) + octets(chance, width * chance.choice((1, 3, (MTU - 2) // width)))


def lengths(chance, with_handle):
    """Values with their lengths before them; in notifications, each has a handle before that."""
    whole = b""
    for _ in range(chance.choice((1, 2, 5))):
        one = octets(chance, chance.choice((0, 1, 20, 90)))
        whole += (handle(chance) if with_handle else b"") + struct.pack("<H", len(one)) + one
    return whole


REQUESTS = (0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20)

#: Makes the body of each opcode.
BODIES = {
    0x01: lambda c: bytes([c.choice(REQUESTS)]) + handle(c) + bytes([c.choice(
        (*range(0x01, 0x15), 0x80, 0xA0, 0xFC, 0xFF))]),
    0x02: number,
    0x03: number,
    0x04: handles,
    0x05: information,
    0x06: lambda c: handles(c) + octets(c, 2) + value(c, MTU - 7),
    0x07: lambda c: b"".join(handles(c) for _ in range(c.choice((1, 3, (MTU - 1) // 4)))),
    0x08: lambda c: handles(c) + uuid(c),
    0x09: lambda c: entries(c, 2, 255),
    0x0A: handle,
    0x0B: lambda c: value(c, MTU - 1),
    0x0C: lambda c: handle(c) + number(c, 600),
    0x0D: lambda c: value(c, MTU - 1),
    0x0E: lambda c: b"".join(handle(c) for _ in range(c.choice((2, 5, (MTU - 1) // 2)))),
    0x0F: lambda c: value(c, MTU - 1),
    0x10: lambda c: handles(c) + uuid(c),
    0x11: lambda c: entries(c, 4, 255),
    0x12: lambda c: handle(c) + value(c, MTU - 3),
    0x13: lambda c: b"",
    0x16: lambda c: handle(c) + number(c, 600) + value(c, MTU - 5),
    0x17: lambda c: handle(c) + number(c, 600) + value(c, MTU - 5),
    0x18: lambda c: bytes([c.choice((0, 1))]),
    0x19: lambda c: b"",
    0x1B: lambda c: handle(c) + value(c, MTU - 3),
    0x1D: lambda c: handle(c) + value(c, MTU - 3),
    0x1E: lambda c: b"",
    0x20: lambda c: b"".join(handle(c) for _ in range(c.choice((2, 5, (MTU - 1) // 2)))),
    0x21: lambda c: lengths(c, with_handle=False),
    0x23: lambda c: lengths(c, with_handle=True),
    0x52: lambda c: handle(c) + value(c, MTU - 3),
    0xD2: lambda c: handle(c) + value(c, MTU - 15) + octets(c, 12),
}

#: The opcodes that go to a server; the others come from one.
TO_SERVER = {*REQUESTS, 0x1E, 0x52, 0xD2}


def well_formed(chance, opcode):
    return bytes([opcode]) + BODIES[opcode](chance)


def malformed(chance, opcode):
    """A PDU that is cut, or has octets changed or added; it may be well formed by chance."""
    pdu = bytearray(well_formed(chance, opcode)[:60])
    kind = chance.choice(("cut", "cut", "longer", "changed", "alone"))
    if kind == "cut" and len(pdu) > 1:
        del pdu[chance.randint(1, len(pdu) - 1):]
    elif kind == "longer":
        pdu += octets(chance, chance.randint(1, 3))
    elif kind == "alone":
        del pdu[1:]
    elif len(pdu) > 1:
        for _ in range(chance.randint(1, 3)):
            pdu[chance.randrange(1, len(pdu))] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
    if opcode in (0x09, 0x11) and len(pdu) > 1:
        # If entries are too short for a handle, tshark takes what follows them for one.
        pdu[1] = max(pdu[1], 2 if opcode == 0x09 else 4)
    return bytes(pdu)


def unknown(chance):
    opcode = chance.choice([n for n in range(256) if n not in BODIES])
    return bytes([opcode]) + value(chance, 40)


def noise(seed, count, broken):
    """`count` PDUs of every opcode (sent by the board?, PDU), in random order, both ways."""
    chance = random.Random(seed)
    make = malformed if broken else well_formed
    pdus = [make(chance, opcode) for opcode in sorted(BODIES) for _ in range(count)]
    pdus += [unknown(chance) for _ in range(count)]
    chance.shuffle(pdus)
    return [(chance.random() < 0.5, pdu) for pdu in pdus]


#: Requests and their responses.
RESPONSES = {0x02: 0x03, 0x04: 0x05, 0x06: 0x07, 0x08: 0x09, 0x0A: 0x0B, 0x0C: 0x0D, 0x0E: 0x0F,
             0x10: 0x11, 0x12: 0x13, 0x16: 0x17, 0x18: 0x19, 0x20: 0x21, 0x1D: 0x1E}
ALONE = (0x1B, 0x23, 0x52, 0xD2)


def talk(seed, count):
    """A client and a server in proper sequence: every request gets its response, or an error. Which of them
    is the board depends on the seed."""
    chance = random.Random(seed)
    board_asks = chance.random() < 0.5
    pdus = []
    asked = [opcode for opcode in (*RESPONSES, *ALONE) for _ in range(count)]
    chance.shuffle(asked)
    for opcode in asked:
        from_client = opcode in TO_SERVER
        pdu = well_formed(chance, opcode)
        pdus.append((from_client == board_asks, pdu))
        if opcode in ALONE:
            continue
        if opcode != 0x1D and chance.random() < 0.2:
            answer = bytes([0x01, opcode]) + (pdu[1:3] + b"\1\0")[:2] + b"\x0A"
        else:
            answer = well_formed(chance, RESPONSES[opcode])
        pdus.append((from_client != board_asks, answer))
    return pdus
