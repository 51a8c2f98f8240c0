# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` and a device whose answers are refusals, lies or noise: what there is is printed, what
failed is said, by name, and the status tells."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pdus
from gatttool import Running, device, events, gatt
from harness import check, eventually
from odd_tree import check_tree
from room import Room, case

if TYPE_CHECKING:
    from collections.abc import Callable

    from link import Link

    Intercept = Callable[[Link, bytes], list[bytes] | None]

DISCOVERY = (pdus.READ_BY_GROUP, pdus.READ_BY_TYPE, pdus.FIND_INFORMATION, pdus.FIND_BY_TYPE_VALUE)

#: The names of the specification, and a part of what would help where something would.
ERRORS: dict[int, tuple[str, str]] = {
    0x01: ("Invalid Handle (0x01)", ""),
    0x02: ("Read Not Permitted (0x02)", ""),
    0x05: ("Insufficient Authentication (0x05)", "cannot be secured"),
    0x08: ("Insufficient Authorization (0x08)", "has to allow it"),
    0x0C: ("Encryption Key Size Too Short (0x0C)", "longer key"),
    0x0E: ("Unlikely Error (0x0E)", ""),
    0x0F: ("Insufficient Encryption (0x0F)", "cannot be secured"),
    0x11: ("Insufficient Resources (0x11)", ""),
    0x13: ("Value Not Allowed (0x13)", ""),
    0x77: ("Error 0x77", ""),
    0x81: ("Application Error 0x81", ""),
    0xFC: ("Write Request Rejected (0xFC)", ""),
    0xFF: ("Out of Range (0xFF)", ""),
}


@case("gatt-errors")
async def errors(room: Room) -> None:
    """Each ATT error by name, with what would help, and status 1, for reading, writing and subscribing."""

    async def one(part: Room, code: int) -> None:
        name, help_ = ERRORS[code]
        peer = device(part)
        peer.intercept = lambda _link, pdu: (
            [pdus.error(pdu[0], int.from_bytes(pdu[1:3], "little"), code)]
            if pdu[0] in (pdus.READ, pdus.WRITE)
            else None
        )
        commands = (["read", "0x0031"], ["write", "0x0023", "01"], ["subscribe", "0x0031"])
        for words in commands:
            refused = (await gatt(part, peer, *words)).expect(1)
            check(name in refused.err and help_ in refused.err, f"{words}: {refused.err!r}")
            check(len(refused.err.splitlines()) == 1, f"{words}: {refused.err!r}")
            check(not refused.out, f"{words} printed {refused.out!r}")

    await room.every(ERRORS, one, name=lambda code: f"{code:02x}")


@case("gatt-any-error")
async def any_error(room: Room) -> None:
    """Any one request of a discovery refused with any error: everything is found by other means."""
    #: Attribute Not Found is not among them: it says that there is nothing more.
    codes = [0x01, 0x02, 0x05, 0x06, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x80, 0xEE]
    peer = device(room, 23)
    asked = 0

    def count(_link: Link, pdu: bytes) -> list[bytes] | None:
        nonlocal asked
        asked += pdu[0] in DISCOVERY
        return None

    peer.intercept = count
    (await gatt(room, peer, "tree", "--format", "json")).expect(0)
    check(asked > 30, f"only {asked} requests")
    # Only a few of all pairs: each request at least once, each code with several.
    pairs = [(place, codes[(place + turn) % len(codes)]) for place in range(asked) for turn in (0, 5)]

    async def one(part: Room, pair: tuple[int, int]) -> None:
        place, code = pair
        refusing = device(part, 23)
        seen = -1
        refused = None

        def refuse(_link: Link, pdu: bytes) -> list[bytes] | None:
            nonlocal seen, refused
            seen += pdu[0] in DISCOVERY
            if seen != place or pdu[0] not in DISCOVERY or refused:
                return None
            refused = pdu
            return [pdus.error(pdu[0], int.from_bytes(pdu[1:3], "little"), code)]

        refusing.intercept = refuse
        outcome = await gatt(part, refusing, "tree", "--format", "json")
        found = events(outcome)
        kind = int.from_bytes(refused[5:7], "little") if refused else 0
        if kind == pdus.SECONDARY:
            # Known by their inclusion; a server may also say so that it has none.
            check(outcome.status in (0, 1), f"status {outcome.status}")
        else:
            outcome.expect(1)
            said = [e for e in found if e["event"] == "fault"]
            check(len(said) == 1 and "unknown" not in said[0], f"the faults are {said}")
        check_tree(found)

    await room.every(pairs, one, name=lambda pair: f"{pair[0]}-{pair[1]:02x}")


def blobs(answer: Callable[[int], bytes], size: int = 22) -> Intercept:
    """A long value at 0x0031: the first `size` bytes of it, and then what `answer` says at an offset."""

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[:3] == pdus.read(0x31):
            return [bytes([pdus.READ + 1]) + bytes(range(size))]
        if pdu[0] == pdus.READ_BLOB and pdu[1:3] == b"\x31\0":
            return [answer(int.from_bytes(pdu[3:5], "little"))]
        return None

    return intercept


def refusal(code: int) -> bytes:
    return pdus.error(pdus.READ_BLOB, 0x31, code)


def part(data: bytes) -> bytes:
    return bytes([pdus.READ_BLOB + 1]) + data


@case("gatt-long")
async def long(room: Room) -> None:
    """Values of just the MTU less one, ones that break off, that never end, that are longer than they may be."""
    full = bytes(range(22))
    #: What the device does; the value that is printed, whether it is whole, and a part of what is said.
    ways: dict[str, tuple[Intercept, bytes, str]] = {
        "not-long": (blobs(lambda _: refusal(0x0B)), full, ""),
        "invalid-offset": (blobs(lambda _: refusal(0x07)), full, ""),
        "empty": (blobs(lambda _: part(b"")), full, ""),
        "one-more": (blobs(lambda at: part(b"x" if at == 22 else b"")), full + b"x", ""),
        "no-blobs": (blobs(lambda _: refusal(0x06)), full, "Request Not Supported (0x06)"),
        "breaks-off": (
            blobs(lambda at: part(full) if at == 22 else refusal(0x0E)),
            full * 2,
            "behind its first 44 bytes: Unlikely Error (0x0E)",
        ),
        "other-answer": (blobs(lambda _: pdus.error(pdus.READ, 0x31, 1)), full, "no answer"),
        "endless": (blobs(lambda _: part(full)), (full * 30)[:512], ""),
        "too-much": (blobs(lambda at: part(b"y" * 60) if at == 22 else refusal(7), 40), b"", ""),
    }  # fmt: skip

    async def one(room: Room, name: str) -> None:
        intercept, value, said = ways[name]
        peer = device(room, 23)
        peer.intercept = intercept
        slow = name == "other-answer"  # an answer to something else is none: 30 s
        outcome = await gatt(room, peer, "read", "0x0031", within=40 if slow else 15)
        found = events(outcome)
        outcome.expect(75 if slow else 1 if said else 0)
        check(said in outcome.err, f"it says {outcome.err!r}")
        if name == "too-much":
            check(found[0]["value"].startswith(full.hex()), f"{found}")
            return
        check([e["value"] for e in found] == [value.hex()], f"it printed {found}")
        check(found[0].get("complete") is (False if said else None), f"{found}")

    await room.every(ways, one)


@case("gatt-by-type")
async def by_type(room: Room) -> None:
    """Reading and writing by type where Read By Type or Find Information is refused, or lies."""

    def on(opcode: int, answer: Callable[[bytes], bytes | None]) -> Intercept:
        def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
            instead = answer(pdu) if pdu[0] == opcode else None
            return None if instead is None else [instead]

        return intercept

    def level(pdu: bytes) -> bool:
        return pdu[5:7] == b"\x19\x2a"

    def entry(length: int, *values: bytes) -> bytes:
        return bytes([pdus.READ_BY_TYPE_RESPONSE, length]) + b"".join(values)

    #: Answers to the first request for the battery levels, or to all.
    ways: dict[str, Callable[[bytes, int], bytes | None]] = {
        "unnamed": lambda pdu, _: (
            pdus.error(pdu[0], int.from_bytes(pdu[1:3], "little"), 5)
            if int.from_bytes(pdu[1:3], "little") <= 0x211
            else None
        ),
        "not-supported": lambda pdu, _: pdus.error(pdu[0], 0, 6),
        "backwards": lambda _, place: entry(3, b"\x92\0W", b"\x91\0W") if place == 0 else None,
        "before": lambda pdu, place: entry(3, b"\x01\0W") if place == 1 else None,
        "zero-length": lambda _, place: entry(0, b"\x92\0W") if place == 0 else None,
        "changing-length": lambda _, place: entry(3, b"\x92\0W", b"\x21\x02XY") if place == 0 else None,
        "nothing": lambda _, place: entry(3) if place == 0 else None,
    }

    async def one(room: Room, name: str) -> None:
        place = -1

        def answer(pdu: bytes) -> bytes | None:
            nonlocal place
            if not level(pdu):
                return None
            place += 1
            return ways[name](pdu, place)

        peer = device(room, 23)
        peer.intercept = on(pdus.READ_BY_TYPE, answer)
        outcome = await gatt(room, peer, "read", "2A19")
        outcome.expect(1)
        values = {e["handle"]: e["value"] for e in events(outcome)}
        check(values == {0x92: "57", 0x221: "05"}, f"it printed {values}; {outcome.err!r}")
        check("reading 0x0211: Insufficient Authentication" in outcome.err, f"{outcome.err!r}")

    await room.every(ways, one)

    # A device that tells no types of attributes still tells those of values, in declarations.
    peer = device(room, 23)
    peer.intercept = on(pdus.FIND_INFORMATION, lambda pdu: pdus.error(pdu[0], 0, 6))
    (await gatt(room, peer, "write", "6E400002-B5A3-F393-E0A9-E50E24DCCA9E", "0102")).expect(0)
    check(peer.server.long == b"\x01\x02", f"the device has {peer.server.long.hex()}")
    # Services of a type, where the request for them is refused.
    peer.intercept = on(pdus.FIND_BY_TYPE_VALUE, lambda pdu: pdus.error(pdu[0], 1, 0x0E))
    outcome = (await gatt(room, peer, "primary", "180F")).expect(1)
    starts = [e["start"] for e in events(outcome) if e["event"] == "service"]
    check(starts == [0x90, 0x200], f"the services are at {starts}: {outcome.err!r}")


@case("gatt-noise")
async def noise(room: Room) -> None:
    """Notifications, indications and PDUs of no use in the middle: confirmed, and nothing is mixed up by them."""
    peer = device(room, 23)

    def chatter(link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[0] in DISCOVERY:
            link.send(b"\x1b\x31\0\x66\x08")  # a notification
            link.send(b"\x1d\x31\0\x66\x08")  # an indication
            link.send(b"\x1b\x31")  # one that is cut
            link.send(b"\x0b\x01")  # an answer to nothing
            link.send(b"\xff")
        return None

    peer.intercept = chatter
    outcome = (await gatt(room, peer, "tree", "--format", "json")).expect(0)
    check_tree(events(outcome))
    indications = sum(pdu[0] in DISCOVERY for pdu in peer.link.received)
    check(
        peer.link.confirmations() == indications,
        f"{peer.link.confirmations()} of {indications} indications are confirmed",
    )

    # An MTU that may not be; one that is larger than any.
    for offered, agreed in ((5, 23), (0xFFFF, 517)):
        peer.intercept = lambda _link, pdu, offered=offered: (
            [bytes([3]) + struct.pack("<H", offered)] if pdu[0] == pdus.MTU_REQUEST else None
        )
        found = events((await gatt(room, peer, "mtu")).expect(0))
        check(found[-1]["mtu"] == agreed, f"a device that offers {offered}: {found}")

    # A subscription that an earlier link left is not this command's: a script gets what it asked for.
    peer.intercept = lambda _link, _pdu: None
    run = await Running.start(room, peer, "subscribe", "0x0092", "-n", "1")
    await run.event("subscribed")
    peer.link.send(b"\x1b\x31\0\x66\x08")
    peer.link.send(b"\x1b\x92\0\x57")
    status, _ = await run.end()
    values = [e["handle"] for e in run.seen if e["event"] == "notification"]
    check(status == 0 and values == [0x92], f"{status}: {run.seen}")
    await eventually(lambda: peer.link.closed, "the link is still there")


@case("gatt-print")
async def print_(room: Room) -> None:
    """Values alone, for scripts: hexadecimal, text, or the bytes as they are."""
    peer = device(room)
    for form, words, out in (
        ("hex", ["read", "0x0092"], "57\n"),
        ("hex", ["read", "2A6E", "0x0038"], "6608\n4f662074686520e2809c726f6f6de2809d\n"),
        ("text", ["read", "0x0038"], "Of the “room”\n"),
        ("text", ["read", "2A00"], "odd ␛[31m one\n"),
        ("raw", ["read", "0x0038", "0x0092"], "Of the “room”W"),
    ):
        outcome = (await gatt(room, peer, *words, "--print", form)).expect(0)
        check(outcome.out == out, f"{form} {words}: {outcome.out!r}")
    partly = (await gatt(room, peer, "read", "2A19", "--print", "hex")).expect(1)
    check(partly.out == "57\n05\n" and "0x0211" in partly.err, f"{partly.out!r} {partly.err!r}")
    read = (await gatt(room, peer, "read", "0x0023", "--print", "hex")).expect(0).out.strip()
    (await gatt(room, peer, "write", "0x0023", read[2:])).expect(0)
    check(peer.server.long.hex() == read[2:], "what is read cannot be written")
    run: Any = room.spawn(_notify(peer))
    outcome = (await gatt(room, peer, "subscribe", "2A6E", "-n", "2", "--print", "hex")).expect(0)
    check(outcome.out == "6608\n0000\n", f"subscribe: {outcome.out!r}")
    del run


async def _notify(peer: Any) -> None:
    """Two values of the temperature to the next link, once it is subscribed."""
    before = len(peer.links)
    await eventually(lambda: len(peer.links) > before, "nobody comes")
    await eventually(lambda: peer.subscribed(peer.server.temperature) == 1, "nobody subscribes")
    for value in (b"\x66\x08", b"\x00\x00"):
        peer.link.notify(peer.server.temperature.handle, value)
