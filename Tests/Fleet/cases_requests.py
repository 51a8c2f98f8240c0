# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests by the broker's clients, and the responses."""

import asyncio
import signal
import json

from Harness.ancs import Notification, call
from Harness.case import case, check, eventually, expect

from .testbed import Testbed
from .watcher import PHONE

REQUEST = "ancsd/kitchen/request"
PHONE_REQUEST = f"{PHONE}/request"
#: A UID that an integer of 32 bits with a sign does not hold.
WIDE = 0xFFFF_FFFF


@case("mqtt-requests")
async def requests(bed: Testbed) -> None:
    """Requests with Response Topic and Correlation Data: player, actions, lists, status."""
    _, daemon, phone, _, watcher = await bed.watched()
    await phone.subscribed("ams")
    phone.ancs.post(Notification(1), Notification(WIDE, app_id="com.apple.mobilemail", category=6))
    await watcher.message(f"{PHONE}/counts", total=2)
    commands = len(phone.ams.remote_commands)
    expect(await watcher.ask(f"{PHONE_REQUEST}/media.command", {"command": "toggle"}), status="ok")
    await eventually(lambda: len(phone.ams.remote_commands) == commands + 1, "the player got no command")
    expect(await watcher.ask(f"{REQUEST}/media.command", {"command": "next"}), status="ok")
    listed = await watcher.ask(f"{PHONE_REQUEST}/notifications.list")
    found = [n["uid"] for n in listed["data"]["notifications"]]
    check(found == [1, WIDE], f"the list is {found}")
    expect(await watcher.ask(f"{PHONE_REQUEST}/notifications.get", {"uid": 1}), status="ok")
    expect(await watcher.ask(f"{PHONE_REQUEST}/notifications.act", {"uid": WIDE, "action": "negative"}), status="ok")
    check(phone.ancs.actions == [(WIDE, "negative")], f"the phone saw {phone.ancs.actions}")
    state = await watcher.ask(f"{REQUEST}/status")
    check(state["data"]["version"] == (await daemon.call("status"))["version"], f"the status is {state}")


@case("mqtt-request-retained")
async def retained_request(bed: Testbed) -> None:
    """A retained request gets an error and is not performed; at the next start the broker does not deliver it."""
    _, _, phone, bridge, watcher = await bed.watched()
    await phone.subscribed("ams")
    before = len(phone.ams.remote_commands)
    watcher.publish(f"{PHONE_REQUEST}/media.command", json.dumps({"command": "toggle", "transaction": 1}), retain=True)
    refused = await watcher.message(f"{PHONE}/response/media.command", transaction=1, status="error")
    check("retain" in refused.json["error"], f"the error is {refused.json}")
    since = watcher.now
    await bridge.stop()
    await bridge.start()
    await watcher.message(f"{PHONE}/counts", since=since)
    check(not watcher.of(f"{PHONE}/response/#", since), "it was delivered again")
    check(len(phone.ams.remote_commands) == before, "a retained request was performed")
    watcher.publish(f"{PHONE_REQUEST}/media.command", b"", retain=True)


@case("mqtt-request-late")
async def late(bed: Testbed) -> None:
    """What was requested while the board was away, or its process was stopped, is not performed when it is back, even if the
    broker queues QoS 0."""
    broker = await bed.mosquitto("queue_qos0_messages true")
    relay = await bed.relay(broker)
    _, phone, bridge = await bed.board(relay)
    watcher = await bed.online(broker)
    await phone.subscribed("ams")
    phone.ancs.post(call(1), Notification(2))
    await watcher.message(f"{PHONE}/counts", total=2)
    before = len(phone.ams.remote_commands)
    relay.stop_listening()
    relay.cut()
    for _ in range(3):
        watcher.publish(f"{PHONE_REQUEST}/media.command", b'{"command":"toggle"}')
    watcher.publish(f"{PHONE_REQUEST}/call", b'{"action":"answer"}', qos=1)
    watcher.publish(f"{PHONE_REQUEST}/clear")
    await asyncio.sleep(0.5)
    since = watcher.now
    await relay.start()
    await watcher.message("ancsd/kitchen/state", since=since, within=20, state="online")
    await asyncio.sleep(1)
    done = (phone.ams.remote_commands[before:], phone.ancs.actions)
    check(done == ([], []), f"the phone was asked for {done}")
    expect(await watcher.ask(f"{PHONE_REQUEST}/media.command", {"command": "toggle"}), status="ok")
    check(len(phone.ams.remote_commands) == before + 1, f"the phone was asked for {phone.ams.remote_commands[before:]}")
    bridge.send_signal(signal.SIGSTOP)
    for _ in range(3):
        watcher.publish(f"{PHONE_REQUEST}/media.command", b'{"command":"toggle"}')
    await asyncio.sleep(1)
    bridge.send_signal(signal.SIGCONT)
    # It hears nothing until the broker has answered its next subscription.
    since = watcher.now
    for _ in range(200):
        watcher.publish(f"{REQUEST}/status")
        if watcher.of("ancsd/kitchen/response/status", since):
            break
        await asyncio.sleep(0.1)
    expect(await watcher.ask(f"{PHONE_REQUEST}/media.command", {"command": "toggle"}), status="ok")
    check(len(phone.ams.remote_commands) == before + 2, f"the phone was asked for {phone.ams.remote_commands[before:]}")
