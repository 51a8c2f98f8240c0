# SPDX-License-Identifier: GPL-3.0-or-later
"""A phone on Bumble's host stack, as an iPhone behaves towards an ANCS accessory.

It looks for an accessory that solicits ANCS, connects, encrypts with its bond or else reads what
the accessory shows until something wants encryption, and pairs then. services.py has its services.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from enum import IntEnum
from typing import Any

from bumble import att, hci
from bumble.controller import Controller
from bumble.core import BaseBumbleError, ProtocolError
from bumble.device import Advertisement, Connection, Device, DeviceConfiguration
from bumble.gatt import Characteristic
from bumble.host import Host
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import ErrorCode, SMP_Pairing_Failed_Command
from bumble.transport.common import AsyncPipeSink

from notifications import SERVICE as ANCS
from radio import Air
from services import PhoneServices

SOLICITATION_128 = 0x15
ATT_CID = 4
#: What iOS has been seen to ask for since iOS 10; the accessory's own wish may be larger.
MTU = 185


class Io(IntEnum):
    """What the phone can show and take. iOS is a display with a keyboard."""

    DISPLAY = 0
    YES_NO = 1
    KEYBOARD = 2
    NONE = 3
    KEYBOARD_DISPLAY = 4


class Person(PairingDelegate):
    """Who holds the phone: agrees or not, compares the number, types what the board shows."""

    def __init__(self, io: Io) -> None:
        super().__init__(PairingDelegate.IoCapability(io))
        self.agrees = True
        self.asked = 0
        self.renew()

    def renew(self) -> None:
        """For another pairing: nothing is shown or typed yet."""
        loop = asyncio.get_running_loop()
        self.compared: asyncio.Future[int] = loop.create_future()  # the number on the phone
        self.shown: asyncio.Future[int] = loop.create_future()  # the passkey on the phone
        self.typed: asyncio.Future[int] = loop.create_future()  # what the case lets the person type

    async def confirm(self, auto: bool = False) -> bool:
        self.asked += 1
        return self.agrees

    async def compare_numbers(self, number: int, digits: int) -> bool:
        self.asked += 1
        self.compared.set_result(number)
        return self.agrees

    async def display_number(self, number: int, digits: int) -> None:
        self.shown.set_result(number)

    async def get_number(self) -> int | None:
        self.asked += 1
        return await self.typed if self.agrees else None


class Phone:
    """One phone. Knobs are attributes: `person`, `private`, `secure`, `cancels`, `will_pair`."""

    def __init__(
        self,
        air: Air,
        address: str = "C4:11:22:33:44:55",
        io: Io = Io.KEYBOARD_DISPLAY,
        private: bool = False,
        name: str = "iPhone",
    ) -> None:
        self.identity = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        self.private = private
        self.only: str | None = None  # the public address of the one accessory that it looks at
        self.secure = True  # Secure Connections; False: legacy pairing only
        self.cancels = False  # the person taps Cancel before the phone asks for anything
        self.will_pair = True
        self.heeds_requests = True  # answers a Security Request by encrypting or pairing
        self.encrypts = True  # uses its bond by itself as soon as it is connected
        self.speaks_first = False  # sends something before it encrypts
        self.person = Person(io)
        self.bonds = MemoryKeyStore()
        self.connection: Connection | None = None
        self.pairings = 0
        self.refusals: list[str] = []  # pairings that failed, by SMP's reason
        self.failed_encryption: list[int | None] = []  # HCI reasons
        self.reasons: list[int] = []  # why links ended, HCI reasons
        self.read: dict[str, bytes] = {}  # what the accessory showed, by UUID
        self.protected: str | None = None  # the characteristic that wanted encryption
        self.tried: Connection | None = None
        self.securing = asyncio.Lock()
        self.services = PhoneServices(name, self.send)
        self.services.server.max_mtu = MTU
        self.notifications = self.services.notifications
        self.media = self.services.media

        self.controller = Controller(name, link=air)
        config = DeviceConfiguration(
            name=name,
            address=self.identity,
            irk=secrets.token_bytes(16),
            le_privacy_enabled=private,
            le_rpa_timeout=0,
            gap_service_enabled=False,
            gatt_service_enabled=False,
            identity_address_type=hci.Address.RANDOM_DEVICE_ADDRESS,
        )
        host = Host(self.controller, AsyncPipeSink(self.controller))
        self.device = Device(config=config, host=host)
        self.mute = False  # says not one byte on a link, not even what L2CAP says by itself
        speak = host.send_l2cap_pdu

        def send_l2cap_pdu(connection_handle: int, cid: int, pdu: bytes) -> None:
            if not self.mute:
                speak(connection_handle, cid, pdu)

        host.send_l2cap_pdu = send_l2cap_pdu  # type: ignore[method-assign]
        self.device.keystore = self.bonds
        self.device.gatt_server = self.services.server
        self.device.pairing_config_factory = self.pairing_config
        self.device.on(Device.EVENT_CONNECTION, self.on_connection)
        self.device.on(Device.EVENT_ADVERTISEMENT, self.on_advertisement)
        self.wanted: asyncio.Future[hci.Address] | None = None

    async def start(self) -> Phone:
        await self.device.power_on()
        return self

    def pairing_config(self, _: Connection) -> PairingConfig:
        # As iOS asks: bonding, protection against the man in the middle, Secure Connections.
        return PairingConfig(
            sc=self.secure,
            mitm=True,
            bonding=True,
            delegate=self.person,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )

    def send(self, bearer: Any, pdu: bytes) -> None:
        self.device.send_l2cap_pdu(bearer.handle, ATT_CID, pdu)

    # The state of the link, for the cases

    @property
    def address(self) -> str:
        """The identity address, as ancsd writes it."""
        return self.identity.to_string(with_type_qualifier=False)

    @property
    def connected(self) -> bool:
        return self.connection is not None

    @property
    def encrypted(self) -> bool:
        return self.connection is not None and self.connection.is_encrypted

    @property
    def authenticated(self) -> bool:
        """Whether the bond's key was made with protection against a man in the middle."""
        return any(
            keys.ltk is not None and keys.ltk.authenticated for keys in self.bonds.all_keys.values()
        )

    async def bonded(self) -> bool:
        return bool(await self.bonds.get_all())

    async def forget(self) -> None:
        """The person taps Forget This Device."""
        await self.bonds.delete_all()
        await self.device.refresh_resolving_list()

    async def spoil_key(self) -> None:
        """The bond's key becomes another one, as after a restored backup."""
        for keys in self.bonds.all_keys.values():
            assert keys.ltk is not None
            keys.ltk.value = secrets.token_bytes(16)

    async def new_address(self) -> hci.Address:
        """Takes another resolvable private address, as phones do every few minutes."""
        address = hci.Address.generate_private_address(self.device.irk)
        await self.device.send_sync_command(
            hci.HCI_LE_Set_Random_Address_Command(random_address=address)
        )
        self.device.random_address = address
        return address

    # Coming and going

    def on_advertisement(self, advertisement: Advertisement) -> None:
        solicits = any(
            kind == SOLICITATION_128 and bytes(ANCS) in value
            for kind, value in advertisement.data.ad_structures
        )
        address = str(advertisement.address)
        if self.only is not None and address != f"{self.only}/P":
            return
        known = address in self.bonds.all_keys
        if (solicits or known) and self.wanted is not None and not self.wanted.done():
            self.wanted.set_result(advertisement.address)

    async def find(self, within: float) -> hci.Address:
        """The address of an accessory that this phone would connect to."""
        self.wanted = asyncio.get_running_loop().create_future()
        await self.device.start_scanning(legacy=True)
        try:
            return await asyncio.wait_for(self.wanted, within)
        except TimeoutError:
            raise AssertionError(
                f"no accessory that solicits ANCS was on air in {within} s"
            ) from None
        finally:
            await self.device.stop_scanning(legacy=True)

    async def connect(self, within: float = 8) -> Connection:
        """Connects, no more."""
        address = await self.find(within)
        return await self.device.connect(address, timeout=within)

    async def come(self, within: float = 8) -> None:
        """Connects and does all that a phone does by itself, up to an encrypted link if it can."""
        connection = await self.connect(within)
        try:
            await self.settle(connection)
        except (asyncio.CancelledError, BaseBumbleError, TimeoutError):
            # The link may go at any point: what was seen until then is in the attributes.
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise

    async def settle(self, connection: Connection) -> None:
        if self.speaks_first:
            await connection.gatt_client.request_mtu(MTU)
        if await self.bonded() and self.encrypts:
            await self.secure_link(connection)
        if not self.speaks_first:
            await connection.gatt_client.request_mtu(MTU)
        await self.look(connection)

    async def look(self, connection: Connection) -> None:
        """Reads what the accessory shows; the first thing that wants encryption starts pairing."""
        client = connection.gatt_client
        for service in await client.discover_services():
            for found in await client.discover_characteristics((), service):
                if not found.properties & Characteristic.Properties.READ:
                    continue
                try:
                    self.read[str(found.uuid)] = await client.read_value(found)
                except att.ATT_Error as error:
                    if error.error_code not in (0x05, 0x0F):
                        continue
                    self.protected = str(found.uuid)
                    if self.will_pair and await self.secure_link(connection):
                        self.read[str(found.uuid)] = await client.read_value(found)

    async def secure_link(self, connection: Connection) -> bool:
        """Encrypts with the bond, or pairs; never both at once, whoever asked."""
        async with self.securing:
            if connection.is_encrypted:
                return True
            if await self.bonded():
                try:
                    await connection.encrypt()
                except (ProtocolError, hci.HCI_Error) as error:
                    # The accessory has another key, or none: an iPhone does not pair over its bond.
                    self.failed_encryption.append(error.error_code)
                return connection.is_encrypted
            return await self.pair(connection)

    async def pair(self, connection: Connection) -> bool:
        # Once a link: an iPhone whose person said no does not ask again at once.
        if self.tried is connection:
            return False
        self.tried = connection
        if self.cancels:
            self.refusals.append("cancelled")
            refusal = SMP_Pairing_Failed_Command(reason=ErrorCode.PAIRING_NOT_SUPPORTED)
            self.device.smp_manager.send_command(connection, refusal)
            return False
        try:
            await connection.pair()
        except ProtocolError as error:
            self.refusals.append(error.error_name)
            return False
        self.pairings += 1
        return True

    def on_connection(self, connection: Connection) -> None:
        self.connection = connection
        connection.on(Connection.EVENT_DISCONNECTION, self.on_disconnection)
        connection.on(Connection.EVENT_SECURITY_REQUEST, self.on_security_request)

    def on_disconnection(self, reason: int) -> None:
        self.reasons.append(reason)
        self.connection = None

    async def on_security_request(self, _auth: int) -> None:
        may = self.heeds_requests and (self.will_pair or await self.bonded())
        if self.connection is not None and may:
            with contextlib.suppress(asyncio.CancelledError):  # the link may go meanwhile
                await self.secure_link(self.connection)

    async def leave(self) -> None:
        """Walks out of range, or switches Bluetooth off."""
        if self.connection is not None:
            await self.connection.disconnect()

    async def dropped(self, within: float = 8) -> None:
        """Waits for the accessory, or its kernel, to end the link."""
        for _ in range(int(within / 0.05)):
            if not self.connected:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"the link is still up after {within} s")

    async def give_up(self) -> None:
        """Leaves an accessory that it could not pair with, which may end the link first."""
        try:
            await self.dropped(within=1)
        except AssertionError:
            await self.leave()
