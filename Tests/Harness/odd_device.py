# SPDX-License-Identifier: GPL-3.0-or-later
"""A GATT device with an odd database: gaps between handles, 16-bit and 128-bit types mixed, types that
occur twice, included services, long values, values that can't be read, and the highest handle."""

import struct
from collections.abc import Callable
from typing import Any

import bumble.att
from bumble import gatt
from bumble.core import UUID
from bumble.gatt import Characteristic, Descriptor, Service

from . import att
from .case import check
from .server import GATTServer, Properties, characteristic, readable, refuse

VENDOR = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
LONG = "6E400002-B5A3-F393-E0A9-E50E24DCCA9E"
HIDDEN = "6E400003-B5A3-F393-E0A9-E50E24DCCA9E"
LAST = "6E4000FF-B5A3-F393-E0A9-E50E24DCCA9E"
BATTERY, BATTERY_LEVEL, TEMPERATURE, ALERT = "180F", "2A19", "2A6E", "2A06"

NAME = "odd \x1b[31m one"
LONG_VALUE = bytes(range(256)) * 2

#: Services by their handles: the last handle, the type, whether it is a primary service.
SERVICES: dict[int, tuple[int, str, bool]] = {
    0x0001: (0x0005, "1800", True),
    0x0010: (0x005F, VENDOR, True),
    0x0090: (0x0095, BATTERY, True),
    0x0100: (0x010F, HIDDEN, False),
    0x0200: (0x0FFF, BATTERY, True),
    0xFFF0: (0xFFFF, LAST, True),
}
#: Included services by the handles of their declarations.
INCLUDES = {0x0011: 0x0100, 0x0012: 0x0090}
#: Characteristics by the handles of their values: the declaration, the type, descriptors by their handles.
CHARACTERISTICS: dict[int, tuple[int, str, dict[int, str]]] = {
    0x0003: (0x0002, "2A00", {}),
    0x0005: (0x0004, "2A01", {}),
    0x0023: (0x0020, LONG, {}),
    0x0031: (0x0030, TEMPERATURE, {0x0035: "2902", 0x0038: "2901"}),
    0x0041: (0x0040, ALERT, {}),
    0x0092: (0x0091, BATTERY_LEVEL, {0x0093: "2902"}),
    0x0105: (0x0103, ALERT, {0x0106: HIDDEN}),
    0x0211: (0x0210, BATTERY_LEVEL, {}),
    0x0221: (0x0220, BATTERY_LEVEL, {0x0222: "2902"}),
    0xFFFE: (0xFFF1, LAST, {0xFFFF: "2902"}),
}
#: The values of descriptors other than configurations.
DESCRIPTORS = {0x0038: b"Of the \xe2\x80\x9croom\xe2\x80\x9d", 0x0106: b"\x00\x01"}


class OddServer(GATTServer):
    """The device's server."""

    def __init__(self, send: Callable[[Any, bytes], None]) -> None:
        super().__init__(send)
        self.long = LONG_VALUE
        self.alerts: list[bytes] = []
        #: Whether a link may read the value at 0x0211.
        self.trusts: Callable[[Any], bool] = lambda _: False
        read, write, notify = Properties.READ, Properties.WRITE, Properties.NOTIFY
        self.temperature = characteristic(
            TEMPERATURE, read | notify | Properties.INDICATE, lambda _: struct.pack("<h", 2150)
        )
        self.level = characteristic(BATTERY_LEVEL, read | notify, lambda _: b"\x57")
        self.other_level = characteristic(
            BATTERY_LEVEL, read | Properties.INDICATE, lambda _: b"\x05"
        )
        values = {
            0x0003: readable("2A00", NAME.encode()),
            0x0005: readable("2A01", struct.pack("<H", 0x0040)),
            0x0023: characteristic(UUID(LONG), read | write, lambda _: self.long, self.on_long),
            0x0031: self.temperature,
            0x0041: self.alert(),
            0x0092: self.level,
            0x0105: self.alert(),
            0x0211: characteristic(BATTERY_LEVEL, read, self.secret),
            0x0221: self.other_level,
            0xFFFE: characteristic(UUID(LAST), notify),
        }
        for handle, (end, kind, primary) in SERVICES.items():
            self.add_at(handle, service := Service(UUID(kind), [], primary))
            service.end_group_handle = end
            self.services.append(service)
            for value, (declaration, _, descriptors) in CHARACTERISTICS.items():
                if handle < value <= end:
                    self.add_characteristic(service, declaration, value, values[value], descriptors)
        for handle, start in INCLUDES.items():
            self.add_at(handle, self.include(start))
        self.attributes.sort(key=lambda attribute: attribute.handle)

    def alert(self) -> Characteristic:
        properties = Properties.WRITE_WITHOUT_RESPONSE
        return characteristic(ALERT, properties, write=lambda _, value: self.alerts.append(value))

    def on_long(self, _bearer: Any, value: bytes) -> None:
        if value == b"no":
            raise refuse(0x80)
        self.long = value

    def secret(self, bearer: Any) -> bytes:
        if not self.trusts(bearer):
            raise refuse(att.INSUFFICIENT_AUTHENTICATION)
        return b"\x2a"

    def add_at(self, handle: int, attribute: bumble.att.Attribute) -> None:
        self.highest = handle - 1
        self.add_attribute(attribute)

    def add_characteristic(
        self, service: Service, declaration: int, handle: int, value: Characteristic,
        descriptors: dict[int, str],
    ) -> None:
        self.add_at(declaration, gatt.CharacteristicDeclaration(value, handle))
        self.add_at(handle, value)
        service.characteristics.append(value)
        permissions = bumble.att.Attribute.READABLE | bumble.att.Attribute.WRITEABLE
        for at, kind in descriptors.items():
            content = self.make_descriptor_value(value) if kind == "2902" else DESCRIPTORS[at]
            self.add_at(at, Descriptor(UUID(kind), permissions, content))

    @staticmethod
    def include(start: int) -> bumble.att.Attribute:
        end, kind, _ = SERVICES[start]
        # A 128-bit type is left out of the declaration (Core Specification Vol 3 Part G, 3.2).
        value = struct.pack("<HH", start, end) + (bytes.fromhex(kind)[::-1] if len(kind) == 4 else b"")
        return bumble.att.Attribute(
            gatt.GATT_INCLUDE_ATTRIBUTE_TYPE, bumble.att.Attribute.READABLE, value
        )


def check_tree(found: list[dict[str, Any]]) -> None:
    """Checks what `ancsd gatt tree` printed against the device."""
    services = [event for event in found if event["event"] == "service"]
    told = {s["start"]: (s["end"], s["uuid"].upper(), s["primary"]) for s in services}
    check(told == SERVICES, f"the services are {told}")
    includes = {i["handle"]: (i["start"], i["uuid"]) for s in services for i in s["includes"]}
    wanted = {handle: (start, SERVICES[start][1]) for handle, start in INCLUDES.items()}
    check(includes == wanted, f"the included services are {includes}")
    characteristics = {
        c["handle"]: (
            c["declaration"], c["uuid"].upper(),
            {d["handle"]: d["uuid"].upper() for d in c["descriptors"]},
        )
        for s in services
        for c in s["characteristics"]
    }
    for value, entry in CHARACTERISTICS.items():
        check(characteristics.get(value) == entry, f"at 0x{value:04X}: {characteristics.get(value)}, not {entry}")
    beyond = set(characteristics) - set(CHARACTERISTICS)
    check(not beyond, f"unexpected characteristics: {beyond}")
