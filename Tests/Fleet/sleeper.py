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
    """`events` has the events of added notifications that arrived on topics that match a filter, in order."""

    def __init__(self, port: int, topic: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.port = port
        self.subscribed = False
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="sleeper", protocol=paho.MQTTv5)
        self.client.on_message = self.on_message
        self.client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self.client.on_subscribe = self.on_subscribe

    def on_message(self, _client: Any, _data: Any, message: Any) -> None:
        event = json.loads(message.payload)
        if event["change"] == "added":
            self.events.append(event)

    def on_subscribe(self, *_: Any) -> None:
        self.subscribed = True

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

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
