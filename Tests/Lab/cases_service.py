# SPDX-License-Identifier: GPL-3.0-or-later
"""What a phone is paired for: notifications, actions, media, battery, time."""

from __future__ import annotations

from harness import Lab, case, check, eventually


@case("notification")
async def notification(lab: Lab) -> None:
    """A notification with all its attributes, longer than a PDU; modified and removed."""
    daemon, phone, subscribed = await lab.served()
    note = lab.note(
        uid=0x01020304, app_id="com.apple.MobileSMS", title="Ευρυδίκη ☎️", subtitle="Family",
        message="Are you coming on Saturday? 🎂 " * 20, date="20261121T070000", category=4,
        positive="Reply", negative="Clear",
    )  # fmt: skip
    await phone.notifications.post(note)
    event = await daemon.event("notification", since=subscribed, uid=note.uid)
    expected = {
        "change": "added", "category": "social", "category_count": 1, "app_id": note.app_id,
        "app": "Messages", "title": note.title, "subtitle": note.subtitle, "message": note.message,
        "message_size": len(note.message.encode()), "date": "2026-11-21T07:00:00",
        "positive": "Reply", "negative": "Clear",
        "adapter": lab.adapter.name, "phone": phone.address,
    }  # fmt: skip
    for key, value in expected.items():
        check(event.get(key) == value, f"{key} is {event.get(key)!r}, not {value!r}")
    check(
        sorted(event["flags"]) == ["negative-action", "positive-action"], f"flags {event['flags']}"
    )
    check("truncated" not in event, f"truncated: {event.get('truncated')}")

    await phone.notifications.modify(note.uid, message="Saturday is off.")
    changed = await daemon.event("notification", since=event, uid=note.uid, change="modified")
    check(
        changed["message"] == "Saturday is off.", f"the modified message is {changed['message']!r}"
    )
    await phone.notifications.remove(note.uid)
    await daemon.event("notification", since=changed, uid=note.uid, change="removed")


@case("notification-cut")
async def cut(lab: Lab) -> None:
    """A message cut by the maximum length inside a character loses the broken tail and says so."""
    daemon, phone, subscribed = await lab.served("--max-length", "30")
    text = "a" * 29 + "é and what the phone leaves out"
    await phone.notifications.post(lab.note(uid=3, message=text, subtitle="", date=""))
    event = await daemon.event("notification", since=subscribed, uid=3)
    check(event["message"] == "a" * 29, f"the message is {event['message']!r}")
    check(event.get("truncated") == ["message"], f"truncated is {event.get('truncated')}")
    check(event["subtitle"] == "", "an empty subtitle is no empty string")
    check(
        event.get("date", "") is None, f"an empty date is {event.get('date', 'absent')!r}, not null"
    )


@case("notification-waiting")
async def waiting(lab: Lab) -> None:
    """What was there before the session comes too, marked, with none lost among many."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    for uid in range(1, 21):
        await phone.notifications.post(lab.note(uid=uid, title=f"number {uid}"))
    await phone.come()
    await daemon.event("subscribed")
    for uid in range(1, 21):
        event = await daemon.event("notification", uid=uid, title=f"number {uid}", within=15)
        check(
            "pre-existing" in event["flags"], f"{uid} is not marked pre-existing: {event['flags']}"
        )
    listed = await daemon.call("notifications.list")
    check(len(listed) == 20, f"notifications.list has {len(listed)} of 20")


@case("action")
async def action(lab: Lab) -> None:
    """Actions reach the phone; one that the phone refuses is an error with its ATT name."""
    from daemon import Refused

    daemon, phone, subscribed = await lab.served()
    await phone.notifications.post(
        lab.note(uid=9, category=1, positive="Answer", negative="Decline")
    )
    await daemon.event("notification", since=subscribed, uid=9)
    done = await daemon.call("notifications.act", uid=9, action="positive")
    check(done is True, f"notifications.act answered {done}")
    check(
        phone.notifications.seen.actions == [(9, "positive")],
        f"the phone saw {phone.notifications.seen.actions}",
    )
    await daemon.event("notification", since=subscribed, uid=9, change="removed")
    await phone.notifications.post(lab.note(uid=10))
    await daemon.event("notification", since=subscribed, uid=10)
    phone.notifications.actions_fail = True
    try:
        await daemon.call("notifications.act", uid=10, action="negative")
    except Refused as refused:
        check(refused.error.get("data") == {"att": 0xA3}, f"the error is {refused.error}")
        check("Action Failed" in refused.error.get("message", ""), f"the error is {refused.error}")
    else:
        check(False, "an action that the phone refused was said to be done")


@case("media")
async def media(lab: Lab) -> None:
    """Media both ways: a command changes the track, a change on the phone becomes an event."""
    daemon, phone, _ = await lab.served()
    first = await daemon.event("media")
    await daemon.settled("media")
    state = await daemon.call("media.get")
    check(state["player"]["name"] == "Music", f"the player is {state['player']}")
    check(state["player"]["state"] == "playing", f"the player is {state['player']}")
    check(state["player"]["volume"] == 0.5, f"the player is {state['player']}")
    check(state["track"]["title"] == "Sinnerman", f"the track is {state['track']}")
    check(state["track"]["duration"] == 622, f"the track is {state['track']}")
    check(
        state["queue"]["count"] == 3 and state["queue"]["index"] == 0,
        f"the queue is {state['queue']}",
    )
    check(len(state["commands"]) == 14, f"the commands are {state['commands']}")

    check(await daemon.call("media.command", command="next") is True, "media.command is not true")
    long_title = phone.media.tracks[1][2]
    changed = await daemon.event_where(
        "media",
        lambda e: e["track"]["title"] == long_title,
        since=first,
        wanted="the long title whole",
    )
    check("track.title" in changed["changed"], f"changed names {changed['changed']}")
    check(phone.media.remote_commands == ["next"], f"the phone saw {phone.media.remote_commands}")
    check((2, 2) in phone.media.reads, "the long title was not read by Entity Attribute")

    await phone.media.play(2)
    await daemon.event_where(
        "media",
        lambda e: e["track"]["title"] == "andata",
        since=changed,
        wanted="the phone's new track",
    )
    await daemon.call("media.command", command="pause")
    paused = await daemon.event_where(
        "media",
        lambda e: e["player"]["state"] == "paused",
        since=changed,
        wanted="the player paused",
    )
    check("player.state" in paused["changed"], f"changed names {paused['changed']}")


@case("companions")
async def companions(lab: Lab) -> None:
    """The phone's battery and clock."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    phone.services.clock_ahead = 3600
    await phone.come()
    await daemon.event("battery", level=80)
    clock = await daemon.event("time")
    check(
        abs(clock["offset"] - 3600) <= 3,
        f"the offset is {clock['offset']}, the phone is 3600 s ahead",
    )
    server, battery = phone.services.server, phone.services.battery
    await eventually(lambda: server.subscribed(phone.connection, battery), "not subscribed")
    await phone.services.set_battery(79)
    await daemon.event("battery", level=79)


@case("sharing-off")
async def sharing_off(lab: Lab) -> None:
    """Share System Notifications is off: said as such; once it is on, notifications come."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    phone.notifications.authorized = False
    await phone.notifications.post(lab.note(uid=1, title="hidden"))
    await phone.come()
    denied = await daemon.event("authorization", granted=False)
    phone.notifications.authorized = True
    await phone.notifications.post(lab.note(uid=2, title="shown"))
    await daemon.event("authorization", since=denied, granted=True, within=15)
    await daemon.event("notification", since=denied, uid=2, title="shown")


@case("services-changed")
async def services_changed(lab: Lab) -> None:
    """The phone takes ANCS away and brings it back at new handles: found by Service Changed."""
    daemon, phone, subscribed = await lab.served()
    server, service = phone.services.server, phone.notifications.service
    await server.unpublish(service)
    gone = await daemon.event("services-changed", since=subscribed)
    check("ancs" not in gone["services"], f"ancs is said to be there: {gone}")
    await server.publish(service)
    back = await daemon.event_where(
        "services-changed", lambda e: "ancs" in e["services"], since=gone, wanted="ancs back"
    )
    await eventually(
        lambda: server.subscribed(phone.connection, phone.notifications.source),
        "not subscribed again",
    )
    await phone.notifications.post(lab.note(uid=5, title="after the change"))
    await daemon.event("notification", since=back.index - 1, uid=5, title="after the change")
