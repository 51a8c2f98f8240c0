# SPDX-License-Identifier: GPL-3.0-or-later
"""A device that fails during discovery: what it hides is named, everything else is found."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from Harness import att
from Harness.case import case, check
from Harness.odd_device import check_tree

from .link import Link
from .peers import Intercept, ignore
from .testbed import Testbed

GROUP, TYPE, INFORMATION = att.READ_BY_GROUP, att.READ_BY_TYPE, att.FIND_INFORMATION


def refuse(opcode: int, kind: int, handle: int, named: bool = True) -> Intercept:
    """Refuses every request for declarations of a kind whose response would have to include the one at `handle`. If

    `named`, the error names that attribute, as it should; otherwise the start of the request.
    """

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[0] == opcode and att.searched_type(pdu) == kind:
            first, last = att.handle_range(pdu) or (0, 0)
            if first <= handle <= last:
                return [att.error(opcode, handle if named else first, att.UNLIKELY)]
        return None

    return intercept


def hide_characteristic(link: Link, pdu: bytes) -> Sequence[bytes] | None:
    """Refuses to report the declaration at 0x0030 by its type, and to read it."""
    if pdu[:3] == att.read(0x30):
        return [att.refusal(pdu, att.INSUFFICIENT_ENCRYPTION)]
    return refuse(TYPE, att.CHARACTERISTIC, 0x0030)(link, pdu)


#: What the device does, and the characteristics that it hides so, by their values' handles.
FAULTS: dict[str, tuple[Intercept, set[int]]] = {
    "services": (refuse(GROUP, att.PRIMARY, 0x0200), set()),
    "services-unnamed": (refuse(GROUP, att.PRIMARY, 0x0200, named=False), set()),
    "first-service": (refuse(GROUP, att.PRIMARY, 0x0001), set()),
    "included": (refuse(TYPE, att.INCLUDE, 0x0011), set()),
    "characteristics": (refuse(TYPE, att.CHARACTERISTIC, 0x0030), set()),
    "characteristics-hidden": (hide_characteristic, {0x0031}),
    "descriptors": (refuse(INFORMATION, 0, 0x0038), set()),
    "no-groups": (lambda _link, pdu: [att.error(GROUP, 1, 6)] if pdu[0] == GROUP else None, set()),
}


@case("gatt-faults")
async def faults(bed: Testbed) -> None:
    """A refusal in the middle of each step of discovery: named with its place, worked around, status 1."""

    async def one(part: Testbed, name: str) -> None:
        device = part.device(23)
        device.intercept, missing = FAULTS[name]
        outcome = (await part.gatt(device, "tree", "--format", "json")).expect(1)
        found = outcome.objects
        said = [e for e in found if e["event"] == "fault"]
        check(said and all(e["error"] for e in said), f"no fault is printed: {outcome.out!r}")
        check(len(said) <= 4, f"{len(said)} faults are printed: {said[:5]}")
        check("tree: the device returned" in outcome.err, f"it says {outcome.err!r}")
        hidden = [e["unknown"] for e in said if "unknown" in e]
        if name == "descriptors":
            # There are no other means of finding what the refusal hides.
            check(any(h["start"] <= 0x38 <= h["end"] for h in hidden), f"it hides {hidden}")
            return
        if name == "no-groups":
            # Then the ends of services are not known, and secondary services only if they are included.
            starts = {e["start"] for e in found if e["event"] == "service"}
            check(starts == {1, 0x10, 0x90, 0x100, 0x200, 0xFFF0}, f"the services are {starts}")
            return
        check_tree(found, missing)
        check(len(hidden) == len(missing), f"it says that {hidden} is missing")
        strays = [a["handle"] for e in found for a in e.get("unassigned", ())]
        check(strays == ([0x31, 0x35, 0x38] if missing else []), f"unassigned: {strays}")

    await bed.every(FAULTS, one)


def spoil_third(response: Callable[[bytes, int], bytes]) -> Intercept:
    """Responds to the third request for declarations as told, given it and its first handle."""
    count = 0

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        nonlocal count
        if pdu[0] not in (GROUP, TYPE):
            return None
        count += 1
        return [response(pdu, att.first_handle(pdu))] if count == 3 else None

    return intercept


def service(start: int, end: int, kind: int = 0x1800) -> bytes:
    return bytes([GROUP + 1, 6]) + struct.pack("<HHH", start, end, kind)


def characteristic(declaration: int, value: int, kind: int = 0x2A00) -> bytes:
    return bytes([TYPE + 1, 7]) + struct.pack("<HBHH", declaration, 2, value, kind)


#: Responses to a request for declarations, given it and its first handle.
NONSENSE: dict[str, Callable[[bytes, int], bytes]] = {
    "backwards": lambda pdu, first: (
        service(first + 1, first) if pdu[0] == GROUP else characteristic(max(first - 1, 1), first)
    ),
    "before": lambda pdu, _: service(1, 2) if pdu[0] == GROUP else characteristic(1, 3),
    "empty": lambda pdu, _: bytes([pdu[0] + 1, 6]),
    "odd-length": lambda pdu, _: bytes([pdu[0] + 1, 6, 1, 2, 3]),
    "zero-length": lambda pdu, _: bytes([pdu[0] + 1, 0, 1, 2, 3]),
    "wrong-answer": lambda pdu, first: att.error(pdu[0], first, 0xEE),
}


@case("gatt-nonsense")
async def nonsense(bed: Testbed) -> None:
    """Responses that make no sense are faults like others: no trap, and no endless loop."""

    async def one(part: Testbed, name: str) -> None:
        device = part.device(23)
        device.intercept = spoil_third(NONSENSE[name])
        outcome = (await part.gatt(device, "tree", "--format", "json")).expect(1)
        check_tree(outcome.objects)

    await bed.every(NONSENSE, one)

    # The same service over and over, at handles that go up.
    def endless(_link: Link, pdu: bytes) -> list[bytes] | None:
        first = att.first_handle(pdu)
        if pdu[0] == GROUP and att.searched_type(pdu) == att.PRIMARY:
            return [service(first, min(first + 0x0FFF, 0xFFFF), 0x180F)]
        return [characteristic(first, first, 0x2A19)] if pdu[0] == TYPE else None

    device = bed.device(23)
    device.intercept = endless
    outcome = await bed.gatt(device, "tree", "--format", "json", "--timeout", "3", within=30)
    check(outcome.status in (1, 75), f"it ended with {outcome.status}")


@case("gatt-cut", seconds=90)
async def cut(bed: Testbed) -> None:
    """The link ends during discovery, or the device is silent: what was found is printed, then 69 or 75."""

    async def one(part: Testbed, leaves: bool) -> None:
        device = part.device(23)

        def intercept(link: Link, _pdu: bytes) -> list[bytes] | None:
            if len(link.requests()) <= 16:
                return None
            if leaves:
                link.close()
            return []

        device.intercept = intercept
        outcome = await part.gatt(device, "tree", "--format", "json", within=50)
        outcome.expect(69 if leaves else 75)
        services = [e for e in outcome.objects if e["event"] == "service"]
        check(len(services) >= 5, f"only {len(services)} services are printed")
        check(any(s.get("complete") is False for s in services), "all of them look complete")
        check(services[0].get("complete") is None, f"the first was: {services[0]}")
        wanted = "the device ended it" if leaves else "within 30 s"
        check(wanted in outcome.err, f"it says {outcome.err!r}")

    await bed.every([True, False], one, name=lambda leaves: "leaves" if leaves else "silent")

    device = bed.device(23)
    device.intercept = ignore
    (await bed.gatt(device, "read", "0x0003", "--timeout", "1", within=8)).expect(75)
