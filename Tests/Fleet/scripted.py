# SPDX-License-Identifier: GPL-3.0-or-later
"""A scripted broker (MQTT 5, over TCP): the case decides what CONNACK contains, and what is acknowledged."""

import asyncio
import contextlib
import struct
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

from Harness.case import Failure, eventually
from Harness.web import Listener

from .mosquitto import OnLoopback

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, PINGREQ, PINGRESP = 1, 2, 3, 4, 8, 9, 12, 13


def text(value: str | bytes) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">H", len(value)) + value


def packet(kind: int, body: bytes, flags: int = 0) -> bytes:
    return bytes([kind << 4 | flags]) + VariableByteIntegers.encode(len(body)) + body


def first_packet(data: bytes) -> tuple[int, bytes, int] | None:
    """The first byte, the body and the size of the packet at the start of `data`; None until all of it has arrived."""
    try:
        length, digits = VariableByteIntegers.decode(data[1:5])
    except IndexError:
        return None
    size = 1 + digits + length
    return (data[0], data[1 + digits : size], size) if len(data) >= size else None


def properties(kind: int, values: dict[str, Any]) -> bytes:
    """Properties as bytes; their names are paho's."""
    packed = Properties(kind)
    for name, value in values.items():
        setattr(packed, name, value)
    return bytes(packed.pack())


def unpack(kind: int, data: bytes) -> tuple[dict[str, Any], int]:
    read = Properties(kind)
    _, length = read.unpack(data)
    names = [name.replace(" ", "") for name in Properties(kind).names]
    return {name: getattr(read, name) for name in names if hasattr(read, name)}, length


@dataclass(frozen=True)
class Published:
    """A PUBLISH from the bridge."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    number: int
    size: int
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class Connect:
    """A CONNECT from the bridge."""

    client: str
    clean: bool
    keep_alive: int
    user: str
    password: bytes
    will_topic: str
    will: bytes
    will_retain: bool
    properties: dict[str, Any]
    will_properties: dict[str, Any]


def read_connect(body: bytes) -> Connect:
    place = 6
    if body[:place] != text("MQTT") or body[place] != 5:
        raise Failure(f"CONNECT is not that of MQTT 5: {body[:16].hex(' ')}")
    flags, keep_alive = body[7], struct.unpack_from(">H", body, 8)[0]
    place = 10

    def take() -> bytes:
        nonlocal place
        size = struct.unpack_from(">H", body, place)[0]
        place += 2 + size
        return body[place - size:place]

    values, length = unpack(PacketTypes.CONNECT, body[place:])
    place += length
    client = take().decode()
    will_values: dict[str, Any] = {}
    will_topic, will = b"", b""
    if flags & 4:
        will_values, length = unpack(PacketTypes.WILLMESSAGE, body[place:])
        place += length
        will_topic, will = take(), take()
    user = take().decode() if flags & 0x80 else ""
    password = take() if flags & 0x40 else b""
    return Connect(client, bool(flags & 2), keep_alive, user, password, will_topic.decode(), will, bool(flags & 0x20),
                   values, will_values)


def read_publish(flags: int, body: bytes, size: int) -> Published:
    length = struct.unpack_from(">H", body)[0]
    topic, place, number = body[2:2 + length].decode(), 2 + length, 0
    qos = flags >> 1 & 3
    if qos:
        number = struct.unpack_from(">H", body, place)[0]
        place += 2
    values, length = unpack(PacketTypes.PUBLISH, body[place:])
    return Published(topic, body[place + length:], qos, bool(flags & 1), number, size, values)


class ScriptedBroker(OnLoopback, Listener):
    """Its attributes say what it does; a case sets them before or during a connection."""

    def __init__(self) -> None:
        #: CONNACK: its reason (0: accepted), its properties, and Session Present.
        self.reason = 0
        self.connack: dict[str, Any] = {}
        #: Whether it responds to CONNECT, and to PUBLISH.
        self.answers = True
        self.acknowledges = True
        #: The reason codes in the PUBACK of these topics.
        self.reasons: dict[str, int] = {}
        #: How long each PUBACK takes, in seconds.
        self.pause = 0.0
        self.connects: list[Connect] = []
        self.published: list[Published] = []
        #: When it was pinged, by the clock of the loop.
        self.pings: list[float] = []
        #: The maximum number of unacknowledged publications at any time.
        self.most_open = 0
        self.withheld: list[int] = []
        #: The filters that nobody may subscribe to.
        self.denied: set[str] = set()
        self.writer: asyncio.StreamWriter | None = None
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.writers.append(writer)
        self.withheld = []
        data = b""
        with contextlib.suppress(OSError):
            while more := await reader.read(65536):
                data += more
                while found := first_packet(data):
                    first, body, size = found
                    data = data[size:]
                    self.take(first >> 4, first & 15, body, size, writer)
        writer.close()

    def take(self, kind: int, flags: int, body: bytes, size: int, writer: asyncio.StreamWriter) -> None:
        if kind == CONNECT:
            self.connects.append(read_connect(body))
            if self.answers:
                answer = bytes([0, self.reason]) + properties(PacketTypes.CONNACK, self.connack)
                writer.write(packet(CONNACK, answer))
        elif kind == PUBLISH:
            published = read_publish(flags, body, size)
            self.published.append(published)
            if published.qos:
                self.withheld.append(published.number)
                self.most_open = max(self.most_open, len(self.withheld))
                if self.acknowledges:
                    answer = partial(self.acknowledge, published.number, self.reasons.get(published.topic, 0))
                    if self.pause:
                        asyncio.get_running_loop().call_later(self.pause, answer)
                    else:
                        answer()
        elif kind == SUBSCRIBE:
            number = body[:2]
            _, length = unpack(PacketTypes.SUBSCRIBE, body[2:])
            place, codes = 2 + length, b""
            while place < len(body):
                end = place + 2 + struct.unpack_from(">H", body, place)[0]
                codes += bytes([0x87 if body[place + 2 : end].decode() in self.denied else body[end] & 3])
                place = end + 1
            writer.write(packet(SUBACK, number + b"\0" + codes))
        elif kind == PINGREQ:
            self.pings.append(asyncio.get_running_loop().time())
            writer.write(packet(PINGRESP, b""))

    def acknowledge(self, number: int, reason: int = 0) -> None:
        assert self.writer is not None
        if number not in self.withheld:
            return  # that of an earlier connection
        self.withheld.remove(number)
        self.writer.write(packet(PUBACK, struct.pack(">HB", number, reason)))

    def acknowledge_all(self) -> None:
        for number in list(self.withheld):
            self.acknowledge(number)

    def send(self, topic: str, payload: bytes, **values: Any) -> None:
        """Publishes to the bridge, with QoS 0."""
        assert self.writer is not None
        self.writer.write(packet(PUBLISH, text(topic) + properties(PacketTypes.PUBLISH, values) + payload))

    def cut(self) -> None:
        assert self.writer is not None
        self.writer.close()

    def of(self, topic: str, since: int = 0) -> list[Published]:
        return [one for one in self.published[since:] if one.topic == topic]

    async def connected(self, count: int = 1, within: float = 20) -> Connect:
        """Waits for the first, second, … CONNECT."""
        await eventually(lambda: len(self.connects) >= count, f"the bridge did not connect {count} times", within)
        return self.connects[count - 1]

    async def seen(self, topic: str, since: int = 0, within: float = 20) -> Published:
        """Waits for something on a topic."""
        await eventually(lambda: self.of(topic, since), f"nothing was published on {topic}", within)
        return self.of(topic, since)[0]

    def close(self) -> None:
        for writer in self.writers:
            writer.close()
        super().close()
