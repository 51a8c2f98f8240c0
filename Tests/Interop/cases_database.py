# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's own GATT server as the phone sees it: complete for an independent client, and with the right
errors."""

from __future__ import annotations

import struct
from typing import Any

import bumble.att
from bumble.crypto import aes_cmac  # type: ignore[attr-defined]
from bumble.gatt import Characteristic

from Harness import att
from Harness.case import case, check
from Harness.testbed import check_served

from .link import Link, LinkClient
from .testbed import Testbed

GAP, GATT, DEVICE_INFORMATION = "1800", "1801", "180A"
DEVICE_NAME, APPEARANCE, PARAMETERS, RESOLUTION = "2A00", "2A01", "2A04", "2AA6"
SERVICE_CHANGED, CLIENT_FEATURES, DATABASE_HASH = "2A05", "2B29", "2B2A"


def short(uuid: Any) -> str:
    """A 16-bit UUID as four digits, another one whole."""
    return bytes(uuid.to_pdu_bytes())[::-1].hex().upper()


async def discover(link: Link) -> tuple[Any, dict[str, Any]]:
    """Discovers everything with Bumble's client; returns it, and the characteristics by UUID."""
    client = LinkClient(link)
    found: dict[str, Any] = {}
    for service in await client.discover_services():
        await client.discover_included_services(service)
        for characteristic in await client.discover_characteristics((), service):
            await client.discover_descriptors(characteristic)
            found[short(characteristic.uuid)] = characteristic
    return client, found


@case("server-discovered")
async def discovered(bed: Testbed) -> None:
    """An independent client discovers GAP, GATT and Device Information whole, at several MTUs."""

    async def one(part: Testbed, mtu: int) -> None:
        daemon, phone, _ = await part.served(mtu=mtu)
        client, found = await discover(phone.link)
        services = {short(s.uuid) for s in client.services}
        check({GAP, GATT, DEVICE_INFORMATION} <= services, f"the services are {sorted(services)}")
        sizes = {APPEARANCE: 2, PARAMETERS: 8, RESOLUTION: 1, DATABASE_HASH: 16}
        wanted = {DEVICE_NAME, SERVICE_CHANGED, CLIENT_FEATURES, *sizes}
        check(wanted <= set(found), f"missing: {sorted(wanted - set(found))}")
        name = await client.read_value(found[DEVICE_NAME])
        check(name == bed.NAME.encode(), f"the name is {name!r}")
        values = {kind: await client.read_value(found[kind]) for kind in sizes}
        for kind, size in sizes.items():
            check(len(values[kind]) == size, f"{kind} has {len(values[kind])} bytes")
        check(any(values[DATABASE_HASH]), "the Database Hash is zero")
        ends = sorted((s.handle, s.end_group_handle) for s in client.services)
        overlaps = [b for a, b in zip(ends, ends[1:], strict=False) if a[1] >= b[0]]
        check(not overlaps, f"services overlap: {ends}")
        await check_served(daemon, phone, 1)

    await bed.every([23, 64, 185, 517], one, name=lambda mtu: f"mtu-{mtu}")


@case("server-hash")
async def database_hash(bed: Testbed) -> None:
    """The Database Hash is that of what the phone sees (Core Specification Vol 3 Part G, 7.3.1)."""
    daemon, phone, _ = await bed.served(mtu=517)
    link = phone.link
    attributes: list[tuple[int, bytes]] = []
    while True:
        answer = await link.request(att.find_information(attributes[-1][0] + 1 if attributes else 1))
        if answer[0] == att.ERROR:
            break
        step = 4 if answer[1] == 1 else 18
        entries = [answer[at : at + step] for at in range(2, len(answer), step)]
        attributes += [(int.from_bytes(entry[:2], "little"), entry[2:]) for entry in entries]
    data = b""
    for handle, uuid in attributes:
        kind = int.from_bytes(uuid, "little") if len(uuid) == 2 else 0
        if kind in (att.PRIMARY, att.SECONDARY, att.INCLUDE, att.CHARACTERISTIC, 0x2900):
            value = await link.request(att.read(handle))
            check(value[0] == att.READ_RESPONSE, f"0x{handle:04X} can't be read: {value.hex(' ')}")
            data += struct.pack("<H", handle) + uuid + value[1:]
        elif kind in range(0x2901, 0x2906):
            data += struct.pack("<H", handle) + uuid
    answer = await link.request(att.by_type(att.READ_BY_TYPE, 0x2B2A))
    wanted = aes_cmac(m=data, k=bytes(16))[::-1]
    check(answer[4:] == wanted, f"the hash is {answer[4:].hex()}, not {wanted.hex()}")
    await check_served(daemon, phone, 1)


@case("server-protected")
async def protected(bed: Testbed) -> None:
    """Over an encrypted bearer every readable value can be read, the protected one too."""
    daemon, phone, _ = await bed.served()
    link = phone.link
    _, found = await discover(link)
    readable = [c for c in found.values() if c.properties & Characteristic.Properties.READ]
    check(len(readable) >= 6, f"only {len(readable)} characteristics can be read")
    for characteristic in readable:
        answer = await link.request(att.read(characteristic.handle))
        check(
            answer[0] == att.READ_RESPONSE,
            f"{short(characteristic.uuid)} has the property Read, but: {answer.hex(' ')}",
        )
    cccds = [d for d in found[SERVICE_CHANGED].descriptors if short(d.type) == "2902"]
    check(len(cccds) == 1, "Service Changed has no CCCD")
    cccd = cccds[0]
    written = bytes([att.WRITE_RESPONSE])
    check(await link.request(att.read(cccd.handle)) == bytes([att.READ_RESPONSE, 0, 0]), "CCCD")
    answer = await link.request(att.write(cccd.handle, b"\2\0"))
    check(answer == written, f"subscribing: {answer.hex(' ')}")
    check(await link.request(att.read(cccd.handle)) == bytes([att.READ_RESPONSE, 2, 0]), "CCCD")
    answer = await link.request(att.write(found[CLIENT_FEATURES].handle, b"\1"))
    check(answer == written, f"Client Supported Features: {answer.hex(' ')}")
    # Nothing may be indicated right after the subscription, which has confused iOS.
    await check_served(daemon, phone, 1)
    indicated = [p for p in link.received if p[0] == att.INDICATE]
    check(not indicated, f"the daemon indicated {indicated}")


@case("server-errors")
async def errors(bed: Testbed) -> None:
    """What does not exist, is not allowed or not supported gets the right error."""
    daemon, phone, _ = await bed.served()
    link = phone.link
    _, found = await discover(link)
    name = found[DEVICE_NAME].handle
    group, kind = att.READ_BY_GROUP, att.READ_BY_TYPE
    battery = struct.pack("<BHHHH", att.FIND_BY_TYPE_VALUE, 1, 0xFFFF, att.PRIMARY, 0x180F)
    wanted: list[tuple[str, bytes, int, int]] = [
        ("read handle 0", att.read(0), att.INVALID_HANDLE, 0),
        ("read handle 0xFFFF", att.read(0xFFFF), att.INVALID_HANDLE, 0xFFFF),
        ("write handle 0xFFFF", att.write(0xFFFF, b"x"), att.INVALID_HANDLE, 0xFFFF),
        ("write a declaration", att.write(1, b"x"), att.WRITE_NOT_PERMITTED, 1),
        ("blob beyond the end", att.read_blob(name, 500), att.INVALID_OFFSET, name),
        ("blob of handle 0", att.read_blob(0, 0), att.INVALID_HANDLE, 0),
        ("groups from 0", att.by_type(group, 0x2800, 0), att.INVALID_HANDLE, 0),
        ("groups backwards", att.by_type(group, 0x2800, 9, 3), att.INVALID_HANDLE, 9),
        ("groups beyond the end", att.by_type(group, 0x2800, 0xFFF0), att.NOT_FOUND, 0xFFF0),
        ("groups of no group", att.by_type(group, 0x2803), att.UNSUPPORTED_GROUP, 1),
        ("types from 0", att.by_type(kind, 0x2803, 0), att.INVALID_HANDLE, 0),
        ("types backwards", att.by_type(kind, 0x2803, 9, 3), att.INVALID_HANDLE, 9),
        ("a type that does not exist", att.by_type(kind, 0x2ABC), att.NOT_FOUND, 1),
        ("information from 0", att.find_information(0, 9), att.INVALID_HANDLE, 0),
        ("information backwards", att.find_information(9, 3), att.INVALID_HANDLE, 9),
        ("information beyond the end", att.find_information(0xFFF0), att.NOT_FOUND, 0xFFF0),
        ("an unknown request", bytes([0x3E, 1, 2]), att.REQUEST_NOT_SUPPORTED, 0),
        ("a battery service, which is the phone's", battery, att.NOT_FOUND, 1),
    ]
    for what, request, code, handle in wanted:
        answer = await link.request(request)
        expected = att.error(request[0], handle, code)
        check(answer == expected, f"{what}: {answer.hex(' ')}, not {expected.hex(' ')}")
    await check_served(daemon, phone, 1)


@case("server-unsupported")
async def unsupported(bed: Testbed) -> None:
    """Commands that can't be executed are dropped; prepared writes get an error."""
    daemon, phone, _ = await bed.served()
    link = phone.link
    before = len(link.received)
    commands = [b"\x52\1\0x", b"\x52", b"\xd2\1\0x" + bytes(12), b"\xd2", b"\x7e\1\2\3", b"\xc0"]
    for command in commands:
        link.send(command)
    answer = await link.request(att.by_type(att.READ_BY_TYPE, 0x2A00))
    check(answer[0] == att.READ_BY_TYPE_RESPONSE, f"the response is {answer.hex(' ')}")
    strays = [p for p in link.received[before:] if p[0] == att.ERROR]
    check(not strays, f"a command got a response: {strays}")
    prepared = await link.request(struct.pack("<BHH", att.PREPARE_WRITE, 1, 0) + b"x")
    check(att.error_code(prepared) is not None, f"a declaration was prepared: {prepared.hex(' ')}")
    await link.request(bytes([att.EXECUTE_WRITE, 0]))
    await check_served(daemon, phone, 1)


@case("server-while-asking")
async def while_asking(bed: Testbed) -> None:
    """The phone makes requests before it responds to the daemon's: neither direction waits for the other."""
    phone = bed.phone()
    responses: list[bytes] = []

    async def ask_then_respond(link: Link, pdu: bytes) -> None:
        responses.append(await link.request(att.by_type(att.READ_BY_TYPE, 0x2A00)))
        phone.server.on_gatt_pdu(link, bumble.att.ATT_PDU.from_bytes(pdu))  # type: ignore[arg-type]

    def ask_first(link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[0] not in att.REQUESTS:
            return None
        bed.spawn(ask_then_respond(link, pdu))
        return []

    phone.intercept = ask_first
    daemon = await bed.daemon(phone)
    await daemon.event("subscribed", within=20)
    wrong = [a for a in responses if a[:1] != bytes([att.READ_BY_TYPE_RESPONSE])]
    check(responses and not wrong, f"during its own requests: {wrong[:1]}")
    await check_served(daemon, phone, 1)
