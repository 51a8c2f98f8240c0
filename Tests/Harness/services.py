# SPDX-License-Identifier: GPL-3.0-or-later
"""All services of a phone."""

import struct
import time
from collections.abc import Callable
from typing import Any

from bumble import gatt
from bumble.core import UUID
from bumble.gatt import Characteristic, Service

from .ams import MediaSource
from .ancs import NotificationProvider
from .profiles import IPHONE, Profile
from .server import GATTServer, Properties, characteristic, extend, readable, require_encryption

#: What ancsd calls the services that it subscribes to.
SERVICES = {"ancs", "ams", "battery", "time"}
#: The MTU that iOS has requested since iOS 10, as seen.
MTU = 185


WRITE_NOTIFY = Properties.WRITE | Properties.NOTIFY
COMMAND_NOTIFY = Properties.WRITE_WITHOUT_RESPONSE | Properties.NOTIFY
#: Services that only Apple's own accessories use, with their only characteristic: Continuity, Nearby, and
#: one without a known name.
APPLE = {
    "D0611E78-BBB4-4591-A5F8-487910AE4366": ("8667556C-9A37-4C91-84ED-54EE27D90049", WRITE_NOTIFY),
    "9FA480E0-4967-4542-9390-D343DC5D04AE": ("AF0BADB1-5B99-43CD-917A-A77BC549E3CC", WRITE_NOTIFY),
    "410CD5ED-2F82-4F77-8916-AB5F5010368F": ("F7DA4085-BBE7-42F4-9727-6CA60FE3A1A5", COMMAND_NOTIFY),
}


class PhoneServices:
    """An iPhone's services: ANCS, AMS, battery, time, device information."""

    def __init__(
        self, name: str, send: Callable[[Any, bytes], None], profile: Profile = IPHONE
    ) -> None:
        self.server = GATTServer(send, profile)
        self.server.add_basic_services(name)
        self.battery_level = 80
        self.battery = self.protected(
            gatt.GATT_BATTERY_LEVEL_CHARACTERISTIC, lambda: bytes([self.battery_level])
        )
        self.time = self.protected(gatt.GATT_CURRENT_TIME_CHARACTERISTIC, self.current_time)
        self.ancs = NotificationProvider(self.server)
        self.ams = MediaSource(self.server)
        device = {
            gatt.GATT_MANUFACTURER_NAME_STRING_CHARACTERISTIC: b"Apple Inc.",
            gatt.GATT_MODEL_NUMBER_STRING_CHARACTERISTIC: b"iPhone18,2",
        }
        # Local Time Information: UTC, without daylight saving time.
        zone = readable(UUID.from_16_bits(0x2A0F), b"\0\0")
        self.battery_service = Service(gatt.GATT_BATTERY_SERVICE, [self.battery])
        self.time_service = Service(gatt.GATT_CURRENT_TIME_SERVICE, [self.time, zone])
        self.server.add_services([
            Service(gatt.GATT_DEVICE_INFORMATION_SERVICE, [readable(*item) for item in device.items()]),
            self.battery_service, self.time_service, self.ancs.service, self.ams.service,
        ])
        if profile.captured:
            self.server.add_services(self.own(*entry) for entry in APPLE.items())

    def own(self, service: str, content: tuple[str, Properties]) -> Service:
        """One of Apple's own services. It does nothing here, and requires encryption."""
        kind, properties = content
        made = characteristic(UUID(kind), properties, write=lambda bearer, _: require_encryption(bearer))
        self.server.encrypted_only.add(made)
        extend(made)
        return Service(UUID(service), [made])

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
        now = time.localtime()
        return struct.pack("<HBBBBBBBB", *now[:6], now.tm_wday + 1, 0, 0)

    def set_battery(self, level: int) -> None:
        self.battery_level = level
        self.server.notify_all(self.battery, bytes([level]))
