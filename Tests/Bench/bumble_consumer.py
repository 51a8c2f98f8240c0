# SPDX-License-Identifier: GPL-3.0-or-later
"""A ready-made consumer in Python: Bumble's own ANCS client, on its GATT client.

It fetches and prints the same as consumer.py; only the notification's date is parsed more strictly.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from datetime import datetime, timezone
from typing import Any

from bumble import att, utils
from bumble.gatt_client import Client
from bumble.profiles.ancs import (
    AncsClient,
    AncsProxy,
    AppAttributeId,
    Notification,
    NotificationAttributeId,
)

WANTED: list[Any] = [
    NotificationAttributeId.APP_IDENTIFIER,
    (NotificationAttributeId.TITLE, 256),
    (NotificationAttributeId.SUBTITLE, 256),
    (NotificationAttributeId.MESSAGE, 1024),
    NotificationAttributeId.MESSAGE_SIZE,
    NotificationAttributeId.DATE,
    NotificationAttributeId.POSITIVE_ACTION_LABEL,
    NotificationAttributeId.NEGATIVE_ACTION_LABEL,
]
NAMES = ("app_id", "title", "subtitle", "message", "message_size", "date", "positive", "negative")


class Bearer(utils.EventEmitter):
    """A bearer for Bumble's GATT client, over a socket."""

    EVENT_DISCONNECTION = "disconnection"

    def __init__(self, path: str) -> None:
        super().__init__()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.handle = 1
        self.att_mtu = 23
        self.client = Client(self)  # type: ignore[arg-type]
        self.ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self.socket, self.on_readable)

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu

    def send_l2cap_pdu(self, _cid: int, pdu: bytes) -> None:
        self.socket.send(pdu)

    def on_readable(self) -> None:
        pdu = self.socket.recv(1024)
        if pdu:
            self.client.on_gatt_pdu(att.ATT_PDU.from_bytes(pdu))
        else:
            self.ended.set()


class Printer:
    def __init__(self, client: AncsClient) -> None:
        self.client = client
        self.apps: dict[str, str] = {}
        self.waiting: asyncio.Queue[Notification] = asyncio.Queue()
        client.on(AncsClient.EVENT_NOTIFICATION, self.waiting.put_nowait)

    async def run(self) -> None:
        seq = 0
        while True:
            notification = await self.waiting.get()
            seq += 1
            event: dict[str, Any] = {
                "event": "notification",
                "seq": seq,
                "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                "change": notification.event_id.name.lower(),
                "uid": notification.notification_uid,
                "category": notification.category_id.name.lower(),
                "category_count": notification.category_count,
                "flags": [flag.name.lower() for flag in notification.event_flags if flag.name],
            }
            found = await self.client.get_notification_attributes(notification.notification_uid, WANTED)
            values = [attribute.value for attribute in found]
            event.update(zip(NAMES, values))
            event["date"] = values[5].isoformat() if isinstance(values[5], datetime) else None
            event["app"] = await self.app(str(values[0]))
            sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
            sys.stdout.flush()

    async def app(self, app_id: str) -> str:
        if app_id not in self.apps:
            wanted = [AppAttributeId.DISPLAY_NAME]
            found = await self.client.get_app_attributes(app_id, wanted)
            self.apps[app_id] = str(found[0].value)
        return self.apps[app_id]


async def main(path: str) -> None:
    bearer = Bearer(path)
    await bearer.client.request_mtu(517)
    [service] = await bearer.client.discover_service(AncsProxy.SERVICE_CLASS.UUID)
    await bearer.client.discover_characteristics((), service)
    for characteristic in service.characteristics:
        await bearer.client.discover_descriptors(characteristic)
    client = AncsClient(AncsProxy(service))
    printer = asyncio.create_task(Printer(client).run())
    # Not AncsClient.start, which subscribes to the Notification Source before the Data Source.
    await client._ancs_proxy.data_source.subscribe(client._on_data)
    await client._ancs_proxy.notification_source.subscribe(client._on_notification)
    client._started = True
    await bearer.ended.wait()
    printer.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
