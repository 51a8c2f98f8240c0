# SPDX-License-Identifier: GPL-3.0-or-later
"""A device with an odd database: holes between handles, types of 16 and 128 bits mixed, the same types
twice, included services, long values, values that may not be read, and the last handle there is."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from bumble import att, core, gatt
from bumble.gatt import Characteristic, Descriptor, Service

import odd_tree
from odd_tree import ALERT, BATTERY, BATTERY_LEVEL, TEMPERATURE
from server import PhoneServer, Properties, characteristic, readable, refuse

VENDOR, LONG = core.UUID(odd_tree.VENDOR), core.UUID(odd_tree.LONG)
HIDDEN, LAST = core.UUID(odd_tree.HIDDEN), core.UUID(odd_tree.LAST)

LONG_VALUE = bytes(range(256)) * 2
NAME = "odd \x1b[31m one"


class OddServer(PhoneServer):
    """Bumble's server; handles are given by hand."""

    def __init__(self, send: Callable[[Any, bytes], None]) -> None:
        super().__init__(send)
        self.long = LONG_VALUE
        self.alerts: list[bytes] = []
        #: Which links may read what is secret.
        self.trusts: Callable[[Any], bool] = lambda _: False
        self.level = characteristic(
            BATTERY_LEVEL, Properties.READ | Properties.NOTIFY, read=lambda _: b"\x57"
        )
        self.temperature = characteristic(
            TEMPERATURE,
            Properties.READ | Properties.NOTIFY | Properties.INDICATE,
            read=lambda _: struct.pack("<h", 2150),
        )
        self.last = characteristic(LAST, Properties.NOTIFY)
        self.other_level = characteristic(
            BATTERY_LEVEL, Properties.READ | Properties.INDICATE, read=lambda _: b"\x05"
        )
        self.build()

    def build(self) -> None:
        self.service(0x0001, "1800", 0x0005)
        self.put(0x0002, 0x0003, readable("2A00", NAME.encode()))
        self.put(0x0004, 0x0005, readable("2A01", struct.pack("<H", 0x0040)))

        self.service(0x0010, VENDOR, 0x005F)
        # A 128-bit type is left out of the declaration (Vol 3 Part G, 3.2).
        self.include(0x0011, 0x0100, 0x010F)
        self.include(0x0012, 0x0090, 0x0095, 0x180F)
        self.put(
            0x0020, 0x0023,
            characteristic(
                LONG, Properties.READ | Properties.WRITE, read=lambda _: self.long, write=self.on_long
            ),
        )  # fmt: skip
        self.put(0x0030, 0x0031, self.temperature)
        self.cccd(0x0035, self.temperature)
        self.descriptor(0x0038, "2901", b"Of the \xe2\x80\x9croom\xe2\x80\x9d")
        self.put(0x0040, 0x0041, self.alert())

        self.service(0x0090, BATTERY, 0x0095)
        self.put(0x0091, 0x0092, self.level)
        self.cccd(0x0093, self.level)

        self.service(0x0100, HIDDEN, 0x010F, primary=False)
        self.put(0x0103, 0x0105, self.alert())
        self.descriptor(0x0106, HIDDEN, b"\x00\x01")

        self.service(0x0200, BATTERY, 0x0FFF)
        self.put(0x0210, 0x0211, characteristic(BATTERY_LEVEL, Properties.READ, read=self.secret))
        self.put(0x0220, 0x0221, self.other_level)
        self.cccd(0x0222, self.other_level)

        self.service(0xFFF0, LAST, 0xFFFF)
        self.put(0xFFF1, 0xFFFE, self.last)
        self.cccd(0xFFFF, self.last)

    def alert(self) -> Characteristic:
        properties = Properties.WRITE_WITHOUT_RESPONSE
        return characteristic(ALERT, properties, write=lambda _, value: self.alerts.append(value))

    def on_long(self, _bearer: Any, value: bytes) -> None:
        if value == b"no":
            raise refuse(0x80)
        self.long = value

    def secret(self, bearer: Any) -> bytes:
        if not self.trusts(bearer):
            raise refuse(0x05)
        return b"\x2a"

    # Attributes, one by one

    def at(self, handle: int, attribute: att.Attribute, end: int | None = None) -> None:
        self.highest = handle - 1
        self.add_attribute(attribute)
        if end is not None:
            attribute.end_group_handle = end

    def service(self, handle: int, uuid: Any, end: int, primary: bool = True) -> None:
        service = Service(uuid, [], primary)
        self.at(handle, service, end)
        self.services.append(service)

    def include(self, handle: int, start: int, end: int, uuid: int | None = None) -> None:
        value = struct.pack("<HH", start, end) + (struct.pack("<H", uuid) if uuid else b"")
        kind = gatt.GATT_INCLUDE_ATTRIBUTE_TYPE
        self.at(handle, att.Attribute(kind, att.Attribute.READABLE, value))

    def put(self, handle: int, value: int, characteristic: Characteristic) -> None:
        self.at(handle, gatt.CharacteristicDeclaration(characteristic, value))
        self.at(value, characteristic)
        self.services[-1].characteristics.append(characteristic)

    def cccd(self, handle: int, characteristic: Characteristic) -> None:
        self.descriptor(handle, "2902", self.make_descriptor_value(characteristic))

    def descriptor(self, handle: int, uuid: Any, value: Any) -> None:
        permissions = att.Attribute.READABLE | att.Attribute.WRITEABLE
        self.at(handle, Descriptor(uuid, permissions, value))
