# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's own GATT server as the phone sees it: complete for an independent client, and with the right
errors."""

from typing import Any

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
    """An independent client discovers GAP, GATT and Device Information whole, at several MTUs; reads all that can be read
    over an encrypted bearer, and subscribes to Service Changed, of which it hears nothing."""

    async def one(part: Testbed, mtu: int) -> None:
        daemon, phone, _ = await part.served(mtu=mtu)
        link = phone.link
        client, found = await discover(link)
        services = {short(s.uuid) for s in client.services}
        check({GAP, GATT, DEVICE_INFORMATION} <= services, f"the services are {sorted(services)}")
        sizes = {APPEARANCE: 2, PARAMETERS: 8, RESOLUTION: 1, DATABASE_HASH: 16}
        wanted = {DEVICE_NAME, SERVICE_CHANGED, CLIENT_FEATURES, *sizes}
        check(wanted <= set(found), f"missing: {sorted(wanted - set(found))}")
        readable = [kind for kind, one in found.items() if one.properties & Characteristic.Properties.READ]
        values = {kind: await client.read_value(found[kind]) for kind in readable}
        check(values[DEVICE_NAME] == bed.NAME.encode(), f"the name is {values[DEVICE_NAME]!r}")
        for kind, size in sizes.items():
            check(len(values[kind]) == size, f"{kind} has {len(values[kind])} bytes")
        check(any(values[DATABASE_HASH]), "the Database Hash is zero")
        ends = sorted((s.handle, s.end_group_handle) for s in client.services)
        overlaps = [b for a, b in zip(ends, ends[1:], strict=False) if a[1] >= b[0]]
        check(not overlaps, f"services overlap: {ends}")
        (cccd,) = [d.handle for d in found[SERVICE_CHANGED].descriptors if short(d.type) == "2902"]
        for handle, value in ((cccd, b"\2\0"), (found[CLIENT_FEATURES].handle, b"\1")):
            answer = await link.request(att.write(handle, value))
            check(answer == bytes([att.WRITE_RESPONSE]), f"writing 0x{handle:04X}: {answer.hex(' ')}")
        # Nothing may be indicated right after the subscription, which has confused iOS.
        await check_served(daemon, phone, 1)
        indicated = [p for p in link.received if p[0] == att.INDICATE]
        check(not indicated, f"the daemon indicated {indicated}")

    await bed.every([23, 64, 185, 517], one, name=lambda mtu: f"mtu-{mtu}")
