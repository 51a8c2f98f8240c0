# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that come and go while the link is up, as a phone publishes them."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pdus
from cases_setup import SERVICES, serves
from harness import check, eventually
from room import Room, case

if TYPE_CHECKING:
    from bumble.gatt import Service

    from daemon import Ancsd, Event
    from handset import Handset
    from link import Link

DATABASE_HASH = 0x2B2A


async def has(daemon: Ancsd, service: str, since: Event | int, there: bool = True) -> Event:
    """Waits until the daemon says that a service is there, or not."""
    return await daemon.event_where(
        "services-changed",
        lambda event: (service in event["services"]) == there,
        since=since,
        wanted=f"{service} {'there' if there else 'gone'}",
    )


def asked_outside(requests: list[bytes], first: int, last: int) -> list[bytes]:
    """The discovery requests about handles outside a range; reading the Database Hash is none."""
    outside = []
    for request in requests:
        span = pdus.handles_asked(request)
        is_hash = request[0] == pdus.READ_BY_TYPE and request[5:] == struct.pack(
            "<H", DATABASE_HASH
        )
        if span and not is_hash and (span[0] < first or span[1] > last):
            outside.append(request)
    return outside


async def subscribed_again(phone: Handset, service: str) -> None:
    """Waits until the newest link has subscribed to all of a service that notifies."""
    notifications, media = phone.notifications, phone.media
    sources = {
        "ancs": (notifications.source, notifications.data),
        "ams": (media.update, media.remote),
    }[service]
    for source in sources:
        await eventually(
            lambda source=source: phone.server.subscribed(phone.link, source),  # type: ignore[misc]
            f"{service} is not subscribed to again",
        )


@case("ancs-comes-and-goes")
async def ancs(room: Room) -> None:
    """ANCS goes and returns, at new handles and at its old ones; only its range is looked at."""
    daemon, phone, since = await room.served()
    service = phone.notifications.service
    await serves(room, daemon, phone, 1)
    await phone.quiet()
    for turn in range(4):
        before = len(phone.link.requests())
        first, last = service.handle, service.end_group_handle
        await phone.server.unpublish(service)
        since = await has(daemon, "ancs", since, there=False)
        check(set(since["services"]) == SERVICES - {"ancs"}, f"services: {since['services']}")
        await (phone.publish_again if turn % 2 else phone.server.publish)(service)
        since = await has(daemon, "ancs", since)
        await subscribed_again(phone, "ancs")
        first, last = min(first, service.handle), max(last, service.end_group_handle)
        outside = asked_outside(phone.link.requests()[before:], first, last)
        check(not outside, f"looked outside {first}-{last}: {outside[:1]}")
        await serves(room, daemon, phone, 10 + turn)
    check(len(phone.links) == 1, "the daemon connected anew")
    status = await daemon.call("status")
    check("ancs" in str(status.get("services", status)), f"status has no ancs: {status}")


@case("ams-comes-and-goes")
async def ams(room: Room) -> None:
    """AMS goes and returns, at new handles and at its old ones; media goes on."""
    daemon, phone, since = await room.served()
    service = phone.media.service
    for turn in range(2):
        await phone.server.unpublish(service)
        since = await has(daemon, "ams", since, there=False)
        check("ancs" in since["services"], f"services: {since['services']}")
        await (phone.publish_again if turn else phone.server.publish)(service)
        since = await has(daemon, "ams", since)
        await subscribed_again(phone, "ams")
        await phone.media.play(2 - 2 * turn)
        await said_title(daemon, phone.media.tracks[2 - 2 * turn][2], since)
    await serves(room, daemon, phone, 1)


async def said_title(daemon: Ancsd, title: str, since: Event) -> None:
    await daemon.event_where(
        "media", lambda e: e["track"]["title"] == title, since=since, wanted=title
    )


@case("missing-at-first")
async def missing(room: Room) -> None:
    """A phone without ANCS, without AMS, or without either: what comes later is found then."""

    async def one(part: Room, gone: tuple[str, ...]) -> None:
        phone = part.phone()
        by_name = {"ancs": phone.notifications.service, "ams": phone.media.service}
        for name in gone:
            await phone.server.unpublish(by_name[name])
        daemon = await part.ancsd(phone)
        connected = await daemon.event("connected")
        await phone.connected()
        server = phone.server
        await eventually(
            lambda: server.read_cccd(phone.link, server.service_changed)[0] & 2,  # type: ignore[arg-type]
            "Service Changed is not subscribed to",
        )
        await asyncio.sleep(0.5)  # let it search in vain
        for name in gone:
            await phone.server.publish(by_name[name])
            await subscribed_again(phone, name)
        said = [e for e in daemon.events[connected.index :] if "services" in e]
        await eventually(
            lambda: any(set(e["services"]) == SERVICES for e in daemon.events if "services" in e),
            f"no event says that all services are there: {said}",
        )
        await serves(part, daemon, phone, 1)

    await room.every([("ancs",), ("ams",), ("ancs", "ams")], one, name="-and-".join)


@case("no-companions")
async def no_companions(room: Room) -> None:
    """A phone without battery and clock is served for what it has."""
    phone = room.phone()
    kinds = (b"\x0f\x18", b"\x05\x18")
    bare = [s for s in phone.server.services if bytes(s.uuid.to_pdu_bytes()) in kinds]
    check(len(bare) == 2, "the phone of this suite has no battery and clock")
    for service in bare:
        await phone.server.unpublish(service)
    daemon = await room.ancsd(phone)
    subscribed = await daemon.event("subscribed")
    check(set(subscribed["services"]) == {"ancs", "ams"}, f"{subscribed['services']}")
    await serves(room, daemon, phone, 1)


@case("everything-changed")
async def everything(room: Room) -> None:
    """Service Changed of all handles, many times, odd ones too: each confirmed, the session lives."""
    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    handle = phone.server.service_changed.handle
    whole = struct.pack("<HH", 1, 0xFFFF)
    odd = [b"", b"\1", whole[:3], whole + b"\0", struct.pack("<HH", 9, 3), struct.pack("<HH", 0, 0)]
    odd += [struct.pack("<HH", 0xFFFF, 0xFFFF), whole, whole, whole]
    for value in odd:
        before = phone.link.confirmations()
        phone.link.indicate(handle, value)
        await eventually(
            lambda before=before: phone.link.confirmations() > before,  # type: ignore[misc]
            f"the indication {value.hex(' ') or 'of nothing'} was not confirmed",
        )
    await subscribed_again(phone, "ancs")
    await serves(room, daemon, phone, 2)
    # An indication of a handle that means nothing is confirmed as well.
    before = phone.link.confirmations()
    phone.link.indicate(0x7777, b"what?")
    await eventually(lambda: phone.link.confirmations() > before, "an unknown one: no confirmation")
    await serves(room, daemon, phone, 3)
    check(len(phone.links) == 1, "the daemon connected anew")


@case("gone-while-fetching")
async def gone_fetching(room: Room) -> None:
    """ANCS goes while an answer is awaited and a queue waits: it begins anew, nothing hangs."""
    daemon, phone, since = await room.served()
    service = phone.notifications.service
    phone.notifications.silent = {1}
    await phone.notifications.post_all(room.note(n) for n in range(1, 31))
    await eventually(lambda: phone.notifications.fetched(1), "it was not fetched")
    # The phone forgets the session with the service, as it would.
    phone.notifications.sessions.clear()
    await phone.server.unpublish(service)
    await has(daemon, "ancs", since, there=False)
    phone.notifications.silent = set()
    await phone.server.publish(service)
    back = await has(daemon, "ancs", since)
    await daemon.event("notification", since=back, uid=30, title="Mum", within=9)
    daemon.none("disconnected")
    listed = await daemon.call("notifications.list")
    check(len(listed) == 30, f"notifications.list has {len(listed)} of 30")


@case("two-of-ancs")
async def two(room: Room) -> None:
    """A new ANCS while the old one is still published: the new one is used."""
    from notifications import NotificationProvider

    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    second = NotificationProvider(phone.server)
    since = daemon.now
    await phone.server.publish(second.service)
    await eventually(
        lambda: phone.server.subscribed(phone.link, second.source), "the new one is not used"
    )
    await second.post(room.note(5, title="from the new one"))
    await daemon.event("notification", since=since, uid=5, title="from the new one")


@case("odd-services")
async def odd_services(room: Room) -> None:
    """ANCS and AMS without descriptors, without characteristics: not used, and no harm done."""

    async def one(part: Room, what: str) -> None:
        phone = part.phone()
        spoil(phone, what)
        daemon = await part.ancsd(phone)
        connected = await daemon.event("connected")
        await eventually(
            lambda: (
                any("services" in e for e in daemon.events[connected.index :])
                or len(phone.link.requests()) > 8
            ),
            "nothing was looked for",
        )
        await daemon.event("battery", within=10)
        daemon.none("disconnected")
        said = [e for e in daemon.events if "services" in e]
        spoiled = "ams" if "ams" in what else "ancs"
        check(
            # (The Data Source is optional: a phone without it has ANCS all the same.)
            what.endswith("source") or all(spoiled not in e["services"] for e in said),
            f"a {spoiled} that can't be used is said to be there: {said}",
        )

    await room.every(["ancs-no-cccd", "ancs-empty", "ams-empty", "ancs-no-data-source"], one)


def spoil(phone: Handset, what: str) -> None:
    """Takes away a part of a service, as phones that only look like iPhones do."""
    service: Service = phone.media.service if "ams" in what else phone.notifications.service
    span = range(service.handle + 1, service.end_group_handle + 1)
    keep = phone.server.attributes
    if what.endswith("no-cccd"):
        gone = [
            a
            for a in keep
            if a.handle in span and int.from_bytes(a.type.to_pdu_bytes(), "little") == pdus.CCCD
        ]
    elif what.endswith("empty"):
        gone = [a for a in keep if a.handle in span]
    else:
        data = phone.notifications.data.handle
        gone = [a for a in keep if data - 1 <= a.handle <= data + 1]
    phone.server.attributes = [a for a in keep if a not in gone]
    phone.server.attributes_by_handle.clear()


@case("discovery-fails")
async def discovery_fails(room: Room) -> None:
    """An error in the middle of discovery ends no process and no link for good."""

    async def one(part: Room, step: int) -> None:
        phone = part.phone()

        def fails(link: Link, pdu: bytes) -> Sequence[bytes] | None:
            if link is phone.links[0] and len(link.requests()) == step:
                span = pdus.handles_asked(pdu)
                return [pdus.error(pdu[0], span[0] if span else 0, 0x0E)]
            return None

        phone.intercept = fails
        daemon = await part.ancsd(phone)
        await phone.connected()
        await phone.quiet()  # what follows differs with the step
        check(daemon.running, f"the daemon ended: {daemon.ending}")
        phone.hang_up()
        await phone.connected(2)
        await phone.notifies()
        await serves(part, daemon, phone, 1)

    await room.every(range(1, 17), one, name=lambda step: f"at-request-{step}")
