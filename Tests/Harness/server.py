# SPDX-License-Identifier: GPL-3.0-or-later
"""Bumble's GATT server, with the additional behaviour of an iPhone's, as its profile says.

Services come and go while a link is up (with Service Changed), and a descriptor can require encryption.
What carries the ATT PDUs does not matter here: a bearer is anything with `handle`, `att_mtu`, `encryption`
and `on_att_mtu_update`, so that the same services answer over a radio link and over a socket.
"""

import asyncio
import contextlib
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bumble.att
from bumble import crypto, gatt, gatt_server
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.profiles.gatt_service import GenericAttributeProfileService

from . import att
from .profiles import IDEAL, Profile

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


def extend(*characteristics: Characteristic) -> None:
    """Gives characteristics Extended Properties. Their value, Reliable Write, is a guess: it was not read."""
    for characteristic in characteristics:
        characteristic.properties |= Properties.EXTENDED_PROPERTIES
        kind = gatt.GATT_CHARACTERISTIC_EXTENDED_PROPERTIES_DESCRIPTOR
        content = Descriptor(kind, bumble.att.Attribute.READABLE, struct.pack("<H", 1))
        characteristic.descriptors = (content, *characteristic.descriptors)


class GATTServer(gatt_server.Server):
    """A GATT server that never uses a handle twice and whose CCCDs can require encryption."""

    def __init__(self, send: Callable[[Any, bytes], None], profile: Profile = IDEAL) -> None:
        # Bumble's server needs a device only for sending, and for enhanced bearers.
        channels = SimpleNamespace(le_coc_channels={})
        super().__init__(SimpleNamespace(l2cap_channel_manager=channels))  # type: ignore[arg-type]
        self.send = send
        self.profile = profile
        self.highest = 0
        self.asked: dict[Any, bumble.att.ATT_PDU] = {}  # each link's last request
        #: Links whose requests wait for encryption, and what waits.
        self.waiting: dict[Any, list[bumble.att.ATT_PDU]] = {}
        self.announcements: set[asyncio.Task[None]] = set()
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

    # Requests and responses

    def on_gatt_pdu(self, bearer: Any, att_pdu: bumble.att.ATT_PDU) -> None:
        if bearer in self.waiting:
            self.waiting[bearer].append(att_pdu)
            return
        if att_pdu.op_code in att.REQUESTS:
            self.asked[bearer] = att_pdu
        super().on_gatt_pdu(bearer, att_pdu)

    def send_response(self, bearer: Any, response: bumble.att.ATT_PDU) -> None:
        request = self.asked.get(bearer)
        if (
            self.profile.names_ending
            and isinstance(request, bumble.att.ATT_Read_By_Type_Request)
            and isinstance(response, bumble.att.ATT_Error_Response)
            and response.error_code == att.NOT_FOUND
        ):
            self.send(bearer, att.error(request.op_code, request.ending_handle, att.NOT_FOUND))
        else:
            super().send_response(bearer, response)

    def expect_encryption(self, bearer: Any) -> None:
        """A bonded link begins; it will be encrypted."""
        if self.profile.waits:
            self.waiting[bearer] = []

    def on_encryption(self, bearer: Any) -> None:
        """A link has become encrypted."""
        if self.profile.announces:
            task = asyncio.get_running_loop().create_task(self.announce(bearer))
            self.announcements.add(task)
            task.add_done_callback(self.announcements.discard)
        self.release(bearer)

    def release(self, bearer: Any) -> None:
        """Responds to the requests that waited for encryption, which is on or has failed."""
        for att_pdu in self.waiting.pop(bearer, []):
            self.on_gatt_pdu(bearer, att_pdu)

    async def announce(self, bearer: Any) -> None:
        """Indicates that everything except GAP and GATT may have changed, whether or not the link has subscribed."""
        changed = struct.pack("<HH", self.services[1].end_group_handle + 1, 0xFFFF)
        with contextlib.suppress(TimeoutError):  # without a confirmation nothing else changes
            await self.indicate_subscriber(bearer, self.service_changed, changed, force=True)

    def add_basic_services(self, name: str) -> None:
        """Adds GAP and GATT, which can be read without encryption."""
        name_and_appearance = [
            readable(gatt.GATT_DEVICE_NAME_CHARACTERISTIC, name.encode()),
            readable(gatt.GATT_APPEARANCE_CHARACTERISTIC, struct.pack("<H", 0x0040)),
        ]
        self.add_service(Service(gatt.GATT_GENERIC_ACCESS_SERVICE, name_and_appearance))
        attribute_profile = [self.service_changed, *([self.hash] if self.profile.hash else [])]
        self.add_service(Service(gatt.GATT_GENERIC_ATTRIBUTE_SERVICE, attribute_profile))

    def database_hash(self) -> bytes:
        """The Database Hash (Core Specification Vol 3 Part G, 7.3.1)."""
        data = b"".join(map(GenericAttributeProfileService.get_attribute_data, self.attributes))
        return crypto.aes_cmac(m=data, k=bytes(16))[::-1]

    # Bumble counts the attributes, and would reuse a handle after its service was removed.
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
        if (pending := self.pending_confirmations[bearer]) is not None:
            pending.cancel()
        super().on_disconnection(bearer)
        self.asked.pop(bearer, None)
        self.waiting.pop(bearer, None)
        for forget in self.on_gone:
            forget(bearer)
