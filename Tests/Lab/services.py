# SPDX-License-Identifier: GPL-3.0-or-later
"""All that a phone shows of itself over GATT, put together; what carries it is not its business."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any

from bumble import gatt
from bumble.gatt import Service

from media import MediaSource
from notifications import NotificationProvider
from server import PhoneServer, Properties, characteristic, need_encryption, readable


class PhoneServices:
    """An iPhone's services: ANCS, AMS, Battery, Current Time, Device Information."""

    def __init__(
        self,
        name: str,
        send: Callable[[Any, bytes], None],
        notifications: type[NotificationProvider] = NotificationProvider,
        media: type[MediaSource] = MediaSource,
    ) -> None:
        self.server = PhoneServer(send)
        self.server.add_basic_services(name)
        self.level = 80
        self.clock_ahead = 0  # seconds that the phone's clock is ahead of this machine's
        self.battery = characteristic(
            gatt.GATT_BATTERY_LEVEL_CHARACTERISTIC,
            Properties.READ | Properties.NOTIFY,
            read=self.encrypted(lambda: bytes([self.level])),
        )
        self.time = characteristic(
            gatt.GATT_CURRENT_TIME_CHARACTERISTIC,
            Properties.READ | Properties.NOTIFY,
            read=self.encrypted(self.current_time),
        )
        self.server.encrypted_only |= {self.battery, self.time}
        self.notifications = notifications(self.server)
        self.media = media(self.server)
        model = readable(gatt.GATT_MODEL_NUMBER_STRING_CHARACTERISTIC, b"iPhone16,1")
        self.server.add_services(
            [
                Service(gatt.GATT_DEVICE_INFORMATION_SERVICE, [model]),
                Service(gatt.GATT_BATTERY_SERVICE, [self.battery]),
                Service(gatt.GATT_CURRENT_TIME_SERVICE, [self.time]),
                self.notifications.service,
                self.media.service,
            ]
        )

    @staticmethod
    def encrypted(value: Callable[[], bytes]) -> Callable[[Any], bytes]:
        def read(bearer: Any) -> bytes:
            need_encryption(bearer)
            return value()

        return read

    def current_time(self) -> bytes:
        """The Current Time characteristic: local time, day of the week, 1/256 s, why it changed."""
        now = time.localtime(time.time() + self.clock_ahead)
        return struct.pack("<HBBBBBBBB", *now[:6], now.tm_wday + 1, 0, 0)

    async def set_battery(self, level: int) -> None:
        self.level = level
        for bearer in self.server.subscribers_of(self.battery):
            await self.server.notify_subscriber(bearer, self.battery, bytes([level]))
