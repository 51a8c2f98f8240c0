# SPDX-License-Identifier: GPL-3.0-or-later
"""What captures of real iPhones show, and what ancsd makes of it."""

from __future__ import annotations

from Harness import att
from Harness.ancs import Notification, call
from Harness.case import case, check, expect

from .testbed import Testbed


@case("iphone-begins")
async def begins(bed: Testbed) -> None:
    """Service Changed and the phone's MTU request come first: one is confirmed once, the other answered."""
    daemon, phone, subscribed = await bed.served()
    expect(subscribed, mtu=185)
    check(phone.link.confirmations() == 1, f"{phone.link.confirmations()} confirmations")
    answers = [pdu for pdu in phone.link.received if pdu[0] == att.MTU_RESPONSE]
    check(len(answers) == 1, f"the responses to the MTU request are {answers}")
    await phone.quiet()
    asked = [pdu for pdu in phone.link.requests() if pdu[0] == att.MTU_REQUEST]
    check(len(asked) <= 1, f"the MTU was asked for {len(asked)} times")
    daemon.none("disconnected")


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
    """What was there before is silent, whatever it was when it came."""
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
