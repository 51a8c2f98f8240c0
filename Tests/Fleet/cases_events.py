# SPDX-License-Identifier: GPL-3.0-or-later
"""Events: never retained, expiring, each once and in order."""

from __future__ import annotations

from Harness.ancs import Notification
from Harness.case import case, check, expect

from .testbed import EVENTS, Testbed
from .watcher import Watcher


def uids(watcher: Watcher, since: int = 0, change: str = "added") -> list[int]:
    """The UIDs of the notifications published with this change."""
    return [m.json["uid"] for m in watcher.of(EVENTS, since) if m.json["change"] == change]


@case("mqtt-events")
async def events(bed: Testbed) -> None:
    """A notification is an event on its own topic: not retained, QoS 1, with an expiry and the daemon's life."""
    _, daemon, phone, _, watcher = await bed.watched()
    phone.ancs.post(Notification(1, category=6, app_id="com.apple.mobilemail"))
    added = await watcher.message(EVENTS, uid=1, change="added")
    expect(added.json, event="notification", category="email", app_id="com.apple.mobilemail", phone="iphone")
    check(not added.retained and added.qos == 1, f"retained: {added.retained}, QoS {added.qos}")
    expiry = added.properties.get("MessageExpiryInterval")
    check(expiry is not None and 590 <= expiry <= 600, f"the expiry is {expiry}")
    status = await daemon.call("status")
    marks = dict(added.properties.get("UserProperty", []))
    check(marks.get("life") == status["life"], f"the user properties are {marks}")
    phone.ancs.modify(1, title="Dad")
    await watcher.message(EVENTS, uid=1, change="modified")
    phone.ancs.remove(1)
    await watcher.message(EVENTS, uid=1, change="removed")
    seqs = [m.json["seq"] for m in watcher.of(EVENTS)]
    check(seqs == sorted(set(seqs)), f"the numbers are {seqs}")
    check(not [t for t in await watcher.retained("#") if "/event" in t], "an event is retained")
