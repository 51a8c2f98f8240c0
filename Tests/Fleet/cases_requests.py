# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests by the broker's clients, and the responses."""

from __future__ import annotations

import asyncio
import signal
import json

from Harness.ancs import Notification, call
from Harness.case import case, check, eventually, expect

from .testbed import PHONE, Testbed

REQUEST = "ancsd/kitchen/request"
PHONE_REQUEST = f"{PHONE}/request"
#: A UID and a number that an integer of 32 bits with a sign does not hold.
WIDE, WIDER = 0xFFFF_FFFF, 1 << 40


@case("mqtt-requests")
async def requests(bed: Testbed) -> None:
    """Requests with Response Topic and Correlation Data: player, actions, lists, status."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.board(broker)
    watcher = await bed.online(broker)
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
    listed = await watcher.ask(f"{PHONE_REQUEST}/notifications.list", {"category": "email"})
    check([n["uid"] for n in listed["data"]["notifications"]] == [WIDE], f"the mails are {listed}")
    expect(await watcher.ask(f"{PHONE_REQUEST}/notifications.get", {"uid": 1}), status="ok")
    expect(await watcher.ask(f"{PHONE_REQUEST}/notifications.act", {"uid": WIDE, "action": "negative"}), status="ok")
    check(phone.ancs.actions == [(WIDE, "negative")], f"the phone saw {phone.ancs.actions}")
    state = await watcher.ask(f"{REQUEST}/status")
    check(state["data"]["version"] == (await daemon.call("status"))["version"], f"the status is {state}")


@case("mqtt-transaction")
async def transactions(bed: Testbed) -> None:
    """Without a Response Topic, the response is on the board's own topic, with the request's `transaction`."""
    broker = await bed.mosquitto()
    await bed.board(broker)
    watcher = await bed.online(broker)
    watcher.publish(f"{PHONE_REQUEST}/media.get", json.dumps({"transaction": "t-1"}))
    answer = await watcher.message(f"{PHONE}/response/media.get", transaction="t-1")
    expect(answer.json, status="ok")
    check(not answer.retained, "a response is retained")
    watcher.publish(f"{REQUEST}/status", json.dumps({"transaction": WIDER}))
    await watcher.message("ancsd/kitchen/response/status", transaction=WIDER, status="ok")
    watcher.publish(f"{REQUEST}/nonsense", json.dumps({"transaction": 8}))
    await watcher.message("ancsd/kitchen/response/nonsense", transaction=8, status="error")


@case("mqtt-request-retained")
async def retained_request(bed: Testbed) -> None:
    """A retained request gets an error and is not performed; at the next start the broker does not deliver it."""
    broker = await bed.mosquitto()
    _, phone, bridge = await bed.board(broker)
    watcher = await bed.online(broker)
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


@case("mqtt-requests-wrong")
async def wrong(bed: Testbed) -> None:
    """A request that fails gets an error with a sentence and a code; the phone's errors have ATT's number and name."""
    broker = await bed.mosquitto()
    _, phone, bridge = await bed.board(broker)
    watcher = await bed.online(broker)
    for params, code in [(b"{", -32700), (b"[1]", -32602), (b'{"command":"dance"}', -32602), (b"\xff\xfe", -32700),
                         (b'{"command":"toggle","command":"next"}', -32700)]:
        answer = await watcher.ask(f"{PHONE_REQUEST}/media.command", params)
        check(answer["status"] == "error" and answer["error"], f"{params!r} was answered with {answer}")
        check(answer["code"] in (code, -32602, -32700), f"{params!r} was answered with {answer}")
    for method in ("gatt.read", "settings", "timeline", "subscribe", "pairing.respond", "a" * 200):
        answer = await watcher.ask(f"{REQUEST}/{method}")
        check(answer["status"] == "error", f"{method} was answered with {answer}")
    for method in ("pairing.open", "phones.forget"):
        answer = await watcher.ask(f"{REQUEST}/{method}", {"phone": "iphone"})
        expect(answer, status="error", code=4)
        check("allow" in answer["error"], f"the error is {answer}")
    expect(await watcher.ask("ancsd/kitchen/phone/nobody/request/media.get"), status="error", code=2)
    phone.ancs.post(Notification(1))
    await watcher.message(f"{PHONE}/counts", total=1)
    phone.ancs.actions_fail = True
    answer = await watcher.ask(f"{PHONE_REQUEST}/notifications.act", {"uid": 1, "action": "negative"})
    expect(answer, status="error", code=1, att=0xA3, name="Action Failed")
    expect(await watcher.ask(f"{PHONE_REQUEST}/notifications.get", {"uid": 99}), status="error")
    answer = await watcher.ask(f"{PHONE_REQUEST}/notifications.list", b'{"app":"' + b"x" * 9000 + b'"}')
    check(answer["status"] == "error" and "8" in answer["error"], f"9,000 bytes were answered with {answer}")
    check(bridge.running, "the bridge has ended")


@case("mqtt-response-topic")
async def response_topics(bed: Testbed) -> None:
    """A Response Topic that is neither below the board's own nor below a prefix in the settings is refused."""
    broker = await bed.mosquitto()
    _, _, bridge = await bed.board(broker)
    watcher = await bed.online(broker)
    since = watcher.now
    topics = ["homeassistant/device/x/config", "homeassistant", "zigbee2mqtt/lamp/set", "ancsd/attic/response/status",
              REQUEST + "/media.command", f"{PHONE_REQUEST}/media.command", "watcher"]
    for topic in topics:
        watcher.publish(f"{REQUEST}/status", b"", ResponseTopic=topic)
    watcher.publish(f"{REQUEST}/status", b"", ResponseTopic="ancsd/kitchen/response/mine")
    await watcher.message("ancsd/kitchen/response/mine", status="ok")
    bad = [m.topic for m in watcher.messages[since:] if m.topic in topics]
    check(not bad, f"the bridge has answered on {bad}")
    refused = watcher.of("ancsd/kitchen/response/status", since)
    check(len(refused) == len(topics) and b"response-prefixes" in refused[0].payload, f"the answers are {refused}")
    check(bridge.running, "the bridge has ended")


@case("mqtt-request-call")
async def answer_call(bed: Testbed) -> None:
    """`call` answers or declines the only ringing call; none or two are errors. `clear` skips calls."""
    broker = await bed.mosquitto()
    _, phone, _ = await bed.board(broker)
    watcher = await bed.online(broker)
    expect(await watcher.ask(f"{PHONE_REQUEST}/call", {"action": "decline"}), status="error", code=2)
    phone.ancs.post(call(1))
    await watcher.message(f"{PHONE}/call", state="ringing")
    expect(await watcher.ask(f"{PHONE_REQUEST}/call", {"action": "decline"}), status="ok")
    check(phone.ancs.actions == [(1, "negative")], f"the phone saw {phone.ancs.actions}")
    await watcher.message(f"{PHONE}/event/call", change="ended", uid=1)
    phone.ancs.post(call(2), call(3))
    await watcher.message(f"{PHONE}/counts", total=2)
    expect(await watcher.ask(f"{PHONE_REQUEST}/call", {"action": "answer"}), status="error")
    phone.ancs.post(Notification(4), Notification(5, app_id="com.apple.mobilemail", category=6), Notification(6, negative=""))
    await watcher.message(f"{PHONE}/counts", total=5)
    expect(await watcher.ask(f"{PHONE_REQUEST}/clear", {"category": "email"}), status="ok")
    expect(await watcher.ask(f"{PHONE_REQUEST}/clear"), status="ok")
    check(phone.ancs.actions[1:] == [(5, "negative"), (4, "negative")], f"the phone saw {phone.ancs.actions}")


@case("mqtt-request-slow", seconds=90)
async def slow_phone(bed: Testbed) -> None:
    """If the phone does not respond, the request fails after 30 s with “try again”; others are answered meanwhile."""
    broker = await bed.mosquitto()
    _, phone, _ = await bed.board(broker)
    watcher = await bed.online(broker)
    phone.ancs.post(Notification(1, message="x" * 1500))
    await watcher.message(f"{PHONE}/counts", total=1)
    phone.ancs.silent.add(1)
    slow = bed.spawn(watcher.ask(f"{PHONE_REQUEST}/notifications.get", {"uid": 1}, within=45))
    await asyncio.sleep(0.2)
    expect(await watcher.ask(f"{REQUEST}/status"), status="ok")
    check(not slow.done(), "the phone has responded")
    answer = await slow
    check(answer["status"] == "error" and answer["code"] == 3, f"the answer is {answer}")


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


@case("mqtt-allow")
async def allowed(bed: Testbed) -> None:
    """`allow` decides what is permitted: nothing, or pairing too."""
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.board(broker, allow=[])
    watcher = await bed.online(broker)
    for method in ("media.command", "media.get", "notifications.list", "notifications.act", "call", "clear", "status"):
        expect(await watcher.ask(f"{PHONE_REQUEST}/{method}", {"command": "toggle"}), status="error", code=4)
    await bed.bridge(daemon, broker.url, board="attic", allow=["pairing"])
    await watcher.message("ancsd/attic/state", state="online")
    # Without a radio nobody can pair, but the request reaches the daemon.
    answer = await watcher.ask("ancsd/attic/request/pairing.open", {"seconds": 10})
    check(answer.get("code") != 4, f"pairing is not allowed: {answer}")
    expect(await watcher.ask("ancsd/attic/request/media.get"), status="error", code=4)
