# SPDX-License-Identifier: GPL-3.0-or-later
"""A peripheral on Bumble's host stack, with the odd database: what `ancsd gatt` connects to."""

from __future__ import annotations

import secrets
from typing import Any

from bumble import hci
from bumble.controller import Controller
from bumble.core import AdvertisingData
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.host import Host
from bumble.keys import MemoryKeyStore, PairingKeys
from bumble.pairing import PairingConfig
from bumble.transport.common import AsyncPipeSink

from oddity import OddServer
from phone import ATT_CID, Io, Person
from radio import Air, EagerAdvertiser

NAME = "odd one"


class Sensor:
    """One peripheral, which advertises a service, tells its name to who scans, and again after each link."""

    def __init__(self, air: Air, address: str, io: Io) -> None:
        self.identity = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        self.person = Person(io)
        self.server = OddServer(self.send)
        self.server.max_mtu = 100
        self.connection: Connection | None = None
        self.links = 0
        self.pairings: list[bool] = []  # whether each was by Secure Connections
        self.secure = True  # Secure Connections; False: legacy pairing only
        controller = Controller("sensor", link=air)
        controller.le_legacy_advertiser = EagerAdvertiser(controller)
        config = DeviceConfiguration(
            name=NAME,
            address=self.identity,
            irk=secrets.token_bytes(16),
            gap_service_enabled=False,
            gatt_service_enabled=False,
            identity_address_type=hci.Address.RANDOM_DEVICE_ADDRESS,
        )
        self.device = Device(config=config, host=Host(controller, AsyncPipeSink(controller)))
        self.device.keystore = MemoryKeyStore()
        self.device.gatt_server = self.server
        self.device.pairing_config_factory = self.pairing_config
        self.device.on(Device.EVENT_CONNECTION, self.on_connection)

    @property
    def address(self) -> str:
        """As `ancsd gatt --connect` takes it."""
        return self.identity.to_string(with_type_qualifier=False) + "/random"

    def pairing_config(self, _: Connection) -> PairingConfig:
        return PairingConfig(
            sc=self.secure,
            mitm=self.person.io_capability != Io.NONE,
            bonding=True,
            delegate=self.person,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )

    def send(self, bearer: Any, pdu: bytes) -> None:
        self.device.send_l2cap_pdu(bearer.handle, ATT_CID, pdu)

    async def start(self) -> Sensor:
        await self.device.power_on()
        kind = AdvertisingData.Type
        data = AdvertisingData(
            [
                (kind.FLAGS, b"\x06"),
                (kind.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0f\x18"),
            ]
        )
        name = AdvertisingData([(kind.COMPLETE_LOCAL_NAME, NAME.encode())])
        await self.device.start_advertising(
            auto_restart=True, advertising_data=bytes(data), scan_response_data=bytes(name)
        )
        return self

    def on_connection(self, connection: Connection) -> None:
        self.links += 1
        self.connection = connection
        connection.on(Connection.EVENT_DISCONNECTION, self.on_disconnection)
        connection.on(Connection.EVENT_PAIRING, self.on_pairing)

    def on_pairing(self, keys: PairingKeys) -> None:
        self.pairings.append(keys.ltk is not None)  # legacy pairing makes a key for each role

    def on_disconnection(self, _reason: int) -> None:
        if self.connection is not None:
            self.server.on_disconnection(self.connection)
        self.connection = None

    def forget(self) -> None:
        """Knows nobody any more."""
        self.device.keystore = MemoryKeyStore()

    def notify(self, characteristic: Any, value: bytes) -> None:
        """Sends a value to whoever is connected, asked for or not."""
        self.send(self.connection, b"\x1b" + characteristic.handle.to_bytes(2, "little") + value)
