# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages that are wrong on purpose: whoever may publish one, even retained, keeps nobody off the broker."""

import asyncio
import contextlib
import struct

from Harness.case import case, check, eventually

from .cases_fleet import NO_EXEC, fleet
from .mosquitto import Mosquitto
from .scripted import CONNECT, PUBLISH, packet, text
from .testbed import Testbed
from .watcher import PHONE

#: Properties of a PUBLISH (MQTT 5, 3.3.2.3) that are wrong or unusual; a client can read all of them.
WRONG = {
    "Payload Format Indicator 2": b"\x01\x02",
    "Payload Format Indicator twice": b"\x01\x00\x01\x00",
    "Message Expiry Interval twice": b"\x02\x00\x00\x00\x09\x02\x00\x00\x00\x09",
    "Content Type twice": (b"\x03" + text("a")) * 2,
    "an empty Response Topic": b"\x08" + text(""),
    "Response Topic #": b"\x08" + text("#"),
    "Response Topic a/+/b": b"\x08" + text("a/+/b"),
    "Response Topic of 60,000 bytes": b"\x08" + text("x" * 60_000),
    "Response Topic # with an accent": b"\x08" + text("ancsd/kitchen/response/#\u0301"),
    "Response Topic of 300 levels": b"\x08" + text("ancsd/kitchen/response" + "/x" * 298),
    "Response Topic twice": (b"\x08" + text("a")) * 2,
    "empty Correlation Data": b"\x08" + text("a") + b"\x09" + text(""),
    "Correlation Data twice": (b"\x09" + text("a")) * 2,
    "Correlation Data of 60,000 bytes": b"\x08" + text("a") + b"\x09" + text("x" * 60_000),
    "Subscription Identifier 0": b"\x0b\x00",
    "Topic Alias 0": b"\x23\x00\x00",
    "a property of CONNECT": b"\x11\x00\x00\x00\x01",
    "a property of CONNACK": b"\x24\x01",
    "a hundred User Properties": (b"\x26" + text("a") + text("b")) * 100,
}
#: Properties that no client can read, so that it has to end the connection (4.13.1).
UNREADABLE = {
    "a text that is not UTF-8": b"\x08" + text(b"\xff"),
    "a property cut short": b"\x02\x00",
    "a text cut short": b"\x08\x00\xff#",
}
#: What is no packet for a client.
GARBAGE = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a PUBLISH of 256 MB": b"\x30\xff\xff\xff\x7f",
    "a PUBLISH whose topic is cut short": b"\x32\x05\x00\x09abc",
    "a second CONNACK": b"\x20\x03\x00\x00\x00",
    "an empty SUBACK": b"\x90\x00",
}


def published(topic: str, payload: bytes, properties: bytes, retained: bool = False) -> bytes:
    """A PUBLISH with QoS 0 and these properties, right or wrong."""
    return packet(PUBLISH, text(topic) + packet(0, properties)[1:] + payload, flags=int(retained))


async def attack(broker: Mosquitto, name: str, *packets: bytes) -> bool:
    """Sends packets as a client of its own; whether the broker still has it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(packet(CONNECT, text("MQTT") + struct.pack(">BBH", 5, 2, 0) + b"\0" + text(name)))
    await reader.readexactly(1)
    data = b""
    with contextlib.suppress(OSError):
        for one in packets:
            writer.write(one)
        writer.write(b"\xc0\x00")  # PINGREQ
        while not data.endswith(b"\xd0\x00") and (more := await reader.read(65536)):
            data += more
        writer.close()
    return data.endswith(b"\xd0\x00")


@case("mqtt-hostile", seconds=120, native=NO_EXEC)
async def hostile(bed: Testbed) -> None:
    """What mosquitto delivers of messages with wrong properties, retained or not, costs neither a board nor `fleet` its
    connection."""
    broker = await bed.mosquitto()
    _, _, bridge = await bed.board(broker)
    # paho does not survive what is published here.
    watcher = await bed.online(broker, f"{PHONE}/state", "ancsd/kitchen/response/#")
    topics = ("ancsd/kitchen/request/status", f"{PHONE}/request/media.get", "homeassistant/status", "ancsd/attic/state")
    delivered = []
    for number, (name, properties) in enumerate({**WRONG, **UNREADABLE}.items()):
        messages = [published(topic, b"{}", properties, retained) for topic in topics for retained in (False, True)]
        if await attack(broker, f"attacker{number}", *messages):
            delivered.append(name)
        check("online" in (await fleet(bed, broker, "--board", "kitchen")).expect(0).out, f"{name}: fleet does not show the board")
    check(len(delivered) > 5, f"the broker delivers only {delivered}")
    watcher.publish("ancsd/kitchen/request/status", b'{"transaction":"last"}')
    await watcher.message("ancsd/kitchen/response/status", transaction="last", status="ok")
    count = broker.log.count("as ancsd-kitchen ")
    check(count == 1, f"the bridge has connected {count} times: {bridge.log}")
    # With all of them retained at its start.
    await bridge.kill()
    await bridge.start()
    await eventually(lambda: broker.log.count("as ancsd-kitchen ") == 2, "it is not back", 20)
    await asyncio.sleep(3)
    count = broker.log.count("as ancsd-kitchen ")
    check(count == 2, f"once restarted, the bridge has connected {count - 1} times: {bridge.log}")
    bed.remark(f"delivered: {', '.join(delivered)}")


@case("mqtt-hostile-broker")
async def hostile_broker(bed: Testbed) -> None:
    """Of a broker that delivers every malformed property, those that can be read are ignored."""
    broker = await bed.scripted()
    _, _, bridge = await bed.board(broker)
    await broker.seen("ancsd/kitchen/state")
    assert broker.writer is not None
    for name, properties in WRONG.items():
        broker.writer.write(published("ancsd/kitchen/request/status", b"{}", properties))
        await asyncio.sleep(0.1)
        check(len(broker.connects) == 1, f"after {name} the bridge has left: {bridge.log}")


@case("mqtt-garbage", seconds=120)
async def garbage(bed: Testbed) -> None:
    """After what no client can read from a broker, the bridge connects again, and publishes."""
    daemon, _, _ = await bed.served()

    async def part(inner: Testbed, name: str) -> None:
        broker = await inner.scripted()
        bridge = await inner.bridge(daemon, broker.url)
        await broker.seen("ancsd/kitchen/state")
        assert broker.writer is not None
        if name in UNREADABLE:
            broker.writer.write(published("ancsd/kitchen/request/status", b"{}", UNREADABLE[name]))
        else:
            broker.writer.write(GARBAGE[name])
            await asyncio.sleep(0.1)
            broker.cut()
        since = len(broker.published)
        await broker.connected(2)
        await broker.seen(f"{PHONE}/counts", since)
        check(bridge.running, f"the bridge has ended: {bridge.ending}")

    await bed.every([*UNREADABLE, *GARBAGE], part)
