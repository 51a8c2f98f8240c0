# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge obeys the limits in CONNACK, and reports refusals in words. The broker is scripted."""

import asyncio
import json

from Harness.ancs import Notification
from Harness.case import case, check, eventually, expect, settled

from .cases_outage import numbers
from .testbed import Testbed
from .watcher import EVENTS, PHONE


@case("mqtt-connect")
async def connect(bed: Testbed) -> None:
    """CONNECT has the board's client id, a session expiry, a delayed will and limits; the first publication is `state`."""
    broker = await bed.scripted()
    await bed.board(broker)
    connected = await broker.connected()
    check(connected.client == "ancsd-kitchen", f"the client is {connected.client}")
    check(not connected.clean and connected.properties.get("SessionExpiryInterval") == 60, f"{connected}")
    check(10 <= connected.keep_alive <= 60, f"keep alive is {connected.keep_alive}")
    check(connected.will_topic == "ancsd/kitchen/state" and connected.will_retain, f"the will is {connected}")
    expect(json.loads(connected.will), state="offline")
    check(connected.will_properties.get("WillDelayInterval") == 10, f"the will has {connected.will_properties}")
    check(connected.properties.get("MaximumPacketSize"), f"CONNECT has {connected.properties}")
    await broker.seen(f"{PHONE}/state")
    first = broker.published[0]
    check(first.topic == "ancsd/kitchen/state" and first.retain, f"the first publication is {first}")
    expect(json.loads(first.payload), state="online")


@case("mqtt-receive-maximum")
async def receive_maximum(bed: Testbed) -> None:
    """With Receive Maximum 3, at most three publications are unacknowledged; with Retain Available 0, nothing is sent as retained,
    which is logged."""
    broker = await bed.scripted(ReceiveMaximum=3, RetainAvailable=0)
    broker.acknowledges = False
    _, phone, bridge = await bed.board(broker)
    # The first will is sent before CONNACK.
    check((await broker.connected()).will_topic, "there is no will")
    phone.ancs.post(*(Notification(uid) for uid in range(1, 31)))
    for _ in range(600):
        await asyncio.sleep(0.05)
        broker.acknowledge_all()
        if len(numbers(broker)) >= 30:
            break
    check(numbers(broker) == list(range(1, 31)), f"published: {numbers(broker)}")
    check(broker.most_open <= 3, f"{broker.most_open} waited at the same time")
    check(broker.of(f"{PHONE}/state") and not any(p.retain for p in broker.published), "something was sent as retained, or no state")
    await bed.says(bridge, "retain")


@case("mqtt-packet-size")
async def packet_size(bed: Testbed) -> None:
    """With Maximum Packet Size 700, nothing longer is sent; the log names each topic once, and `status` what is missing; the rest
    continues."""
    broker = await bed.scripted(MaximumPacketSize=700)
    daemon, phone, bridge = await bed.board(broker, content="full")
    await broker.connected()
    await broker.seen(f"{PHONE}/state")
    phone.ancs.post(Notification(1, message="x" * 1000), Notification(2))
    await eventually(lambda: 2 in numbers(broker), "the short one was not sent", 10)
    check(max(p.size for p in broker.published) <= 700, f"a packet has {max(p.size for p in broker.published)} bytes")
    # It is published without its message, or not at all, which is logged.
    for event in (json.loads(published.payload) for published in broker.of(EVENTS)):
        check(event["uid"] != 1 or "message" in event.get("withheld", []) + event.get("truncated", []), f"it was published as {event}")
    check(1 in numbers(broker) or EVENTS in bridge.log, f"the log does not name the topic: {bridge.log}")
    phone.ancs.post(*(Notification(uid, message="x" * 1000) for uid in range(10, 20)), Notification(20))
    await eventually(lambda: 20 in numbers(broker), "the next short one was not sent", 10)
    check(bridge.log.count(EVENTS) <= 1, f"the log has a line for each event: {bridge.log}")
    topic = "homeassistant/device/kitchen/board/config"
    check(bridge.log.count(topic) == 1, f"the log does not name discovery once: {bridge.log}")
    report = (await daemon.call("status"))["bridges"][0]
    check(topic in report["refused"], f"the daemon knows {report}")
    # It does not block later events, nor those after a reconnection.
    broker.cut()
    await broker.connected(2, within=15)
    since = len(broker.published)
    phone.ancs.post(Notification(3))
    await eventually(lambda: 3 in numbers(broker, since), "nothing is published after the reconnection", 10)
    check(bridge.running, "the bridge has ended")


@case("mqtt-subscribe-refused")
async def subscribe_refused(bed: Testbed) -> None:
    """A refused subscription is named, and the rest continues."""
    broker = await bed.scripted()
    broker.denied = {"homeassistant/status"}
    daemon, _, bridge = await bed.board(broker)
    await bed.says(bridge, "subscribe to homeassistant/status")
    await broker.seen(f"{PHONE}/counts")
    check(bridge.log.count("subscribe to") == 1, f"the log is {bridge.log}")
    report = (await daemon.call("status"))["bridges"][0]
    check(report["refused"] == ["homeassistant/status"], f"the daemon knows {report}")
    broker.send(f"{PHONE}/request/media.get", b"", ResponseTopic="me/answer")
    expect(json.loads((await broker.seen("me/answer")).payload), status="ok")


@case("mqtt-qos-0")
async def qos_0(bed: Testbed) -> None:
    """With Maximum QoS 0, everything is sent with QoS 0, without waiting for acknowledgements."""
    broker = await bed.scripted(MaximumQoS=0)
    _, phone, bridge = await bed.board(broker)
    await broker.connected()
    await broker.seen(f"{PHONE}/state")
    phone.ancs.post(*(Notification(uid) for uid in range(1, 51)))
    await eventually(lambda: len(numbers(broker)) >= 50, "events are missing", 10)
    check(not any(p.qos for p in broker.published), "something has QoS 1")
    check(len(broker.connects) == 1, "the bridge has connected again")
    check(bridge.running, "the bridge has ended")


@case("mqtt-keep-alive")
async def keep_alive(bed: Testbed) -> None:
    """With Server Keep Alive 2, the bridge pings that often."""
    broker = await bed.scripted(ServerKeepAlive=2)
    await bed.board(broker)
    await broker.seen(f"{PHONE}/state")
    await eventually(lambda: len(broker.pings) >= 3, lambda: f"{len(broker.pings)} pings in 11 s", 11)
    # Over two pauses, since this process may be late to read one.
    gap = (broker.pings[2] - broker.pings[0]) / 2
    check(1.4 <= gap, f"it pings every {gap:.1f} s")


@case("mqtt-no-space")
async def no_space(bed: Testbed) -> None:
    """A state for which the broker has no space is published again, also while the daemon is away."""
    broker = await bed.scripted()
    daemon, _, _ = await bed.board(broker)
    await broker.seen(f"{PHONE}/counts")
    since, topic = len(broker.published), "ancsd/kitchen/state"
    broker.reasons = {topic: 0x97}
    await daemon.kill()
    expect(json.loads((await broker.seen(topic, since)).payload), state="offline")
    broker.reasons = {}
    expect(json.loads((await broker.seen(topic, len(broker.published))).payload), state="offline")


@case("mqtt-no-space-moves")
async def no_space_moves(bed: Testbed) -> None:
    """A bridge that moves neither repeats a removal for which the broker has no space nor waits for it."""
    broker = await bed.scripted()
    _, _, bridge = await bed.board(broker)
    await broker.seen(f"{PHONE}/counts")
    topic = "homeassistant/device/kitchen/board/config"
    broker.reasons = {topic: 0x97}
    right = bed.file.read_text()
    bed.reload(bridge, right.replace('"kitchen"', '"attic"'))
    check((await broker.connected(2)).client == "ancsd-attic", "another board has come")
    refused = [one for one in broker.of(topic) if not one.payload]
    check(len(refused) < 3, f"it was removed {len(refused)} times")


@case("mqtt-births")
async def births(bed: Testbed) -> None:
    """However often Home Assistant says that it has started, a board publishes everything for it once."""
    broker = await bed.scripted()
    await bed.board(broker)
    await broker.seen(f"{PHONE}/counts")
    since = len(broker.published)
    for _ in range(100):
        broker.send("homeassistant/status", b"online")
    await asyncio.sleep(11)
    told = len(broker.of("homeassistant/device/kitchen/board/config", since))
    check(told == 1, f"the board was announced {told} times")


@case("mqtt-assigned-id")
async def assigned(bed: Testbed) -> None:
    """A broker that assigns an id to a client that has one violates MQTT (3.2.2.3.7): logged, and retried."""
    broker = await bed.scripted(AssignedClientIdentifier="c-77")
    _, _, bridge = await bed.board(broker)
    await broker.connected(2, within=15)
    check(bridge.running and len(bridge.log.splitlines()) >= 2, f"the log is {bridge.log}")
    broker.connack = {}
    await broker.seen(f"{PHONE}/state", within=20)


@case("mqtt-refused", seconds=90)
async def refused(bed: Testbed) -> None:
    """Each reason in CONNACK is logged in words; if only the user can fix it, the bridge does not keep retrying."""
    daemon, _, _ = await bed.served()
    words = {0x86: "password", 0x87: "not", 0x84: "MQTT 5", 0x85: "id", 0x88: "", 0x89: "", 0x97: "", 0x9C: ""}

    async def part(inner: Testbed, reason: int) -> None:
        broker = await inner.scripted()
        broker.reason = reason
        bridge = await inner.bridge(daemon, broker.url, user="kitchen")
        await broker.connected()
        await eventually(lambda: bridge.log.strip(), "nothing is logged", 20)
        await asyncio.sleep(6)
        said = bridge.log
        check(words[reason].lower() in said.lower(), f"for {reason:#x} the log is: {said}")
        check(str(reason) in said or any(word.isalpha() for word in said.split()), f"for {reason:#x} the log is: {said}")
        if reason in (0x84, 0x85, 0x86, 0x87):
            check(len(broker.connects) == 1, f"after {reason:#x} it connected {len(broker.connects)} times in 6 s")
        check(bridge.running, f"after {reason:#x} the bridge ended with {bridge.ending}: {said}")

    await bed.every(list(words), part, name=lambda reason: f"{reason:#x}")


@case("mqtt-version-3")
async def version_3(bed: Testbed) -> None:
    """A broker that only speaks MQTT 3.1.1 (CONNACK 1 without properties) is reported as such."""
    daemon, _, _ = await bed.served()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(bytes([0x20, 2, 0, 1]))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    bed.cleanups.append(server.close)
    bridge = await bed.bridge(daemon, f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await bed.says(bridge, "MQTT 5")


@case("mqtt-one-name", seconds=90)
async def one_name(bed: Testbed) -> None:
    """Two boards with the same name: the one that is taken over says so, and one soon backs off."""
    broker = await bed.mosquitto()
    daemon, _, _ = await bed.served()
    first = await bed.bridge(daemon, broker.url)
    watcher = await bed.watcher(broker)
    await watcher.message("ancsd/kitchen/state", state="online")
    second = await bed.bridge(daemon, broker.url)
    await eventually(lambda: "name" in first.log + second.log, "neither log says that there are two", 15)

    def takeovers() -> int:
        return broker.log.count("already connected")

    # The longest pause before one that is given up is 4 s, and half of it more.
    await settled(takeovers, quiet=12, within=60)
    check(takeovers() <= 6, f"they took turns {takeovers()} times")
    check(first.running and second.running, "one has ended")
    expect(watcher.last("ancsd/kitchen/state").json, state="online")
    bed.remark(f"{takeovers()} take-overs")
