# SPDX-License-Identifier: GPL-3.0-or-later
"""What a phone is paired for: notifications and media."""

from __future__ import annotations

from Harness.ancs import Notification
from Harness.case import case, check, expect

from .testbed import Testbed


@case("notification")
async def notification(bed: Testbed) -> None:
    """A notification with all attributes, longer than a PDU; modified and removed."""
    daemon, phone, subscribed = await bed.served()
    posted = Notification(
        0x01020304, app_id="com.apple.MobileSMS", title="Ευρυδίκη ☎️", subtitle="Family",
        message="Are you coming on Saturday? 🎂 " * 20, date="20261121T070000", category=4,
        positive="Reply", negative="Clear",
    )
    phone.ancs.post(posted)
    event = await daemon.event("notification", since=subscribed, uid=posted.uid)
    expect(
        event, change="added", category="social", category_count=1, app_id=posted.app_id, app="Messages",
        title=posted.title, subtitle=posted.subtitle, message=posted.message,
        message_size=len(posted.message.encode()), date="2026-11-21T07:00:00", positive="Reply",
        negative="Clear", adapter=bed.adapter.name, phone=phone.address,
    )
    check(sorted(event["flags"]) == ["negative-action", "positive-action"], f"{event['flags']}")
    check("truncated" not in event, f"truncated: {event.get('truncated')}")

    phone.ancs.modify(posted.uid, message="Saturday is off.")
    changed = await daemon.event("notification", since=event, uid=posted.uid, change="modified")
    expect(changed, message="Saturday is off.")
    phone.ancs.remove(posted.uid)
    await daemon.event("notification", since=changed, uid=posted.uid, change="removed")
