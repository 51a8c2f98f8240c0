# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the phone's texts leave the board."""

from __future__ import annotations

import asyncio
import json

from Harness.ancs import Notification, call
from Harness.case import case, check, expect

from .testbed import PHONE, Testbed

EVENTS = f"{PHONE}/event/notification"
REQUEST = f"{PHONE}/request"


@case("mqtt-content-app", seconds=90)
async def content_app(bed: Testbed) -> None:
    """With `content = "app"`, the traffic contains none of the virtual phone's texts: no title, message or track."""
    broker = await bed.mosquitto()
    relay = await bed.relay(broker)
    daemon = await bed.start_daemon("--virtual-phone")
    await bed.bridge(daemon, relay.url, preexisting=True)
    watcher = await bed.watcher(broker)
    await watcher.message("ancsd/kitchen/state", state="online")
    # The whole script: it ends with music.
    await daemon.event("media", within=60, where=lambda e: e["track"]["title"] == "andata", wanted="the last track")
    for method, params in [("notifications.list", {}), ("media.get", {}), ("status", {})]:
        await watcher.ask(f"{REQUEST}/{method}", params)
    listed = await daemon.listed("notifications")
    for notification in listed[:3]:
        await watcher.ask(f"{REQUEST}/notifications.get", {"uid": notification["uid"]})
    await asyncio.sleep(1)
    secrets = set()
    for event in daemon.events:
        for name in ("title", "subtitle", "message"):
            secrets.update(line for line in str(event.get(name) or "").splitlines() if len(line) >= 4)
        track = event.get("track") or {}
        secrets.update(text for name in ("artist", "album", "title") if (text := track.get(name)))
    check(len(secrets) >= 30, f"the phone has only {len(secrets)} texts")
    # The discovery payloads have words of their own, such as “Missed calls”.
    traffic = bytes(relay.sent)
    for message in watcher.of("homeassistant/#"):
        check(message.payload in traffic, f"{message.topic} did not come this way")
        traffic = traffic.replace(message.payload, b"")
    for text in secrets:
        forms = {text.encode(), json.dumps(text)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}
        check(not any(form in traffic for form in forms), f"{text!r} was sent to the broker")
    check(b"com.apple.MobileSMS" in traffic, "nothing of the notifications was sent at all")
    bed.remark(f"{len(secrets)} texts, {len(traffic):,} bytes")


@case("mqtt-content-levels")
async def content_levels(bed: Testbed) -> None:
    """`none`, `app`, `title`, `full`: withheld members are absent, and named."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.served()
    watcher = await bed.watcher(broker)
    for level in ("none", "app", "title", "full"):
        await bed.bridge(daemon, broker.url, board=level, content=level)
        await watcher.message(f"ancsd/{level}/phone/iphone/state", state="online")
    phone.ancs.post(Notification(1, title="Secret title", subtitle="Secret subtitle", message="Secret message"))
    told = {}
    for level in ("app", "title", "full"):
        told[level] = (await watcher.message(f"ancsd/{level}/phone/iphone/event/notification", uid=1)).json
    await watcher.message("ancsd/none/phone/iphone/counts", total=1)
    check(not watcher.of("ancsd/none/phone/iphone/event/#"), "something was published at `none`")
    check(not {"title", "subtitle", "message"} & told["app"].keys(), f"with `app` this was published: {told['app']}")
    check({"title", "subtitle", "message"} <= set(told["app"]["withheld"]), f"withheld are {told['app']['withheld']}")
    expect(told["title"], title="Secret title", subtitle="Secret subtitle", withheld=["message", "message_size"])
    check("message" not in told["title"], f"with `title` this was published: {told['title']}")
    expect(told["full"], title="Secret title", message="Secret message")
    check("withheld" not in told["full"], f"withheld with `full`: {told['full'].get('withheld')}")
    everything = b"".join(m.payload for m in watcher.of("ancsd/none/#") + watcher.of("ancsd/app/#"))
    check(b"Secret" not in everything, "a text was published at `none` or `app`")
    answer = await watcher.ask("ancsd/none/phone/iphone/request/notifications.list")
    check(b"Secret" not in json.dumps(answer).encode(), f"the list at `none` is {answer}")
    phone.ancs.post(call(2))
    for level in ("app", "full"):
        ringing = await watcher.message(f"ancsd/{level}/phone/iphone/call", state="ringing")
        check(ringing.json == {"state": "ringing", "app": "Phone"}, f"at `{level}` the retained call is {ringing.json}")
        rings = await watcher.message(f"ancsd/{level}/phone/iphone/event/call", change="incoming")
        check(rings.json.get("title") == (None if level == "app" else "+1 (212) 555-0142"), f"at `{level}` the call is {rings.json}")


@case("mqtt-content-rules")
async def content_rules(bed: Testbed) -> None:
    """A rule sets the content for an app: an allow list is `none` with rules."""
    broker = await bed.mosquitto()
    rule = '[[mqtt.rule]]\napp = "com.apple.mobilemail"\ncontent = "full"'
    _, phone, _ = await bed.board(broker, rule, content="none")
    watcher = await bed.online(broker)
    phone.ancs.post(Notification(1, message="Secret message"))
    phone.ancs.post(Notification(2, app_id="com.apple.mobilemail", category=6, message="Open message"))
    told = await watcher.message(EVENTS, uid=2)
    expect(told.json, message="Open message")
    await watcher.message(f"{PHONE}/counts", total=2)
    check(not [m for m in watcher.of(EVENTS) if m.json["uid"] == 1], "the other app was published")
    phone.ancs.remove(2)
    await watcher.message(EVENTS, uid=2, change="removed")
    phone.ancs.remove(1)
    await watcher.message(f"{PHONE}/counts", total=0)
    check(not [m for m in watcher.of(EVENTS) if m.json["uid"] == 1], "the other app's removal was published")


@case("mqtt-digest")
async def digests(bed: Testbed) -> None:
    """Two boards with the same key give a notification the same digest; without a key there is none."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.served()
    watcher = await bed.watcher(broker)
    key = bed.work / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    for board in ("one", "two"):
        await bed.bridge(daemon, broker.url, board=board, dedupe_key_file=str(key))
        await watcher.message(f"ancsd/{board}/phone/iphone/state", state="online")
    await bed.bridge(daemon, broker.url, board="three")
    await watcher.message("ancsd/three/phone/iphone/state", state="online")
    phone.ancs.post(Notification(1), Notification(2, title="Dad"))
    found = {}
    for board in ("one", "two", "three"):
        for uid in (1, 2):
            event = await watcher.message(f"ancsd/{board}/phone/iphone/event/notification", uid=uid)
            found[board, uid] = event.json.get("digest")
    check(found["one", 1] == found["two", 1] != found["one", 2], f"the digests are {found}")
    check(len(found["one", 1]) == 16 and int(found["one", 1], 16) >= 0, f"the digest is {found['one', 1]}")
    check(found["three", 1] is None, "there is a digest without a key")
