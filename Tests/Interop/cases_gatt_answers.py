# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` on a device whose responses are refusals, wrong, or mixed with noise: what it has is printed,
what failed is named, and the exit status reports it."""

from collections.abc import Callable

from Harness import att
from Harness.att import DISCOVERY
from Harness.case import case, check, eventually
from Harness.odd_device import LONG, check_tree

from .link import Link
from .peers import Intercept, OddDevice, pass_through
from .testbed import Testbed


@case("gatt-any-error")
async def any_error(bed: Testbed) -> None:
    """Any one request of a discovery gets any error: everything is found by other means."""
    # Attribute Not Found is not among them: it says that there is nothing more.
    codes = [0x01, 0x02, 0x05, 0x06, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x80, 0xEE]
    device = bed.device(23)
    (await bed.gatt(device, "tree", "--format", "json")).expect(0)
    asked = sum(pdu[0] in DISCOVERY for pdu in device.link.received)
    check(asked > 30, f"only {asked} requests")
    # Not all pairs: each request with two codes, and each code with several requests.
    pairs = [(place, codes[(place + turn) % len(codes)]) for place in range(asked) for turn in (0, 5)]

    async def one(part: Testbed, pair: tuple[int, int]) -> None:
        place, code = pair
        device = part.device(23)
        refused: list[bytes] = []

        def refuse(link: Link, pdu: bytes) -> list[bytes] | None:
            requests = [p for p in link.received if p[0] in DISCOVERY]
            if pdu[0] not in DISCOVERY or len(requests) != place + 1 or refused:
                return None
            refused.append(pdu)
            return [att.refusal(pdu, code)]

        device.intercept = refuse
        outcome = await part.gatt(device, "tree", "--format", "json")
        found = outcome.objects
        if refused and att.searched_type(refused[0]) == att.SECONDARY:
            # These are also known by their inclusion; a server may have none, and say so like this.
            check(outcome.status in (0, 1), f"status {outcome.status}")
        else:
            outcome.expect(1)
            faults = [e for e in found if e["event"] == "fault"]
            check(len(faults) == 1 and "unknown" not in faults[0], f"the faults are {faults}")
        check_tree(found)

    await bed.every(pairs, one, name=lambda pair: f"{pair[0]}-{pair[1]:02x}")


def blobs(response: Callable[[int], bytes], size: int = 22) -> Intercept:
    """A long value at 0x0031: its first `size` bytes, and then the response to a read at an offset."""

    def intercept(_link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[:3] == att.read(0x31):
            return [bytes([att.READ_RESPONSE]) + bytes(range(size))]
        if pdu[0] == att.READ_BLOB and att.first_handle(pdu) == 0x31:
            return [response(int.from_bytes(pdu[3:5], "little"))]
        return None

    return intercept


def blob_error(code: int) -> bytes:
    return att.error(att.READ_BLOB, 0x31, code)


def blob(data: bytes) -> bytes:
    return bytes([att.READ_BLOB_RESPONSE]) + data


FULL = bytes(range(22))
#: What the device does, the value that is printed, and a part of the message if it is incomplete.
LONG_READS: dict[str, tuple[Intercept, bytes, str]] = {
    "not-long": (blobs(lambda _: blob_error(att.NOT_LONG)), FULL, ""),
    "invalid-offset": (blobs(lambda _: blob_error(att.INVALID_OFFSET)), FULL, ""),
    "empty": (blobs(lambda _: blob(b"")), FULL, ""),
    "one-more": (blobs(lambda at: blob(b"x" if at == 22 else b"")), FULL + b"x", ""),
    "no-blobs": (
        blobs(lambda _: blob_error(att.REQUEST_NOT_SUPPORTED)), FULL, "Request Not Supported (0x06)"
    ),
    "breaks-off": (
        blobs(lambda at: blob(FULL) if at == 22 else blob_error(att.UNLIKELY)),
        FULL * 2, "behind its first 44 bytes: Unlikely Error (0x0E)",
    ),
    "endless": (blobs(lambda _: blob(FULL)), (FULL * 30)[:512], ""),
    "too-much": (blobs(lambda at: blob(b"y" * 60) if at == 22 else blob_error(7), 40), b"", ""),
}


@case("gatt-long")
async def long(bed: Testbed) -> None:
    """Values of MTU - 1 bytes, values that break off, never end, or come in parts that are too long."""

    async def one(part: Testbed, name: str) -> None:
        device = part.device(23)
        device.intercept, value, said = LONG_READS[name]
        outcome = (await part.gatt(device, "read", "0x0031")).expect(1 if said else 0)
        found = outcome.objects
        check(said in outcome.err, f"it says {outcome.err!r}")
        if name == "too-much":
            check(found[0]["value"].startswith(FULL.hex()), f"{found}")
            return
        check([e["value"] for e in found] == [value.hex()], f"it printed {found}")
        check(found[0].get("complete") is (False if said else None), f"{found}")

    await bed.every(LONG_READS, one)


@case("gatt-by-type")
async def by_type(bed: Testbed) -> None:
    """A write by type, and services of one type, where the request that finds them is refused."""

    def refuse(opcode: int, handle: int, code: int) -> Intercept:
        return lambda _link, pdu: [att.error(opcode, handle, code)] if pdu[0] == opcode else None

    # The types of values are also in the declarations.
    device = bed.device(23)
    device.intercept = refuse(att.FIND_INFORMATION, 0, att.REQUEST_NOT_SUPPORTED)
    (await bed.gatt(device, "write", LONG, "0102")).expect(0)
    check(device.server.long == b"\x01\x02", f"the device has {device.server.long.hex()}")
    device.intercept = refuse(att.FIND_BY_TYPE_VALUE, 1, att.UNLIKELY)
    outcome = (await bed.gatt(device, "primary", "180F")).expect(1)
    starts = [e["start"] for e in outcome.objects if e["event"] == "service"]
    check(starts == [0x90, 0x200], f"the services are at {starts}: {outcome.err!r}")


@case("gatt-noise")
async def noise(bed: Testbed) -> None:
    """Notifications, indications and useless PDUs in between: confirmed, and nothing gets confused."""
    device = bed.device(23)

    def chatter(link: Link, pdu: bytes) -> None:
        if pdu[0] in DISCOVERY:
            link.notify(0x31, b"\x66\x08")
            link.indicate(0x31, b"\x66\x08")
            link.send(b"\x1b\x31")  # a notification that is cut
            link.send(b"\x0b\x01")  # a response to nothing
            link.send(b"\xff")

    device.intercept = chatter
    outcome = (await bed.gatt(device, "tree", "--format", "json")).expect(0)
    check_tree(outcome.objects)
    indications = sum(pdu[0] in DISCOVERY for pdu in device.link.received)
    confirmations = device.link.confirmations()
    check(confirmations == indications, f"{confirmations} of {indications} indications are confirmed")

    # Values of a subscription that an earlier link has left do not count: a script gets what it asked for.
    device.intercept = pass_through
    process = await bed.start_gatt(device, "subscribe", "0x0092", "-n", "1")
    await process.event("subscribed")
    device.link.notify(0x31, b"\x66\x08")
    device.link.notify(0x92, b"\x57")
    (await process.outcome()).expect(0)
    values = [event["handle"] for event in process.since(0, "notification")]
    check(values == [0x92], f"it printed {process.events}")
    await device.dropped(device.link, within=5)


@case("gatt-print")
async def print_(bed: Testbed) -> None:
    """Values alone, for scripts: hexadecimal, text, or the bytes as they are."""
    device = bed.device()
    for form, words, out in (
        ("hex", ["read", "0x0092"], "57\n"),
        ("hex", ["read", "2A6E", "0x0038"], "6608\n4f662074686520e2809c726f6f6de2809d\n"),
        ("text", ["read", "0x0038"], "Of the “room”\n"),
        ("text", ["read", "2A00"], "odd ␛[31m one\n"),
        ("raw", ["read", "0x0038", "0x0092"], "Of the “room”W"),
    ):
        outcome = (await bed.gatt(device, *words, "--print", form)).expect(0)
        check(outcome.out == out, f"{form} {words}: {outcome.out!r}")
    partly = (await bed.gatt(device, "read", "2A19", "--print", "hex")).expect(1)
    check(partly.out == "57\n05\n" and "0x0211" in partly.err, f"{partly.out!r} {partly.err!r}")
    read = (await bed.gatt(device, "read", "0x0023", "--print", "hex")).expect(0).out.strip()
    (await bed.gatt(device, "write", "0x0023", read[2:])).expect(0)
    check(device.server.long.hex() == read[2:], "what is read cannot be written")
    bed.spawn(notify_next_link(device))
    outcome = (await bed.gatt(device, "subscribe", "2A6E", "-n", "2", "--print", "hex")).expect(0)
    check(outcome.out == "6608\n0000\n", f"subscribe: {outcome.out!r}")


async def notify_next_link(device: OddDevice) -> None:
    """Sends two temperatures to the next link once it has subscribed."""
    link = await device.connected(len(device.links) + 1)
    temperature = device.server.temperature
    await eventually(lambda: device.server.subscribed(link, temperature), "no subscription")
    for value in (b"\x66\x08", b"\x00\x00"):
        link.notify(temperature.handle, value)
