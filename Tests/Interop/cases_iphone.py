# SPDX-License-Identifier: GPL-3.0-or-later
"""What captures of real iPhones show, and how ancsd handles it."""

from __future__ import annotations

import asyncio

from Harness.ancs import NAMELESS, Notification
from Harness.case import case, check
from Harness.profiles import REAL

from .testbed import Testbed


@case("iphone-waiting")
async def waiting(bed: Testbed) -> None:
    """Pre-existing notifications are silent, whatever they were when they arrived; a flag without a name has its number."""
    phone = bed.phone()
    phone.ancs.post(Notification(8, flags=NAMELESS))
    daemon = await bed.daemon(phone)
    event = await daemon.event("notification", uid=8)
    check(set(event["flags"]) == {"silent", "pre-existing", "negative-action", "0x20"}, f"flags: {event['flags']}")


@case("iphone-rules")
async def rules(bed: Testbed) -> None:
    """Texts cut at 512 bytes, late deliveries that are marked as pre-existing, and a change that is announced once."""
    daemon, phone, since = await bed.served("--quirk", "preexisting=1", profile=REAL)
    await asyncio.sleep(1.5)
    phone.ancs.post(Notification(4, message="ä" * 400))
    event = await daemon.event("notification", since=since, uid=4)
    check(len(event["message"].encode()) <= 512, f"{len(event['message'].encode())} bytes")
    check(event["message"].endswith("…") and event["truncated"] == ["message"], f"it is not known as cut: {event}")
    check("pre-existing" not in event["flags"], f"what came late is no news: {event['flags']}")
    for title in ["one", "two", "three"]:
        phone.ancs.modify(4, title=title)
    await daemon.event("notification", since=event, uid=4, change="modified", title="three")
