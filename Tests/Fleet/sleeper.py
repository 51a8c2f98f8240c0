# SPDX-License-Identifier: GPL-3.0-or-later
"""A subscriber whose session the broker keeps while it is away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from Harness.case import eventually


class Sleeper:
    """`payloads` has what arrived on topics that match a filter, in order, and `topics` the topic of each."""

    def __init__(self, port: int, topic: str) -> None:
        self.payloads: list[bytes] = []
        self.topics: list[str] = []
        self.port = port
        self.subscribed = False
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="sleeper", protocol=paho.MQTTv5)
        self.client.on_message = self.on_message
        self.client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self.client.on_subscribe = self.on_subscribe

    def on_message(self, _client: Any, _data: Any, message: Any) -> None:
        self.topics.append(message.topic)
        self.payloads.append(bytes(message.payload))

    def on_subscribe(self, *_: Any) -> None:
        self.subscribed = True

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of added notifications, each with its `board`."""
        events = [{**json.loads(payload), "board": topic.split("/")[1]}
                  for topic, payload in zip(list(self.topics), list(self.payloads))]
        return [event for event in events if event["change"] == "added"]

    @property
    def uids(self) -> list[int]:
        """The UIDs of the added notifications."""
        return [event["uid"] for event in self.events]

    async def connect(self) -> None:
        """Connects, and reconnects by itself."""
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 300
        self.subscribed = False
        self.client.reconnect_delay_set(1, 1)
        await asyncio.to_thread(self.client.connect, "127.0.0.1", self.port, clean_start=False, properties=properties)
        self.client.loop_start()
        await eventually(lambda: self.subscribed, "the sleeper could not subscribe", 20)

    def clear(self) -> None:
        """Forgets what has arrived."""
        self.payloads, self.topics = [], []

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
