# SPDX-License-Identifier: GPL-3.0-or-later
"""The phone's attribute database: Bumble's GATT server with what an iPhone's does besides.

Services come and go while a link is up (Service Changed says so), and a descriptor can be closed to
a link that is not encrypted. Nothing here knows what carries the ATT PDUs: a bearer is anything
with `handle`, `att_mtu`, `encryption` and `on_att_mtu_update`, so the same services answer over a
radio link and over a socket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from bumble import att, crypto, gatt, gatt_server
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.profiles.gatt_service import GenericAttributeProfileService

Properties = Characteristic.Properties
Permissions = Characteristic.Permissions

INSUFFICIENT_AUTHENTICATION = 0x05
INSUFFICIENT_ENCRYPTION = 0x0F

#: What a link that is not encrypted is told. iOS has been seen to say either.
unencrypted_error = INSUFFICIENT_AUTHENTICATION


def refuse(code: int) -> att.ATT_Error:
    """The ATT error `code`, to be raised from a read or write handler."""
    return att.ATT_Error(error_code=code)


def need_encryption(bearer: Any) -> None:
    """Raises what sends a peer to its pairing procedure unless the link is encrypted."""
    if not bearer.encryption:
        raise refuse(unencrypted_error)


def characteristic(
    uuid: Any,
    properties: Properties,
    read: Callable[[Any], bytes] | None = None,
    write: Callable[[Any, bytes], None] | None = None,
) -> Characteristic:
    """A characteristic with handlers; whether a link may use it is for the handlers to say."""

    def no_read(_: Any) -> bytes:
        raise refuse(att.ATT_READ_NOT_PERMITTED_ERROR)

    def no_write(_: Any, __: bytes) -> None:
        raise refuse(att.ATT_WRITE_NOT_PERMITTED_ERROR)

    # Bumble does not look at these two permissions; they are here for whoever prints the database.
    permissions = Permissions.READABLE if read else Permissions(0)
    permissions |= Permissions.WRITEABLE if write else Permissions(0)
    value = CharacteristicValue(read=read or no_read, write=write or no_write)
    return Characteristic(uuid, properties, permissions, value)


def readable(uuid: Any, value: bytes) -> Characteristic:
    """A characteristic that anybody may read, of one value."""
    return characteristic(uuid, Properties.READ, read=lambda _: value)


class PhoneServer(gatt_server.Server):
    """A GATT server whose handles are never used twice and whose CCCDs may want encryption."""

    def __init__(self, send: Callable[[Any, bytes], None]) -> None:
        # Bumble's server sees a device only to send, and to look for enhanced bearers.
        channels = SimpleNamespace(le_coc_channels={})
        super().__init__(SimpleNamespace(l2cap_channel_manager=channels))  # type: ignore[arg-type]
        self.send = send
        self.highest = 0
        self.encrypted_only: set[Characteristic] = set()
        self.gone: list[Callable[[Any], None]] = []
        self.service_changed = characteristic(
            gatt.GATT_SERVICE_CHANGED_CHARACTERISTIC, Properties.INDICATE
        )
        self.hash_reads = 0
        self.hash = characteristic(
            gatt.GATT_DATABASE_HASH_CHARACTERISTIC, Properties.READ, read=self.on_hash_read
        )

    def send_gatt_pdu(self, bearer: Any, pdu: bytes) -> None:
        self.send(bearer, pdu)

    def add_basic_services(self, name: str) -> None:
        """GAP and GATT, which every peer may look at before it is encrypted."""
        texts = {
            gatt.GATT_DEVICE_NAME_CHARACTERISTIC: name.encode(),
            gatt.GATT_APPEARANCE_CHARACTERISTIC: struct.pack("<H", 0x0040),
        }
        shown = [readable(uuid, value) for uuid, value in texts.items()]
        self.add_service(Service(gatt.GATT_GENERIC_ACCESS_SERVICE, shown))
        self.add_service(
            Service(gatt.GATT_GENERIC_ATTRIBUTE_SERVICE, [self.service_changed, self.hash])
        )

    def on_hash_read(self, _bearer: Any) -> bytes:
        self.hash_reads += 1
        return self.database_hash()

    def database_hash(self) -> bytes:
        """Core Vol 3 Part G 7.3.1: the hash that tells a client whether its cached handles hold."""
        data = b"".join(map(GenericAttributeProfileService.get_attribute_data, self.attributes))
        return crypto.aes_cmac(m=data, k=bytes(16))[::-1]

    # Bumble counts the attributes; a service that went would leave its successor a used handle.
    def next_handle(self) -> int:
        return self.highest + 1

    def add_attribute(self, attribute: att.Attribute) -> None:
        super().add_attribute(attribute)
        self.highest = attribute.handle

    def make_descriptor_value(self, characteristic: Characteristic) -> att.AttributeValueV2:
        def write(bearer: Any, value: bytes) -> None:
            if characteristic in self.encrypted_only:
                need_encryption(bearer)
            if len(value) != 2:
                raise refuse(att.ATT_INVALID_ATTRIBUTE_LENGTH_ERROR)
            self.write_cccd(bearer, characteristic, value)

        return att.AttributeValueV2(lambda bearer: self.read_cccd(bearer, characteristic), write)

    def subscribed(self, bearer: Any, characteristic: Characteristic) -> bool:
        """Whether this link asked for notifications of the characteristic."""
        return self.read_cccd(bearer, characteristic)[0] & 1 != 0

    def subscribers_of(self, characteristic: Characteristic) -> list[Any]:
        return [bearer for bearer in self.subscribers if self.subscribed(bearer, characteristic)]

    async def publish(self, *services: Service) -> None:
        """Adds services while links are up, with new handles, and says so."""
        first = self.next_handle()
        self.add_services(services)
        await self.say_changed(first, self.highest)

    async def unpublish(self, *services: Service) -> None:
        """Takes services away while links are up, with their subscriptions, and says so."""
        for service in services:
            span = range(service.handle, service.end_group_handle + 1)
            self.services.remove(service)
            self.attributes = [a for a in self.attributes if a.handle not in span]
            for cccds in self.subscribers.values():
                for handle in [h for h in cccds if h in span]:
                    del cccds[handle]
        self.attributes_by_handle.clear()
        await self.say_changed(services[0].handle, services[-1].end_group_handle)

    async def say_changed(self, first: int, last: int) -> None:
        await self.indicate_subscribers(self.service_changed, struct.pack("<HH", first, last))

    def on_disconnection(self, bearer: Any) -> None:
        super().on_disconnection(bearer)
        for forget in self.gone:
            forget(bearer)
