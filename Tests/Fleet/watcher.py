# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent client of the broker (paho): it sees what is published, and sends requests to boards."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from Harness.case import Failure, check, eventually, patient


#: The topics of kitchen's phone. Over a socket it has no address, so its name is the default one.
PHONE = "ancsd/kitchen/phone/iphone"
EVENTS = f"{PHONE}/event/notification"


@dataclass(frozen=True)
class Message:
    """A message as received by a subscriber."""

    topic: str
    payload: bytes
    qos: int
    retained: bool
    #: MQTT 5's, with paho's names: MessageExpiryInterval, UserProperty, CorrelationData, …
    properties: dict[str, Any]

    @property
    def json(self) -> Any:
        return json.loads(self.payload)


class Watcher:
    """`messages` has everything that arrived, in order, with the retain flag as it was published: what is `retained` here stays
    at the broker."""

    def __init__(self, port: int, *, name: str = "watcher", user: str = "", password: str = "") -> None:
        self.loop = asyncio.get_running_loop()
        self.port = port
        self.messages: list[Message] = []
        self.changed = asyncio.Event()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5)
        if user:
            self.client.username_pw_set(user, password)
        self.client.on_message = self.on_message
        self.client.on_subscribe = self.on_subscribe
        self.client.on_connect = lambda *_: self.subscribe()
        #: How often the broker has let it subscribe: once for each connection.
        self.subscriptions = 0
        self.filters: list[str] = []
        self.correlation = 0

    def on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        properties = message.properties.json() if message.properties else {}
        # As bytes; json() has them in hexadecimal.
        if (data := getattr(message.properties, "CorrelationData", None)) is not None:
            properties["CorrelationData"] = data
        seen = Message(message.topic, bytes(message.payload), message.qos, message.retain, properties)

        def keep() -> None:
            self.messages.append(seen)
            self.changed.set()

        self.loop.call_soon_threadsafe(keep)

    def on_subscribe(self, *_: Any) -> None:
        self.subscriptions += 1

    def subscribe(self) -> None:
        options = SubscribeOptions(qos=1, retainAsPublished=True)
        self.client.subscribe([(name, options) for name in self.filters])

    async def start(self, *filters: str) -> Self:
        """Connects, and subscribes to these filters; it reconnects by itself."""
        self.filters = list(filters) or ["#"]
        self.client.reconnect_delay_set(1, 1)
        self.client.connect_async("127.0.0.1", self.port)
        self.client.loop_start()
        await self.back(0)
        return self

    async def back(self, since: int) -> None:
        """Waits until it has subscribed again since it had this number of `subscriptions`."""
        await eventually(lambda: self.subscriptions > since, "the broker does not let the watcher subscribe", 20)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    # What arrived

    @property
    def now(self) -> int:
        """The index that the next message will have."""
        return len(self.messages)

    def of(self, topic: str, since: int = 0) -> list[Message]:
        """The messages on a topic, or on those that match a filter."""
        return [m for m in self.messages[since:] if paho.topic_matches_sub(topic, m.topic)]

    def last(self, topic: str) -> Message:
        """The last message on a topic."""
        found = self.of(topic)
        if not found:
            raise Failure(f"nothing was published on {topic}; only on {sorted({m.topic for m in self.messages})}")
        return found[-1]

    async def message(self, topic: str, /, since: int = 0, within: float = 20, **fields: Any) -> Message:
        """Waits for the first message on a topic, from `since` on, whose JSON has these fields."""
        def fits(message: Message) -> bool:
            if not paho.topic_matches_sub(topic, message.topic):
                return False
            if not fields or not message.payload:
                return not fields
            value = message.json
            return isinstance(value, dict) and fields.items() <= value.items()

        try:
            async with asyncio.timeout(patient(within)):
                while True:
                    end = self.now
                    for message in self.messages[since:end]:
                        if fits(message):
                            return message
                    since = end
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise Failure(f"nothing on {topic} with {fields or 'anything'} in {patient(within):.0f} s; the last there: "
                          f"{[m.payload.decode(errors='replace')[:200] for m in self.of(topic)[-3:]]}") from None

    async def gets(self, phone: Any, *notifications: Any, within: float = 20) -> Message:
        """Notifications appear on kitchen's phone; waits until the last one is published, and returns that message."""
        since = self.now
        phone.ancs.post(*notifications)
        return await self.message(EVENTS, since=since, uid=notifications[-1].uid, within=within)

    async def retained(self, *filters: str) -> dict[str, Message]:
        """What is retained at the broker now, by topic: what a new subscriber gets."""
        other = Watcher(self.port, name=f"retained{self.correlation}")
        self.correlation += 1
        other.client._username, other.client._password = self.client._username, self.client._password
        mark = f"watcher/{self.correlation}"
        await other.start(*(filters or ("#",)), mark)
        # The broker has sent the retained messages before it gets this one.
        other.publish(mark, qos=1)
        await other.message(mark)
        other.close()
        return {message.topic: message for message in other.messages if message.retained}

    # Requests

    def publish(self, topic: str, payload: bytes | str = b"", qos: int = 0, retain: bool = False, **properties: Any) -> None:
        """Publishes; properties have paho's names: ResponseTopic, CorrelationData, …"""
        kept = Properties(PacketTypes.PUBLISH)
        for name, value in properties.items():
            setattr(kept, name, value)
        self.client.publish(topic, payload, qos, retain, kept)

    async def ask(self, topic: str, params: Any = None, /, within: float = 20, retain: bool = False) -> dict[str, Any]:
        """Makes a request by Response Topic and Correlation Data; returns the response."""
        self.correlation += 1
        mark = f"c{self.correlation}".encode()
        since = self.now
        payload = b"" if params is None else params if isinstance(params, bytes) else json.dumps(params).encode()
        self.publish(topic, payload, retain=retain, ResponseTopic="watcher/response", CorrelationData=mark)
        while True:
            answer = await self.message("watcher/response", since=since, within=within)
            if answer.properties.get("CorrelationData") == mark:
                break
            since = self.messages.index(answer) + 1
        check(not answer.retained, "a response is retained")
        result = answer.json
        check(isinstance(result, dict) and result.get("status") in ("ok", "error"), f"the response is {result}")
        return dict(result)
