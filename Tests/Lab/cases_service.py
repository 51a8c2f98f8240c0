# SPDX-License-Identifier: GPL-3.0-or-later
"""What a phone is paired for: notifications and media."""

from __future__ import annotations

from Harness.ancs import Notification
from Harness.case import case, expect

from .testbed import Testbed


@case("notification")
async def notification(bed: Testbed) -> None:
    """A notification that is longer than a PDU; modified and removed."""
    daemon, phone, subscribed = await bed.served()
    posted = Notification(0x01020304, title="Ευρυδίκη ☎️", message="Are you coming on Saturday? 🎂 " * 20)
    phone.ancs.post(posted)
    event = await daemon.event("notification", since=subscribed, uid=posted.uid)
    expect(event, change="added", app="Messages", title=posted.title, message=posted.message, adapter=bed.adapter.name, phone=phone.address)

    phone.ancs.modify(posted.uid, message="Saturday is off.")
    changed = await daemon.event("notification", since=event, uid=posted.uid, change="modified")
    expect(changed, message="Saturday is off.")
    phone.ancs.remove(posted.uid)
    await daemon.event("notification", since=changed, uid=posted.uid, change="removed")
