# SPDX-License-Identifier: GPL-3.0-or-later
"""What a phone is paired for: notifications, actions, media, battery, time."""

from __future__ import annotations

from Harness.ams import LONG_TITLE
from Harness.ancs import Notification
from Harness.case import case, check, eventually, expect
from Harness.profiles import IDEAL

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


@case("notification-cut")
async def cut(bed: Testbed) -> None:
    """A message cut inside a character loses the broken end and is marked as truncated."""
    daemon, phone, subscribed = await bed.served("--max-length", "30", profile=IDEAL)
    text = "a" * 29 + "é and what the phone leaves out"
    phone.ancs.post(Notification(3, message=text, subtitle="", date=""))
    event = await daemon.event("notification", since=subscribed, uid=3)
    expect(event, message="a" * 29, truncated=["message"], subtitle="", date=None)


@case("notification-waiting")
async def waiting(bed: Testbed) -> None:
    """Notifications from before the session come too, marked as such; none of many is lost."""
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    phone.ancs.post(*(Notification(uid, title=f"number {uid}") for uid in range(1, 21)))
    await phone.connect()
    await daemon.event("subscribed")
    for uid in range(1, 21):
        event = await daemon.event("notification", uid=uid, title=f"number {uid}", within=15)
        check("pre-existing" in event["flags"], f"the flags of {uid} are {event['flags']}")
    listed = await daemon.listed("notifications")
    check(len(listed) == 20, f"notifications.list has {len(listed)} of 20")


@case("action")
async def action(bed: Testbed) -> None:
    """Actions reach the phone; one that the phone refuses is an error with its ATT name."""
    daemon, phone, subscribed = await bed.served()
    phone.ancs.post(Notification(9, category=1, positive="Answer", negative="Decline"))
    await daemon.event("notification", since=subscribed, uid=9)
    done = await daemon.call("notifications.act", uid=9, action="positive")
    check(done is True, f"notifications.act returned {done}")
    check(phone.ancs.actions == [(9, "positive")], f"the phone saw {phone.ancs.actions}")
    await daemon.event("notification", since=subscribed, uid=9, change="removed")
    phone.ancs.post(Notification(10))
    await daemon.event("notification", since=subscribed, uid=10)
    phone.ancs.actions_fail = True
    error = await daemon.refused("notifications.act", uid=10, action="negative")
    check(error.get("data") == {"att": 0xA3}, f"the error is {error}")
    check("Action Failed" in error.get("message", ""), f"the error is {error}")


@case("media")
async def media(bed: Testbed) -> None:
    """Media both ways: a command changes the track, and a change on the phone becomes an event."""
    daemon, phone, _ = await bed.served()
    first = await daemon.event("media")
    await daemon.settled("media")
    state = await daemon.call("media.get")
    expect(state["player"], name="Music", state="playing", volume=0.5)
    expect(state["track"], title="Sinnerman", duration=622)
    expect(state["queue"], count=3, index=0)
    check(len(state["commands"]) == 14, f"the commands are {state['commands']}")

    check(await daemon.call("media.command", command="next") is True, "media.command is not true")
    changed = await daemon.event(
        "media", where=lambda e: e["track"]["title"] == LONG_TITLE, since=first, wanted="the whole title"
    )
    check("track.title" in changed["changed"], f"changed names {changed['changed']}")
    check(phone.ams.remote_commands == ["next"], f"the phone saw {phone.ams.remote_commands}")
    check((2, 2) in phone.ams.reads, "the long title was not read by Entity Attribute")

    phone.ams.play(2)
    await daemon.event(
        "media", where=lambda e: e["track"]["title"] == "andata", since=changed, wanted="the new track"
    )
    await daemon.call("media.command", command="pause")
    paused = await daemon.event(
        "media", where=lambda e: e["player"]["state"] == "paused", since=changed, wanted="a pause"
    )
    check("player.state" in paused["changed"], f"changed names {paused['changed']}")


@case("companions")
async def companions(bed: Testbed) -> None:
    """The phone's battery and clock."""
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    phone.services.clock_ahead = 3600
    await phone.connect()
    await daemon.event("battery", level=80)
    offset = (await daemon.event("time"))["offset"]
    check(abs(offset - 3600) <= 3, f"the offset is {offset}, the phone is 3600 s ahead")
    battery = phone.services.battery
    await eventually(lambda: phone.server.subscribed(phone.connection, battery), "not subscribed")
    phone.services.set_battery(79)
    await daemon.event("battery", level=79)


@case("sharing-off")
async def sharing_off(bed: Testbed) -> None:
    """Share System Notifications is off: an event says so; once it is on, notifications come."""
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    phone.ancs.authorized = False
    phone.ancs.post(Notification(1, title="hidden"))
    await phone.connect()
    denied = await daemon.event("authorization", granted=False)
    phone.ancs.authorized = True
    phone.ancs.post(Notification(2, title="shown"))
    await daemon.event("authorization", since=denied, granted=True, within=15)
    await daemon.event("notification", since=denied, uid=2, title="shown")


@case("services-changed")
async def services_changed(bed: Testbed) -> None:
    """ANCS goes and returns at new handles: found by Service Changed."""
    daemon, phone, subscribed = await bed.served()
    await phone.server.unpublish(phone.ancs.service)
    gone = await daemon.event("services-changed", since=subscribed)
    check("ancs" not in gone["services"], f"ancs is reported as present: {gone}")
    await phone.server.publish(phone.ancs.service)
    back = await daemon.event(
        "services-changed", where=lambda e: "ancs" in e["services"], since=gone, wanted="ancs"
    )
    await eventually(
        lambda: phone.server.subscribed(phone.connection, phone.ancs.source), "not subscribed again"
    )
    phone.ancs.post(Notification(5, title="after the change"))
    await daemon.event("notification", since=back.index - 1, uid=5, title="after the change")
