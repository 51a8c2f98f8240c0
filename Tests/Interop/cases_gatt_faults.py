# SPDX-License-Identifier: GPL-3.0-or-later
"""A device that fails during discovery: what it hides is named, everything else is found."""

from __future__ import annotations

from collections.abc import Sequence

from Harness import att
from Harness.case import case, check
from Harness.odd_device import check_tree

from .link import Link
from .testbed import Testbed


def refuse(opcode: int, kind: int, handle: int, pdu: bytes) -> Sequence[bytes] | None:
    """Refuses a request for declarations of a kind whose response would have to include the one at `handle`."""
    if pdu[0] == opcode and att.searched_type(pdu) == kind:
        first, last = att.handle_range(pdu) or (0, 0)
        if first <= handle <= last:
            return [att.error(opcode, handle, att.UNLIKELY)]
    return None


def hide_characteristic(_link: Link, pdu: bytes) -> Sequence[bytes] | None:
    """Refuses to report the declaration at 0x0030 by its type, and to read it."""
    if pdu[:3] == att.read(0x30):
        return [att.refusal(pdu, att.INSUFFICIENT_ENCRYPTION)]
    return refuse(att.READ_BY_TYPE, att.CHARACTERISTIC, 0x30, pdu)


@case("gatt-faults")
async def faults(bed: Testbed) -> None:
    """A declaration and a descriptor that can't be reported: named with their places, worked around, status 1."""

    async def one(part: Testbed, name: str) -> None:
        device = part.device(23)
        device.intercept = hide_characteristic if name == "characteristic" else lambda _link, pdu: refuse(att.FIND_INFORMATION, 0, 0x38, pdu)
        outcome = (await part.gatt(device, "tree", "--format", "json")).expect(1)
        said = [e for e in outcome.objects if e["event"] == "fault"]
        check(0 < len(said) <= 4 and all(e["error"] for e in said), f"the faults are {said[:5]}")
        check("tree: the device returned" in outcome.err, f"it says {outcome.err!r}")
        hidden = [e["unknown"] for e in said if "unknown" in e]
        if name == "descriptor":  # there are no other means of finding it
            check(any(h["start"] <= 0x38 <= h["end"] for h in hidden), f"it hides {hidden}")
            return
        check_tree(outcome.objects, {0x31})
        check(len(hidden) == 1, f"it says that {hidden} is missing")
        strays = [a["handle"] for e in outcome.objects for a in e.get("unassigned", ())]
        check(strays == [0x31, 0x35, 0x38], f"unassigned: {strays}")

    await bed.every(["characteristic", "descriptor"], one)


@case("gatt-cut")
async def cut(bed: Testbed) -> None:
    """The link ends during discovery: what was found is printed, then 69."""
    device = bed.device(23)

    def leave(link: Link, _pdu: bytes) -> list[bytes] | None:
        if len(link.requests()) <= 16:
            return None
        link.close()
        return []

    device.intercept = leave
    outcome = (await bed.gatt(device, "tree", "--format", "json")).expect(69)
    services = [e for e in outcome.objects if e["event"] == "service"]
    check(len(services) >= 5, f"only {len(services)} services are printed")
    check(any(s.get("complete") is False for s in services), "all of them look complete")
    check(services[0].get("complete") is None, f"the first was: {services[0]}")
    check("the device ended it" in outcome.err, f"it says {outcome.err!r}")
