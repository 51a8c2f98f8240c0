# SPDX-License-Identifier: GPL-3.0-or-later
"""All services of a phone."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any

from bumble import gatt
from bumble.gatt import Characteristic, Service

from .ams import MediaSource
from .ancs import NotificationProvider
from .server import GATTServer, Properties, characteristic, readable, require_encryption

#: What ancsd calls the services that it subscribes to.
SERVICES = {"ancs", "ams", "battery", "time"}
#: The MTU that iOS has been seen to ask for since iOS 10.
MTU = 185


class PhoneServices:
    """An iPhone's services: ANCS, AMS, battery, time, device information."""

    def __init__(self, name: str, send: Callable[[Any, bytes], None]) -> None:
        self.server = GATTServer(send)
        self.server.add_basic_services(name)
        self.battery_level = 80
        self.clock_ahead = 0  # seconds that the phone's clock is ahead of this machine's
        self.battery = self.protected(
            gatt.GATT_BATTERY_LEVEL_CHARACTERISTIC, lambda: bytes([self.battery_level])
        )
        self.time = self.protected(gatt.GATT_CURRENT_TIME_CHARACTERISTIC, self.current_time)
        self.ancs = NotificationProvider(self.server)
        self.ams = MediaSource(self.server)
        model = readable(gatt.GATT_MODEL_NUMBER_STRING_CHARACTERISTIC, b"iPhone16,1")
        self.battery_service = Service(gatt.GATT_BATTERY_SERVICE, [self.battery])
        self.time_service = Service(gatt.GATT_CURRENT_TIME_SERVICE, [self.time])
        self.server.add_services([
            Service(gatt.GATT_DEVICE_INFORMATION_SERVICE, [model]), self.battery_service,
            self.time_service, self.ancs.service, self.ams.service,
        ])

    def protected(self, uuid: Any, value: Callable[[], bytes]) -> Characteristic:
        """A characteristic that notifies and requires encryption."""

        def read(bearer: Any) -> bytes:
            require_encryption(bearer)
            return value()

        made = characteristic(uuid, Properties.READ | Properties.NOTIFY, read)
        self.server.encrypted_only.add(made)
        return made

    def current_time(self) -> bytes:
        """The Current Time: local time, day of the week, fractions of a second, adjust reason."""
        now = time.localtime(time.time() + self.clock_ahead)
        return struct.pack("<HBBBBBBBB", *now[:6], now.tm_wday + 1, 0, 0)

    def set_battery(self, level: int) -> None:
        self.battery_level = level
        self.server.notify_all(self.battery, bytes([level]))
