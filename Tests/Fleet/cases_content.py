# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the phone's texts leave the board."""

from __future__ import annotations

import json

from Harness.case import case, check

from .testbed import Testbed


@case("mqtt-content-bytes", seconds=120)
async def content_bytes(bed: Testbed) -> None:
    """Of all the bytes that a bridge sends while the virtual phone plays its whole script, none is of a text that its `content`
    withholds."""
    broker = await bed.mosquitto()
    daemon = await bed.start_daemon("--virtual-phone")
    watcher = await bed.watcher(broker)
    relays = {level: await bed.relay(broker) for level in ("none", "app", "title", "full")}
    for level, relay in relays.items():
        await bed.bridge(daemon, relay.url, board=level, content=level, preexisting=True)
    # The script ends with music.
    await daemon.event("media", within=60, where=lambda e: e["track"]["title"] == "andata", wanted="the last track")
    listed = [notification["uid"] for notification in await daemon.listed("notifications")]
    for level in relays:
        await watcher.message(f"ancsd/{level}/phone/iphone/counts", total=len(listed))
        for method in ("notifications.list", "media.get", "status"):
            await watcher.ask(f"ancsd/{level}/phone/iphone/request/{method}", {})
        for uid in listed[:3]:
            await watcher.ask(f"ancsd/{level}/phone/iphone/request/notifications.get", {"uid": uid})
    apps: set[str] = set()
    titles: set[str] = set()
    messages: set[str] = set()
    for event in daemon.events:
        track = event.get("track") or {}
        apps.update(filter(None, [event.get("app_id")]))
        titles.update(filter(None, [event.get("title"), event.get("subtitle"), *(track.get(name) for name in ("artist", "album", "title"))]))
        messages.update(line for line in str(event.get("message") or "").splitlines() if len(line) >= 4)
    messages = {text for text in messages if not any(text in title for title in titles)}
    check(len(titles) >= 15 and len(messages) >= 15, f"the phone has only {len(titles)} titles and {len(messages)} messages")
    withheld = {"none": apps | titles | messages, "app": titles | messages, "title": messages, "full": set[str]()}
    for level, relay in relays.items():
        await relay.acknowledged()
        # The discovery payloads have words of their own, such as “Missed calls”.
        traffic = bytes(relay.sent)
        for message in watcher.of(f"homeassistant/device/{level}/#"):
            check(message.payload in traffic, f"{message.topic} did not come this way")
            traffic = traffic.replace(message.payload, b"")

        def shown(text: str) -> bool:
            forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
            return any(form.encode() in traffic for form in forms)

        told = [text for text in withheld[level] if shown(text)]
        check(not told, f"with `{level}`, {told} was sent to the broker")
        # What may be sent was found in the same way.
        missing = [text for text in (apps | titles | messages) - withheld[level] if not shown(text)]
        check(not missing, f"with `{level}`, {missing} was not sent")
        bed.remark(f"{level}: {len(traffic):,} bytes")
