# SPDX-License-Identifier: GPL-3.0-or-later
"""What captures of real iPhones show, and how ancsd handles it."""

from __future__ import annotations

import asyncio

from Harness import att
from Harness.ancs import GET_APP, NAMELESS, Notification, call
from Harness.case import case, check, expect
from Harness.process import Daemon
from Harness.profiles import REAL
from Harness.testbed import check_served

from .link import Link
from .peers import Phone
from .testbed import Testbed

BATTERY_LEVEL = bytes.fromhex("192a")


@case("iphone-call")
async def incoming_call(bed: Testbed) -> None:
    """A call has a date and a message, and its actions are the phone's own words."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(call(3))
    event = await daemon.event("notification", since=since, uid=3)
    expect(
        event, category="incoming-call", title="+1 (212) 555-0142", subtitle="Spam Risk",
        message="Incoming Call", message_size=13, date="2026-11-21T07:00:00", positive="Answer",
        negative="Decline", app="Phone",
    )


@case("iphone-waiting")
async def waiting(bed: Testbed) -> None:
    """Pre-existing notifications are silent, whatever they were when they arrived."""
    phone = bed.phone()
    phone.ancs.post(Notification(8))
    daemon = await bed.daemon(phone)
    event = await daemon.event("notification", uid=8)
    check(
        set(event["flags"]) == {"silent", "pre-existing", "negative-action"}, f"flags: {event['flags']}"
    )


@case("iphone-texts")
async def texts(bed: Testbed) -> None:
    """Texts that end in an ellipsis at the maximum were cut, those that have one of their own were not."""
    daemon, phone, since = await bed.served("--max-length", "30")
    # Each with what is left of it, and whether that is all.
    samples = [
        ("m" * 29, "m" * 29, False), ("m" * 30, "m" * 30, False), ("m" * 31, "m" * 27 + "…", True),
        ("m" * 26 + "…", "m" * 26 + "…", False), ("m" * 90, "m" * 27 + "…", True),
    ]
    for uid, (text, left, cut) in enumerate(samples):
        phone.ancs.post(Notification(uid, message=text))
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, message=left, message_size=len(text.encode()))
        found = event.get("truncated", [])
        check(("message" in found) == cut, f"truncated is {found} for {text!r}")


@case("iphone-returning")
async def returning(bed: Testbed) -> None:
    """Subscribed after at most 9 requests when it returns, quiet after 15; ANCS first, and nothing is done twice."""
    daemon, phone, subscribed = await bed.served()
    await phone.quiet(1)
    phone.disconnect()
    gone = await daemon.event("disconnected", since=subscribed)
    subscribed = await daemon.event("subscribed", since=gone)
    await check_frugal(bed, daemon, phone, subscribed["requests"], 9, 15)


@case("iphone-changes-again")
async def changes_again(bed: Testbed) -> None:
    """Service Changed for all comes three times during the set-up: it is one job."""
    phone = bed.phone()
    at = iter((3, 6, 9))
    due = next(at)

    def announce(link: Link, _pdu: bytes) -> None:
        nonlocal due
        if len(link.requests()) == due:
            link.indicate(phone.server.service_changed.handle, bytes.fromhex("0a00ffff"))
            due = next(at, 0)

    phone.intercept = announce
    daemon = await bed.daemon(phone)
    subscribed = await daemon.event("subscribed")
    await phone.quiet(1)
    bed.remark(f"{subscribed['requests']} requests, {len(phone.link.requests())} in all")
    check(len(phone.link.requests()) <= 26, f"{len(phone.link.requests())} requests")
    check(phone.link.confirmations() == 4, f"{phone.link.confirmations()} confirmations")
    await check_served(daemon, phone, 1)


async def check_frugal(
    bed: Testbed, daemon: Daemon, phone: Phone, subscribed: int, until: int, in_all: int
) -> None:
    """Counts requests until `subscribed` and until nothing more comes, except the one for an app's name, by which the
    daemon learns whether it has access."""
    await phone.quiet(1)
    probe = att.write(phone.ancs.control.handle, bytes([GET_APP]))
    requests = [pdu for pdu in phone.link.requests() if not pdu.startswith(probe)]
    bed.remark(f"{subscribed} requests until subscribed, {len(requests)} in all")
    check(subscribed <= until, f"{subscribed} requests until subscribed, more than {until}")
    check(len(requests) <= in_all, f"{len(requests)} requests in all, more than {in_all}")
    writes = [att.first_handle(pdu) for pdu in requests if pdu[0] == att.WRITE]
    source, data = phone.ancs.source.handle + 1, phone.ancs.data.handle + 1
    check(set(writes[:2]) == {source, data}, f"the first handles written are {writes}")
    configured = [handle for handle in writes if handle != phone.ams.update.handle]
    check(len(configured) == len(set(configured)), f"written twice: {writes}")
    level = [pdu for pdu in requests if pdu[:3] == att.read(phone.services.battery.handle)]
    by_type = [pdu for pdu in requests if pdu[0] == att.READ_BY_TYPE and pdu[5:] == BATTERY_LEVEL]
    check(len(level) + len(by_type) == 1, f"the battery is read {len(level) + len(by_type)} times")
    await check_served(daemon, phone, 77)


@case("iphone-flags")
async def flags(bed: Testbed) -> None:
    """A flag without a name reaches the event as its number."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(5, flags=NAMELESS))
    event = await daemon.event("notification", since=since, uid=5)
    check(event["flags"] == ["negative-action", "0x20"], f"flags: {event['flags']}")


@case("iphone-nothing-plays")
async def nothing_plays(bed: Testbed) -> None:
    """Nothing plays and no command is announced: `play` reaches the phone nevertheless."""
    phone = bed.phone()
    phone.ams.supported = b""
    phone.ams.rest()
    daemon = await bed.daemon(phone)
    await daemon.event("subscribed")
    await daemon.settled("media")
    check(await daemon.call("media.command", command="play") is True, "play was refused")
    check(phone.ams.remote_commands == ["play"], f"the phone got {phone.ams.remote_commands}")


@case("iphone-dead-session", seconds=90)
async def dead_session(bed: Testbed) -> None:
    """A Control Point with handles that are no longer valid: the session ends, then the link, and both recover."""
    for code in (0x01, 0x12):
        phone = bed.phone()
        phone.ancs.refusal = lambda _, code=code: code if len(phone.links) < 2 else None
        daemon = await bed.daemon(phone)
        phone.ancs.post(Notification(1))
        await phone.connected(2, within=40)
        await daemon.event("notification", uid=1, title="Mum", within=15)
        check(phone.links[0].closed, "the dead link is still there")
        await daemon.stop()


@case("iphone-rules")
async def rules(bed: Testbed) -> None:
    """Texts cut at 512 bytes, late deliveries that are marked as pre-existing, and a change that is announced once."""
    daemon, phone, since = await bed.served("--quirk", "preexisting=1", profile=REAL)
    await asyncio.sleep(1.5)
    phone.ancs.post(Notification(4, message="ä" * 400))
    event = await daemon.event("notification", since=since, uid=4)
    check(len(event["message"].encode()) <= 512, f"{len(event['message'].encode())} bytes")
    check("pre-existing" not in event["flags"], f"what came late is no news: {event['flags']}")
    for title in ["one", "two", "three"]:
        phone.ancs.modify(4, title=title)
    await daemon.event("notification", since=event, uid=4, change="modified", title="three")
