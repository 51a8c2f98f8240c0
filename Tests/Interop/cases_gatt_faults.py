# SPDX-License-Identifier: GPL-3.0-or-later
"""A device that errs in the middle of discovery: what it hides is said, everything else is found."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pdus
from gatttool import device, events, gatt
from harness import Failure, check
from odd_tree import check_tree
from room import Room, case

if TYPE_CHECKING:
    from link import Link

    Intercept = Callable[[Link, bytes], list[bytes] | None]

UNLIKELY, INSUFFICIENT_ENCRYPTION = 0x0E, 0x0F


def asked(pdu: bytes) -> tuple[int, int, int]:
    """Where a discovery request begins and ends, and for which type (0: for any)."""
    handles = pdus.handles_asked(pdu)
    if handles is None:
        return 0, 0, 0
    kind = int.from_bytes(pdu[5:7], "little") if pdu[0] != pdus.FIND_INFORMATION else 0
    return (*handles, kind)


def refusing(opcode: int, kind: int, bad: int, code: int, names: bool) -> Intercept:
    """Refuses every request for declarations of a kind whose answer would have to hold the one at `bad`.

    `names`: the error says which attribute it is, as it should; else where the request began.
    """

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        first, last, wanted = asked(pdu)
        if pdu[0] == opcode and wanted == kind and first <= bad <= last:
            return [pdus.error(opcode, bad if names else first, code)]
        return None

    return intercept


def both(*intercepts: Intercept) -> Intercept:
    def intercept(link: Link, pdu: bytes) -> list[bytes] | None:
        for part in intercepts:
            answer = part(link, pdu)
            if answer is not None:
                return answer
        return None

    return intercept


def unreadable(handle: int, code: int = INSUFFICIENT_ENCRYPTION) -> Intercept:
    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        return [pdus.error(pdu[0], handle, code)] if pdu[:3] == pdus.read(handle) else None

    return intercept


GROUP, TYPE, INFORMATION = pdus.READ_BY_GROUP, pdus.READ_BY_TYPE, pdus.FIND_INFORMATION

#: What the device does, and the values of the characteristics that stay hidden by it.
FAULTS: dict[str, tuple[Intercept, set[int]]] = {
    "services": (refusing(GROUP, pdus.PRIMARY, 0x0200, UNLIKELY, names=True), set()),
    "services-unnamed": (refusing(GROUP, pdus.PRIMARY, 0x0200, UNLIKELY, names=False), set()),
    "first-service": (refusing(GROUP, pdus.PRIMARY, 0x0001, UNLIKELY, names=True), set()),
    "included": (refusing(TYPE, pdus.INCLUDE, 0x0011, UNLIKELY, names=True), set()),
    "characteristics": (refusing(TYPE, pdus.CHARACTERISTIC, 0x0030, UNLIKELY, names=True), set()),
    "characteristics-hidden": (
        both(
            refusing(TYPE, pdus.CHARACTERISTIC, 0x0030, UNLIKELY, names=True),
            unreadable(0x0030),
        ),
        {0x0031},
    ),
    "descriptors": (refusing(INFORMATION, 0, 0x0038, UNLIKELY, names=True), set()),
    "no-groups": (
        lambda _link, pdu: [pdus.error(GROUP, 1, 6)] if pdu[0] == GROUP else None,
        set(),
    ),
}  # fmt: skip


@case("gatt-faults")
async def faults(room: Room) -> None:
    """Refused in the middle of each step of discovery: said with its place, gone round, and status 1."""

    async def one(part: Room, name: str) -> None:
        intercept, missing = FAULTS[name]
        peer = device(part, 23)
        peer.intercept = intercept
        outcome = await gatt(part, peer, "tree", "--format", "json")
        outcome.expect(1)
        found = events(outcome)
        said = [e for e in found if e["event"] == "fault"]
        check(said and all(e["error"] for e in said), f"no fault is told: {outcome.out!r}")
        check(len(said) <= 4, f"{len(said)} faults are told: {said[:5]}")
        check("tree: the device erred" in outcome.err, f"it says {outcome.err!r}")
        if name == "descriptors":
            # Nothing behind the refusal can be had by other means: what it hides is said.
            hidden = [e["unknown"] for e in said if "unknown" in e]
            check(any(h["start"] <= 0x38 <= h["end"] for h in hidden), f"it hides {hidden}")
            return
        if name == "no-groups":
            # Ends of services are not told then, and secondary ones are known where they are included.
            starts = {e["start"] for e in found if e["event"] == "service"}
            check(starts == {1, 0x10, 0x90, 0x100, 0x200, 0xFFF0}, f"the services are {starts}")
            return
        check_tree(found, missing)
        hidden = [e["unknown"]["start"] for e in said if "unknown" in e]
        check(len(hidden) == len(missing), f"it says that it misses {hidden}")
        strays = [a["handle"] for e in found for a in e.get("unassigned", ())]
        check(strays == ([0x31, 0x35, 0x38] if missing else []), f"unassigned: {strays}")

    await room.every(FAULTS, one)


def spoilt(answers: Callable[[bytes, int], list[bytes] | None]) -> Intercept:
    """Spoils the answer to the third request for declarations."""
    count = 0

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        nonlocal count
        if pdu[0] not in (GROUP, TYPE):
            return None
        count += 1
        return answers(pdu, asked(pdu)[0]) if count == 3 else None

    return intercept


NONSENSE: dict[str, Callable[[bytes, int], list[bytes] | None]] = {
    "backwards": lambda pdu, first: [
        bytes([pdu[0] + 1, 6]) + struct.pack("<HHH", first + 1, first, 0x1800)
        if pdu[0] == GROUP
        else bytes([TYPE + 1, 7]) + struct.pack("<HBHH", max(first - 1, 1), 2, first, 0x2A00)
    ],
    "before": lambda pdu, _: [
        bytes([pdu[0] + 1, 6]) + struct.pack("<HHH", 1, 2, 0x1800)
        if pdu[0] == GROUP
        else bytes([TYPE + 1, 7]) + struct.pack("<HBHH", 1, 2, 3, 0x2A00)
    ],
    "empty": lambda pdu, _: [bytes([pdu[0] + 1, 6])],
    "odd-length": lambda pdu, _: [bytes([pdu[0] + 1, 6, 1, 2, 3])],
    "zero-length": lambda pdu, _: [bytes([pdu[0] + 1, 0, 1, 2, 3])],
    "wrong-answer": lambda pdu, first: [pdus.error(pdu[0], first, 0xEE)],
}


@case("gatt-nonsense")
async def nonsense(room: Room) -> None:
    """Answers that make no sense are faults like others; no answer of theirs traps it, or turns it in circles."""

    async def one(part: Room, name: str) -> None:
        peer = device(part, 23)
        peer.intercept = spoilt(NONSENSE[name])
        outcome = await gatt(part, peer, "tree", "--format", "json")
        outcome.expect(1)
        check_tree(events(outcome))

    await room.every(NONSENSE, one)

    # One service that is told over and over, at handles that go up by one.
    def endless(_link: Link, pdu: bytes) -> list[bytes] | None:
        first, _, kind = asked(pdu)
        if pdu[0] == GROUP and kind == pdus.PRIMARY:
            end = min(first + 0x0FFF, 0xFFFF)
            return [bytes([GROUP + 1, 6]) + struct.pack("<HHH", first, end, 0x180F)]
        if pdu[0] == TYPE:
            return [bytes([TYPE + 1, 7]) + struct.pack("<HBHH", first, 2, first, 0x2A19)]
        return None

    peer = device(room, 23)
    peer.intercept = endless
    outcome = await gatt(room, peer, "tree", "--format", "json", "--timeout", "3", within=30)
    check(outcome.status in (1, 75), f"it ended with {outcome.status}")


@case("gatt-cut", seconds=90)
async def cut(room: Room) -> None:
    """The link ends in the middle, or the device falls silent: what was found is printed, then 69 or 75."""

    def after(count: int, act: Callable[[Any], None]) -> Intercept:
        def intercept(link: Link, pdu: bytes) -> list[bytes] | None:
            nonlocal count
            count -= pdu[0] in pdus.REQUESTS
            if count >= 0:
                return None
            act(link)
            return []

        return intercept

    async def one(part: Room, how: str) -> None:
        peer = device(part, 23)
        leaves = how == "leaves"
        peer.intercept = after(16, (lambda link: link.close()) if leaves else (lambda _link: None))
        outcome = await gatt(part, peer, "tree", "--format", "json", within=50)
        outcome.expect(69 if leaves else 75)
        services = [e for e in events(outcome) if e["event"] == "service"]
        check(len(services) >= 5, f"only {len(services)} services are printed")
        check(any(s.get("complete") is False for s in services), "all of them look complete")
        check(services[0].get("complete") is None, f"the first was: {services[0]}")
        wanted = "the device ended it" if leaves else "within 30 s"
        check(wanted in outcome.err, f"it says {outcome.err!r}")

    async with asyncio.TaskGroup() as group:
        group.create_task(room.every(["leaves", "silent"], one))

    # A time of its own is kept too.
    peer = device(room, 23)
    peer.intercept = lambda _link, _pdu: []
    outcome = await gatt(room, peer, "read", "0x0003", "--timeout", "1", within=8)
    if outcome.status != 75:
        raise Failure(f"--timeout: status {outcome.status}: {outcome.err!r}")
