# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's own GATT server as the phone sees it: complete for an independent client, and with the right
errors."""

from __future__ import annotations

import struct
from typing import Any

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
