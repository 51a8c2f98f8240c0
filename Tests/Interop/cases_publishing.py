# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that come and go while the link is up."""

from Harness import att
from Harness.case import case, check
from Harness.process import Daemon, Event
from Harness.services import SERVICES
from Harness.testbed import check_served

from .testbed import Testbed

DATABASE_HASH = 0x2B2A


async def has(daemon: Daemon, service: str, since: Event | int, there: bool = True) -> Event:
    """Waits until the daemon says that a service is there, or not."""
    return await daemon.event(
        "services-changed", where=lambda event: (service in event["services"]) == there, since=since,
        wanted=f"{service} {'there' if there else 'gone'}",
    )


def requests_outside(requests: list[bytes], first: int, last: int) -> list[bytes]:
    """The discovery requests about handles outside a range, but for reads of the Database Hash."""
    outside = []
    for request in requests:
        span = att.handle_range(request)
        is_hash = request[0] == att.READ_BY_TYPE and att.searched_type(request) == DATABASE_HASH
        if span and not is_hash and (span[0] < first or span[1] > last):
            outside.append(request)
    return outside


@case("ancs-comes-and-goes")
async def ancs(bed: Testbed) -> None:
    """ANCS goes and returns, at new handles and at its old ones; only its range is searched."""
    daemon, phone, since = await bed.served()
    service = phone.ancs.service
    await check_served(daemon, phone, 1)
    await phone.quiet()
    for turn in range(4):
        before = len(phone.link.requests())
        first, last = service.handle, service.end_group_handle
        await phone.server.unpublish(service)
        since = await has(daemon, "ancs", since, there=False)
        check(set(since["services"]) == SERVICES - {"ancs"}, f"services: {since['services']}")
        await phone.server.publish(service, at=first if turn % 2 else None)
        since = await has(daemon, "ancs", since)
        await phone.subscribed("ancs")
        first, last = min(first, service.handle), max(last, service.end_group_handle)
        outside = requests_outside(phone.link.requests()[before:], first, last)
        check(not outside, f"searched outside {first}-{last}: {outside[:1]}")
        await check_served(daemon, phone, 10 + turn)
    check(len(phone.links) == 1, "the daemon reconnected")
    status = await daemon.call("status")
    check("ancs" in str(status.get("services", status)), f"status has no ancs: {status}")
