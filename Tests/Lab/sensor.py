# SPDX-License-Identifier: GPL-3.0-or-later
"""A peripheral on Bumble's host stack, with the odd database: what `ancsd gatt` connects to."""

from typing import Self

from bumble.core import AdvertisingData
from bumble.device import Connection
from bumble.keys import MemoryKeyStore, PairingKeys

from Harness import att
from Harness.odd_device import OddServer

from .phone import Io, RadioDevice
from .radio import Antenna
from .vhci import Adapter

NAME = "odd one"
ADDRESS = "D4:11:22:33:44:55"


class Sensor(RadioDevice):
    """A peripheral that advertises a service, has its name in the scan response, and takes one link at a
    time."""

    server: OddServer

    def __init__(self, antenna: Antenna, adapter: Adapter, io: Io) -> None:
        super().__init__(antenna, ADDRESS, io, NAME, OddServer(self.send), mtu=100)
        self.pairings: list[bool] = []  # whether each was by Secure Connections
        self.gatt_options = [f"--{adapter.name}", "--connect", f"{self.address}/random"]

    async def start(self) -> Self:
        await super().start()
        kind = AdvertisingData.Type
        data = AdvertisingData(
            [(kind.FLAGS, b"\x06"), (kind.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0f\x18")]
        )
        name = AdvertisingData([(kind.COMPLETE_LOCAL_NAME, NAME.encode())])
        await self.device.start_advertising(
            auto_restart=True, advertising_data=bytes(data), scan_response_data=bytes(name)
        )
        return self

    def on_connection(self, connection: Connection) -> None:
        super().on_connection(connection)
        connection.on(Connection.EVENT_PAIRING, self.on_pairing)

    def on_pairing(self, keys: PairingKeys) -> None:
        self.pairings.append(keys.ltk is not None)  # legacy pairing makes a key for each role

    def on_disconnection(self, reason: int) -> None:
        if self.connection is not None:
            self.server.on_disconnection(self.connection)
        super().on_disconnection(reason)

    def forget(self) -> None:
        """Loses all bonds."""
        self.device.keystore = MemoryKeyStore()

    def notify(self, handle: int, value: bytes) -> None:
        """Sends a notification, subscribed or not."""
        self.send(self.connection, att.notification(handle, value))
