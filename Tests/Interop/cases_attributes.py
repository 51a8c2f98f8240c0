# SPDX-License-Identifier: GPL-3.0-or-later
"""What events have: every attribute of a notification."""

from Harness.ancs import Notification
from Harness.case import case, check, expect
from Harness.testbed import check_served

from .testbed import Testbed

KEYS = (
    "event seq time adapter phone change uid category category_count flags app_id app title subtitle "
    "message message_size date positive negative truncated repeat error"
).split()


@case("all-attributes")
async def all_attributes(bed: Testbed) -> None:
    """Added with all eight attributes, modified, removed; keys in the documented order."""
    daemon, phone, _ = await bed.served()
    notification = Notification(
        0x01020304, title="Ευρυδίκη ☎️", subtitle="Family", message="Saturday? 🎂 " * 40,
        date="20261121T070000", category=4, positive="Reply", negative="Clear",
    )
    event = await daemon.passes_on(phone, notification)
    expect(
        event, change="added", category="social", category_count=1, app_id="com.apple.MobileSMS",
        app="Messages", title=notification.title, subtitle="Family", message=notification.message,
        message_size=len(notification.message.encode()), date="2026-11-21T07:00:00",
        positive="Reply", negative="Clear",
    )
    check(sorted(event["flags"]) == ["negative-action", "positive-action"], f"{event['flags']}")
    check("truncated" not in event and "error" not in event, f"the event is {event}")
    check(not event.get("repeat"), "it is marked as a repetition")
    order = [key for key in event if key in KEYS]
    check(order == sorted(order, key=KEYS.index), f"the keys are {' '.join(event)}")
    phone.ancs.modify(notification.uid, message="Saturday is off.", positive="")
    changed = await daemon.event("notification", since=event, uid=notification.uid)
    expect(changed, change="modified", message="Saturday is off.", flags=["negative-action"])
    phone.ancs.remove(notification.uid)
    gone = await daemon.event("notification", since=changed, uid=notification.uid)
    expect(gone, change="removed", category="social")


@case("dates")
async def dates(bed: Testbed) -> None:
    """A date becomes ISO 8601; an empty or malformed one becomes null."""
    daemon, phone, since = await bed.served()
    good = {
        "20261121T070000": "2026-11-21T07:00:00", "20240229T235959": "2024-02-29T23:59:59",
        "19991231T000000": "1999-12-31T00:00:00", "20390601T120000": "2039-06-01T12:00:00",
    }
    bad = ["", "2026", "20261321T070000", "20261121T250000", "20261121 070000", "20230229T070000", "２0261121T070000"]
    wanted: dict[str, str | None] = {**good, **dict.fromkeys(bad)}
    phone.ancs.post(*(Notification(uid, date=text) for uid, text in enumerate(wanted)))
    for uid, (text, date) in enumerate(wanted.items()):
        event = await daemon.event("notification", since=since, uid=uid)
        found = event.get("date", "absent")
        check(found == date, f"{text!r} became {found!r}")


@case("wide-uids")
async def wide_uids(bed: Testbed) -> None:
    """UIDs that an integer of 32 bits with a sign does not hold are numbers like others: in events, lists and requests."""
    daemon, phone, since = await bed.served()
    uids = {0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF}
    phone.ancs.post(*map(Notification, uids))
    for uid in uids:
        await daemon.event("notification", since=since, uid=uid)
    listed = (await bed.run("list", "--json", "--socket", str(daemon.socket))).expect(0).objects
    check({one["uid"] for one in listed} == uids, f"the list has {listed}")
    for uid in uids:
        check(await daemon.call("notifications.act", uid=uid, action="negative") is True, f"{uid} was not acted on")
        await daemon.event("notification", since=since, uid=uid, change="removed")


@case("early")
async def early(bed: Testbed) -> None:
    """--early prints `incoming` before the attributes are fetched; without it there is none."""
    daemon, phone, since = await bed.served("--early")
    phone.ancs.delay = 0.3
    phone.ancs.post(Notification(1, category=1, positive="Answer"))
    incoming = await daemon.event("incoming", since=since, uid=1)
    expect(incoming, change="added", category="incoming-call", category_count=1)
    check(set(incoming["flags"]) == {"positive-action", "negative-action"}, f"{incoming}")
    event = await daemon.event("notification", since=since, uid=1)
    check(incoming.index < event.index, "incoming came after the notification")
    await daemon.stop()
    plain, other, since = await bed.served()
    await check_served(plain, other, 2)
    plain.none("incoming")
