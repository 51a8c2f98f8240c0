# SPDX-License-Identifier: GPL-3.0-or-later
"""A phone on Bumble's host stack, which behaves towards an ANCS accessory as an iPhone does.

It looks for an accessory that solicits ANCS, connects, encrypts with its bond or else reads what the
accessory shows until something requires encryption, and pairs then.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Self

import bumble.att
import bumble.core
from bumble import hci
from bumble.core import BaseBumbleError, ProtocolError
from bumble.device import (
    Advertisement, Connection, ConnectionParametersPreferences, Device, DeviceConfiguration,
)
from bumble.gatt import Characteristic
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import ErrorCode, SMP_Pairing_Failed_Command

from Harness import ancs, att
from Harness.case import Failure, eventually, patient
from Harness.profiles import IPHONE, Profile
from Harness.server import GATTServer
from Harness.services import MTU, PhoneServices

from .radio import Antenna

#: What iOS has been seen to list an accessory for, by the type of the structure: solicitations of ANCS and of
#: the Current Time, and the UUIDs of a Heart Rate sensor and of a keyboard.
ATTRACTIVE = {
    0x15: [bytes(ancs.SERVICE)], 0x14: [b"\x05\x18"], 0x03: [b"\x0d\x18", b"\x12\x18"],
}
ATT_CID = 4
#: The parameters with which an iPhone's links begin, in ms.
BEGINNING = ConnectionParametersPreferences(30, 30, max_latency=0, supervision_timeout=720)
#: For how many seconds it initiates a connection at a time.
INITIATING = 10
#: A channel of Apple's own. Older versions of iOS sent something there to every accessory, newer ones to
#: Apple's own; its content does not matter.
APPLE_CID, APPLE_PDU = 0x003A, bytes.fromhex("01 00 00 00")


class Io(IntEnum):
    """IO capabilities. iOS is a display with a keyboard."""

    DISPLAY = 0
    YES_NO = 1
    KEYBOARD = 2
    NONE = 3
    KEYBOARD_DISPLAY = 4


class User(PairingDelegate):
    """A device's user, who agrees, compares the number, and types what the board shows."""

    def __init__(self, io: Io) -> None:
        super().__init__(PairingDelegate.IoCapability(io))
        self.reset()

    def reset(self) -> None:
        """Forgets the last pairing's numbers."""
        loop = asyncio.get_running_loop()
        self.compared: asyncio.Future[int] = loop.create_future()  # the number on this device
        self.shown: asyncio.Future[int] = loop.create_future()  # the passkey on this device
        self.typed: asyncio.Future[int] = loop.create_future()  # what the case has the user type

    async def confirm(self, auto: bool = False) -> bool:
        return True

    async def compare_numbers(self, number: int, digits: int) -> bool:
        self.compared.set_result(number)
        return True

    async def display_number(self, number: int, digits: int) -> None:
        self.shown.set_result(number)

    async def get_number(self) -> int | None:
        return await self.typed


class NotFound(Failure):
    """No accessory is on the air that the phone would connect to."""


class RadioDevice:
    """A device of the lab: its place in the air, Bumble's host stack, a GATT server, bonds."""

    def __init__(
        self, antenna: Antenna, address: str, io: Io, name: str, server: GATTServer, mtu: int,
        **configuration: Any,
    ) -> None:
        self.identity = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        self.user = User(io)
        self.secure = True  # Secure Connections; False: legacy pairing only
        self.connection: Connection | None = None
        self.antenna = antenna
        self.server = server
        self.server.max_mtu = mtu
        self.host = antenna.host
        self.device = Device(config=DeviceConfiguration(
            name=name, address=self.identity, irk=secrets.token_bytes(16), gap_service_enabled=False,
            gatt_service_enabled=False, identity_address_type=hci.Address.RANDOM_DEVICE_ADDRESS,
            **configuration,
        ), host=self.host)
        self.device.keystore = self.bonds = MemoryKeyStore()
        self.device.gatt_server = self.server
        self.device.pairing_config_factory = self.pairing_config
        self.device.on(Device.EVENT_CONNECTION, self.on_connection)

    async def start(self) -> Self:
        await self.device.power_on()
        return self

    @property
    def address(self) -> str:
        """The identity address, as ancsd writes it."""
        return self.identity.to_string(with_type_qualifier=False)

    def pairing_config(self, _: Connection) -> PairingConfig:
        """Bonding, and protection against a man in the middle where the IO capability allows it."""
        return PairingConfig(
            sc=self.secure, mitm=self.user.io_capability != Io.NONE, bonding=True, delegate=self.user,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )

    def send(self, bearer: Any, pdu: bytes) -> None:
        self.device.send_l2cap_pdu(bearer.handle, ATT_CID, pdu)

    def on_connection(self, connection: Connection) -> None:
        self.connection = connection
        connection.on(Connection.EVENT_DISCONNECTION, self.on_disconnection)

    def on_disconnection(self, _reason: int) -> None:
        self.connection = None


class Phone(RadioDevice):
    """A phone. The attributes at the top are settings, then comes what it has seen."""

    def __init__(
        self, antenna: Antenna, address: str = "C4:11:22:33:44:55", io: Io = Io.KEYBOARD_DISPLAY,
        private: bool = False, name: str = "iPhone", profile: Profile = IPHONE,
    ) -> None:
        self.only: str | None = None  # the public address of the one accessory that it connects to
        self.cancels = False  # the user taps Cancel before the phone asks for anything
        self.heeds_requests = True  # answers a Security Request by encrypting or pairing
        self.speaks_first = False  # exchanges the MTU before it encrypts
        self.encrypts_after = 0.0  # seconds from connecting until it encrypts with its bond
        self.mute = False  # sends nothing over a link, not even what L2CAP does by itself

        self.strikes = 0  # links in a row that ended before the accessory had subscribed (Profile.strikes)
        self.pairings = 0
        self.refusals: list[str] = []  # pairings that failed, by SMP's reason
        self.read: dict[str, bytes] = {}  # what the accessory showed, by UUID
        self.protected: str | None = None  # the characteristic that required encryption
        self.steady_after: float | None = None  # seconds from this link's encryption to a supervision timeout of 6 s

        self.tried: Connection | None = None
        self.securing = asyncio.Lock()
        self.found: asyncio.Future[hci.Address] | None = None
        self.services = PhoneServices(name, self.send, profile)
        self.ancs, self.ams = self.services.ancs, self.services.ams
        super().__init__(
            antenna, address, io, name, self.services.server, MTU,
            le_privacy_enabled=private, le_rpa_timeout=0,
        )
        send_l2cap_pdu = self.host.send_l2cap_pdu

        def send_unless_mute(connection_handle: int, cid: int, pdu: bytes) -> None:
            if not self.mute:
                send_l2cap_pdu(connection_handle, cid, pdu)

        self.host.send_l2cap_pdu = send_unless_mute  # type: ignore[method-assign]
        self.device.on(Device.EVENT_ADVERTISEMENT, self.on_advertisement)

    # Its state

    @property
    def connected(self) -> bool:
        return self.connection is not None

    @property
    def encrypted(self) -> bool:
        return self.connection is not None and self.connection.is_encrypted

    @property
    def authenticated(self) -> bool:
        """Whether the bond's key was made with protection against a man in the middle."""
        return any(keys.ltk and keys.ltk.authenticated for keys in self.bonds.all_keys.values())

    async def bonded(self) -> bool:
        return bool(await self.bonds.get_all())

    async def forget(self) -> None:
        """The user taps Forget This Device."""
        await self.bonds.delete_all()
        await self.device.refresh_resolving_list()

    def spoil_key(self) -> None:
        """The bond gets another key, as after a restored backup."""
        for keys in self.bonds.all_keys.values():
            assert keys.ltk is not None
            keys.ltk.value = secrets.token_bytes(16)

    async def new_address(self) -> None:
        """Changes the resolvable private address, as phones do every few minutes."""
        address = hci.Address.generate_private_address(self.device.irk)
        if address == self.device.random_address:
            raise Failure("the phone has the same private address")
        await self.device.send_sync_command(
            hci.HCI_LE_Set_Random_Address_Command(random_address=address)
        )
        self.device.random_address = address

    @property
    def gave_up(self) -> bool:
        """Whether it stays away until its user taps the accessory."""
        return 0 < self.services.server.profile.strikes <= self.strikes

    @property
    def subscriptions(self) -> int:
        """How often an accessory has subscribed to what counts."""
        return self.ancs.sessions + self.ams.remote_subscriptions + len(self.ams.registrations)

    def counter(self, before: int) -> Callable[[int], None]:
        """What counts a link at its end, by the subscriptions before it."""

        def count(_reason: int) -> None:
            if self.subscriptions > before:
                self.strikes = 0
            elif self.bonds.all_keys:
                self.strikes += 1

        return count

    # Connecting

    def on_advertisement(self, advertisement: Advertisement) -> None:
        attracts = any(
            uuid in value
            for kind, value in advertisement.data.ad_structures
            for uuid in ATTRACTIVE.get(kind, ())
        )
        address = str(advertisement.address)
        if not advertisement.is_connectable:
            return
        if self.only is not None and address != f"{self.only}/P":
            return
        if (attracts or address in self.bonds.all_keys) and self.found and not self.found.done():
            self.found.set_result(advertisement.address)

    async def find(self, within: float) -> hci.Address:
        """Scans for an accessory that it would connect to."""
        if self.gave_up and await self.bonded():
            raise NotFound(f"the phone has given up after {self.strikes} links without a subscription")
        self.found = asyncio.get_running_loop().create_future()
        await self.device.start_scanning(**self.antenna.scan)
        try:
            return await asyncio.wait_for(self.found, within)
        except TimeoutError:
            raise NotFound(f"no accessory advertised what an iPhone lists in {within:.0f} s") from None
        finally:
            await self.device.stop_scanning(legacy=self.antenna.scan.get("legacy", False))

    async def initiate(self, address: hci.Address, within: float) -> Connection:
        """Connects to an accessory as soon as it advertises.

        RootCanal waits for ever if the accessory stops advertising at the very moment, so it initiates again after a while.
        """
        until = asyncio.get_running_loop().time() + patient(within)
        while True:
            left = until - asyncio.get_running_loop().time()
            try:
                return await self.device.connect(
                    address, timeout=min(left, INITIATING), connection_parameters_preferences={hci.Phy.LE_1M: BEGINNING}
                )
            except bumble.core.TimeoutError:
                if left <= INITIATING:
                    raise

    async def open_link(self, within: float = 8) -> Connection:
        """Connects, no more."""
        return await self.initiate(await self.find(patient(within)), within)

    async def connect(self, within: float = 8) -> None:
        """Connects, and does all that a phone does by itself, up to an encrypted link if possible."""
        connection = await self.open_link(within)
        # Without a bond, it is reading that starts pairing; a phone whose bond does not work reads nothing.
        reads = True
        try:
            if self.speaks_first:
                await connection.gatt_client.request_mtu(MTU)
            if await self.bonded():
                await asyncio.sleep(self.encrypts_after)
                reads = await self.secure_link(connection)
            if not self.speaks_first:
                await connection.gatt_client.request_mtu(MTU)
            if reads:
                await self.read_all(connection)
        except (asyncio.CancelledError, BaseBumbleError, TimeoutError):
            # The link may end at any time; the attributes say what happened until then.
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise

    async def read_all(self, connection: Connection) -> None:
        """Reads what the accessory shows; the first value that requires encryption starts pairing."""
        client = connection.gatt_client
        for service in await client.discover_services():
            for found in await client.discover_characteristics((), service):
                if not found.properties & Characteristic.Properties.READ:
                    continue
                try:
                    self.read[str(found.uuid)] = await client.read_value(found)
                except bumble.att.ATT_Error as error:
                    if error.error_code not in (att.INSUFFICIENT_AUTHENTICATION, att.INSUFFICIENT_ENCRYPTION):
                        continue
                    self.protected = str(found.uuid)
                    if await self.secure_link(connection):
                        self.read[str(found.uuid)] = await client.read_value(found)

    async def secure_link(self, connection: Connection) -> bool:
        """Encrypts with the bond, or pairs; never twice at the same time."""
        async with self.securing:
            if connection.is_encrypted:
                return True
            if await self.bonded():
                # It fails if the accessory has another key, or none: an iPhone does not replace its bond.
                with contextlib.suppress(ProtocolError, hci.HCI_Error):
                    await connection.encrypt()
                return connection.is_encrypted
            return await self.pair(connection)

    async def pair(self, connection: Connection) -> bool:
        # Once a link: an iPhone whose user refused does not ask again at once.
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
        super().on_connection(connection)
        connection.on(Connection.EVENT_DISCONNECTION, self.counter(self.subscriptions))
        connection.on(Connection.EVENT_SECURITY_REQUEST, self.on_security_request)
        if self.bonds.all_keys:
            self.server.expect_encryption(connection)

        encrypted: list[float] = []
        self.steady_after = None

        def on_encryption() -> None:
            if connection.is_encrypted:
                encrypted.append(time.monotonic())
                self.server.on_encryption(connection)
                self.device.send_l2cap_pdu(connection.handle, APPLE_CID, APPLE_PDU)

        def on_parameters() -> None:
            if self.steady_after is None and encrypted and connection.parameters.supervision_timeout == 6000:
                self.steady_after = time.monotonic() - encrypted[0]

        connection.on(Connection.EVENT_CONNECTION_ENCRYPTION_CHANGE, on_encryption)
        connection.on(Connection.EVENT_CONNECTION_PARAMETERS_UPDATE, on_parameters)
        connection.on(
            Connection.EVENT_CONNECTION_ENCRYPTION_FAILURE, lambda _: self.server.release(connection)
        )

    async def on_security_request(self, _auth: int) -> None:
        if self.connection is not None and self.heeds_requests:
            with contextlib.suppress(asyncio.CancelledError):  # the link may end meanwhile
                await self.secure_link(self.connection)

    async def disconnect(self) -> None:
        """Goes out of range, or is switched off. The link may have been lost while the controller was told."""
        if self.connection is None:
            return
        try:
            await self.connection.disconnect()
        except hci.HCI_Error as error:
            if error.error_code != hci.HCI_UNKNOWN_CONNECTION_IDENTIFIER_ERROR:
                raise

    async def dropped(self, within: float = 8) -> None:
        """Waits until the accessory, or its kernel, ends the link."""
        await eventually(lambda: not self.connected, "the link is still up", within)

    async def give_up(self) -> None:
        """Leaves an accessory that it could not pair with, unless that ends the link first."""
        until = asyncio.get_running_loop().time() + 1
        while self.connected and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)
        await self.disconnect()
