# SPDX-License-Identifier: GPL-3.0-or-later
"""What is published: the states of the board and its phones, the will, events, and how much of the phone's texts."""

import asyncio
import json

from Harness import procfs
from Harness.ancs import Notification, call
from Harness.case import case, check, expect
from Harness.process import run

from .testbed import Testbed
from .watcher import EVENTS, PHONE, Watcher


@case("mqtt-states")
async def states(bed: Testbed) -> None:
    """Each state is retained, has QoS 1, and matches the daemon's; the first line of the log says what is sent where."""
    broker, daemon, phone, bridge, watcher = await bed.watched()
    first = bridge.log.splitlines()[0]
    check(f"127.0.0.1:{broker.port}" in first and "kitchen" in first, f"the first line is {first}")
    state = await watcher.message("ancsd/kitchen/state", state="online")
    status = await daemon.call("status")
    expect(state.json, life=status["life"], version=status["version"])
    printed = await run(bed.binary, "--version")
    check(printed.out.split()[1] == status["version"], f"the version is {status['version']}, and --version prints {printed.out}")
    await watcher.message(f"{PHONE}/state", state="online", authorization="unknown")
    await watcher.message(f"{PHONE}/battery", level=80)
    await watcher.message(f"{PHONE}/call", state="idle")
    await watcher.message(f"{PHONE}/counts", total=0)
    services = watcher.last(f"{PHONE}/state").json["services"]
    check(set(services) == {"ancs", "ams", "battery", "time"}, f"the services are {services}")
    board = watcher.last("ancsd/kitchen/board").json
    check({"wait", "why", "pairable"} <= board.keys(), f"the board's state is {board}")
    phone.ancs.post(Notification(1), call(2))
    await watcher.message(f"{PHONE}/counts", total=2)
    categories = watcher.last(f"{PHONE}/counts").json["categories"]
    expect(categories, **{"social": 1, "incoming-call": 1, "email": 0})
    rings = await watcher.message(f"{PHONE}/call", state="ringing")
    expiry = rings.properties.get("MessageExpiryInterval")
    check(expiry is not None and expiry <= 120, f"after kill -9 it would ring for ever: it expires after {expiry} s")
    phone.ancs.remove(2)
    await watcher.message(f"{PHONE}/call", since=watcher.messages.index(watcher.last(f"{PHONE}/call")), state="idle")
    kept = await watcher.retained("ancsd/#")
    wanted = {"ancsd/kitchen/state", "ancsd/kitchen/board",
              *(f"{PHONE}/{name}" for name in ("state", "battery", "media", "call", "counts"))}
    check(set(kept) == wanted, f"retained are {sorted(kept)}")
    for message in watcher.of("ancsd/#"):
        check(message.qos == 1, f"{message.topic} came with QoS {message.qos}")
    check(not any("AA:" in m.payload.decode() or m.topic.count(":") for m in watcher.messages), "an address is in a topic")


@case("mqtt-older-daemon")
async def older_daemon(bed: Testbed) -> None:
    """An older daemon, which does not understand the subscription, is logged as such; the states are published."""
    broker = await bed.mosquitto()
    daemon, _, _ = await bed.served()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        responses, requests = await asyncio.open_unix_connection(str(daemon.socket), limit=1 << 20)
        bed.cleanups.append(requests.close)
        while line := await reader.readline():
            if b'"subscribe"' in line:
                error = {"code": -32602, "message": "max_age is no parameter"}
                writer.write(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": error}).encode() + b"\n")
            else:
                requests.write(line)
                writer.write(await responses.readline())

    path = bed.work / "older.sock"
    server = await asyncio.start_unix_server(serve, path)
    bed.cleanups.append(server.close)
    bridge = await bed.bridge(path, broker.url)
    await bed.says(bridge, "sends no events: max_age is no parameter", "upgrade ancsd")
    await bed.online(broker)


@case("mqtt-one-thread", native="qemu-user has a thread of its own")
async def one_thread(bed: Testbed) -> None:
    """One thread publishes, as counting references without locks requires (scripts/build, -assume-single-threaded)."""
    _, _, phone, bridge, watcher = await bed.watched()
    await watcher.gets(phone, *map(Notification, range(1, 101)))
    threads = procfs.status(bridge.pid)["Threads"]
    check(threads == 1, f"the bridge has {threads} threads")


def uids(watcher: Watcher, since: int = 0) -> list[int]:
    """The UIDs of the notifications published as added."""
    return [m.json["uid"] for m in watcher.of(EVENTS, since) if m.json["change"] == "added"]


@case("mqtt-events")
async def events(bed: Testbed) -> None:
    """A notification is an event on its own topic: not retained, QoS 1, with an expiry and the daemon's life."""
    _, daemon, phone, _, watcher = await bed.watched()
    added = await watcher.gets(phone, Notification(1, category=6, app_id="com.apple.mobilemail"))
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
