# SPDX-License-Identifier: GPL-3.0-or-later
"""Events: never retained, expiring, each once and in order."""

from __future__ import annotations

from dataclasses import replace

from Harness.ancs import Notification, call
from Harness.case import case, check, expect

from .testbed import EVENTS, PHONE, Testbed
from .watcher import Watcher


def uids(watcher: Watcher, since: int = 0, change: str = "added") -> list[int]:
    """The UIDs of the notifications published with this change."""
    return [m.json["uid"] for m in watcher.of(EVENTS, since) if m.json["change"] == change]


@case("mqtt-events")
async def events(bed: Testbed) -> None:
    """A notification is an event on its own topic: not retained, QoS 1, with an expiry and the daemon's life."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.board(broker)
    watcher = await bed.online(broker)
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


@case("mqtt-call-ends", seconds=90)
async def call_ends(bed: Testbed) -> None:
    """Nothing retained says that a call rings once the bridge, the daemon or the phone has gone, and no name ever is."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.served("--grace", "0")
    bridge = await bed.bridge(daemon, broker.url, content="full")
    watcher = await bed.online(broker)

    async def rings(uid: int) -> int:
        # Another text: the same would be the same call.
        phone.ancs.post(replace(call(uid), message=f"Incoming Call {uid}"))
        await watcher.message(f"{PHONE}/event/call", change="incoming", uid=uid)
        rung = await watcher.message(f"{PHONE}/call", state="ringing", since=since)
        expiry = rung.properties.get("MessageExpiryInterval")
        check(expiry is not None and expiry <= 120, f"after kill -9 it would ring for ever: it expires after {expiry} s")
        kept = b"".join(message.payload for message in (await watcher.retained("#")).values())
        check(b"555-0142" not in kept, "the caller is retained")
        return watcher.now

    since = watcher.now
    since = await rings(1)
    await bridge.stop()
    await watcher.message(f"{PHONE}/call", since=since, state="idle")
    await bridge.start()
    await watcher.message(f"{PHONE}/call", since=since, state="ringing")
    since = watcher.now
    phone.stop_listening()
    phone.disconnect()
    await watcher.message(f"{PHONE}/call", since=since, state="idle")
    await watcher.message(f"{PHONE}/counts", since=since, total=1, where=lambda counts: "as_of" in counts)
    since = watcher.now
    phone.ancs.remove(1)
    phone.listen()
    await watcher.message(f"{PHONE}/counts", since=since, within=25, total=0)
    since = watcher.now
    since = await rings(2)
    await daemon.stop()
    await watcher.message(f"{PHONE}/call", since=since, state="idle")
