# SPDX-License-Identifier: GPL-3.0-or-later
"""Bumble's GATT server, with what an iPhone's does besides.

Services come and go while a link is up (with Service Changed), and a descriptor can require encryption.
What carries the ATT PDUs does not matter here: a bearer is anything with `handle`, `att_mtu`, `encryption`
and `on_att_mtu_update`, so that the same services answer over a radio link and over a socket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bumble.att
from bumble import crypto, gatt, gatt_server
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.profiles.gatt_service import GenericAttributeProfileService

from . import att

Properties = Characteristic.Properties
Permissions = Characteristic.Permissions


def refuse(code: int) -> bumble.att.ATT_Error:
    """The ATT error `code`, to be raised by a read or write handler."""
    return bumble.att.ATT_Error(error_code=code)


def require_encryption(bearer: Any) -> None:
    """Refuses access over a link that is not encrypted, with the error that iOS uses."""
    if not bearer.encryption:
        raise refuse(att.INSUFFICIENT_AUTHENTICATION)


def characteristic(
    uuid: Any, properties: Properties, read: Callable[[Any], bytes] | None = None,
    write: Callable[[Any, bytes], None] | None = None,
) -> Characteristic:
    """A characteristic with handlers, which also decide whether the link is secure enough."""

    def no_read(_: Any) -> bytes:
        raise refuse(att.READ_NOT_PERMITTED)

    def no_write(_: Any, __: bytes) -> None:
        raise refuse(att.WRITE_NOT_PERMITTED)

    # Bumble does not check these permissions; they only show when the database is printed.
    permissions = Permissions.READABLE if read else Permissions(0)
    permissions |= Permissions.WRITEABLE if write else Permissions(0)
    value = CharacteristicValue(read=read or no_read, write=write or no_write)
    return Characteristic(uuid, properties, permissions, value)


def readable(uuid: Any, value: bytes) -> Characteristic:
    """A characteristic with a constant value, readable without encryption."""
    return characteristic(uuid, Properties.READ, read=lambda _: value)


class GATTServer(gatt_server.Server):
    """A GATT server that never uses a handle twice and whose CCCDs can require encryption."""

    def __init__(self, send: Callable[[Any, bytes], None]) -> None:
        # Bumble's server needs a device only for sending, and for enhanced bearers.
        channels = SimpleNamespace(le_coc_channels={})
        super().__init__(SimpleNamespace(l2cap_channel_manager=channels))  # type: ignore[arg-type]
        self.send = send
        self.highest = 0
        self.encrypted_only: set[Characteristic] = set()
        self.on_gone: list[Callable[[Any], None]] = []
        self.service_changed = characteristic(
            gatt.GATT_SERVICE_CHANGED_CHARACTERISTIC, Properties.INDICATE
        )
        self.hash = characteristic(
            gatt.GATT_DATABASE_HASH_CHARACTERISTIC, Properties.READ, lambda _: self.database_hash()
        )

    def send_gatt_pdu(self, bearer: Any, pdu: bytes) -> None:
        self.send(bearer, pdu)

    def add_basic_services(self, name: str) -> None:
        """Adds GAP and GATT, which can be read without encryption."""
        name_and_appearance = [
            readable(gatt.GATT_DEVICE_NAME_CHARACTERISTIC, name.encode()),
            readable(gatt.GATT_APPEARANCE_CHARACTERISTIC, struct.pack("<H", 0x0040)),
        ]
        self.add_service(Service(gatt.GATT_GENERIC_ACCESS_SERVICE, name_and_appearance))
        self.add_service(Service(gatt.GATT_GENERIC_ATTRIBUTE_SERVICE, [self.service_changed, self.hash]))

    def database_hash(self) -> bytes:
        """The Database Hash (Core Specification Vol 3 Part G, 7.3.1)."""
        data = b"".join(map(GenericAttributeProfileService.get_attribute_data, self.attributes))
        return crypto.aes_cmac(m=data, k=bytes(16))[::-1]

    # Bumble counts the attributes, and would give a handle away again after its service was removed.
    def next_handle(self) -> int:
        return self.highest + 1

    def add_attribute(self, attribute: bumble.att.Attribute) -> None:
        super().add_attribute(attribute)
        self.highest = attribute.handle

    def make_descriptor_value(self, characteristic: Characteristic) -> bumble.att.AttributeValueV2:
        def write(bearer: Any, value: bytes) -> None:
            if characteristic in self.encrypted_only:
                require_encryption(bearer)
            if len(value) != 2:
                raise refuse(att.INVALID_LENGTH)
            self.write_cccd(bearer, characteristic, value)

        return bumble.att.AttributeValueV2(lambda bearer: self.read_cccd(bearer, characteristic), write)

    def configuration(self, bearer: Any, characteristic: Characteristic) -> int:
        """The link's Client Characteristic Configuration: 1 for notifications, 2 for indications."""
        return int.from_bytes(self.read_cccd(bearer, characteristic), "little")

    def subscribed(self, bearer: Any, characteristic: Characteristic) -> bool:
        """Whether the link has subscribed to notifications of the characteristic."""
        return self.configuration(bearer, characteristic) & 1 != 0

    def notify(self, bearer: Any, characteristic: Characteristic, value: bytes) -> None:
        """Sends a notification, cut to the MTU, if the link has subscribed to it."""
        if self.subscribed(bearer, characteristic):
            self.send(bearer, att.notification(characteristic.handle, value[: bearer.att_mtu - 3]))

    def notify_all(self, characteristic: Characteristic, value: bytes) -> None:
        for bearer in list(self.subscribers):
            self.notify(bearer, characteristic, value)

    async def publish(self, *services: Service, at: int | None = None) -> None:
        """Adds services while links are up, at new handles or from the handle `at` on."""
        highest, first = self.highest, at or self.highest + 1
        self.highest = first - 1
        self.add_services(services)
        last, self.highest = self.highest, max(highest, self.highest)
        self.attributes.sort(key=lambda attribute: attribute.handle)
        await self.indicate_change(first, last)

    async def unpublish(self, *services: Service) -> None:
        """Removes services and their subscriptions while links are up."""
        for service in services:
            span = range(service.handle, service.end_group_handle + 1)
            self.services.remove(service)
            self.remove_attributes(lambda attribute, span=span: attribute.handle in span)
            for cccds in self.subscribers.values():
                for handle in [h for h in cccds if h in span]:
                    del cccds[handle]
        await self.indicate_change(services[0].handle, services[-1].end_group_handle)

    def remove_attributes(self, where: Callable[[bumble.att.Attribute], bool]) -> None:
        self.attributes = [attribute for attribute in self.attributes if not where(attribute)]
        self.attributes_by_handle.clear()

    async def indicate_change(self, first: int, last: int) -> None:
        """Indicates Service Changed for a range of handles."""
        await self.indicate_subscribers(self.service_changed, struct.pack("<HH", first, last))

    def on_disconnection(self, bearer: Any) -> None:
        super().on_disconnection(bearer)
        for forget in self.on_gone:
            forget(bearer)
