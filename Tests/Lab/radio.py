# SPDX-License-Identifier: GPL-3.0-or-later
"""The air and the adapters of Bumble: a simulated link, and minimal controllers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bumble.controller
from bumble import core, hci, ll
from bumble.controller import AdvertisingSet, Controller, LegacyAdvertiser
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink

from .vhci import Adapter

CONNECTION_TIMEOUT = 0x08
#: LE Enhanced Connection Complete, in the mask of LE events (Core Specification Vol 4 Part E, 7.8.1).
ENHANCED = 1 << 9
#: What both events of a new connection say.
CONNECTION_FIELDS = (
    "status connection_handle role peer_address_type peer_address connection_interval peripheral_latency "
    "supervision_timeout central_clock_accuracy"
).split()
NO_ADDRESS = hci.Address("00:00:00:00:00:00")

#: Seconds between advertisements, whatever interval was asked for, so that no case waits for the kernel's
#: default of 1.28 s.
ADVERTISING_INTERVAL = 0.1


@dataclass(frozen=True)
class Antenna:
    """A device's place in an air: Bumble's host on a controller there, what the air calls that controller,
    and how the device has to scan."""

    host: Host
    controller: Any
    scan: Mapping[str, Any]


class Air(LocalLink):
    """The link between all controllers of the lab."""

    def send_advertising_pdu(self, sender_controller: Controller, packet: ll.AdvertisingPdu) -> None:
        # Bumble delivers these later, so that a CONNECT_IND may come when its host has stopped the advertiser, and only one
        # side has a link, for ever. An advertiser listens right after each of its PDUs, and accepts one CONNECT_IND (Core
        # Specification Vol 6 Part B, 4.4.2.3).
        heard = [controller for controller in self.controllers if controller is not sender_controller]
        for controller in heard:
            controller.on_ll_advertising_pdu(packet)
            if not isinstance(packet, ll.ConnectInd) and not is_advertising(sender_controller, packet.advertiser_address):
                break

    def send_acl_data(
        self, sender_controller: Controller, destination_address: hci.Address,
        transport: core.PhysicalTransport, data: bytes,
    ) -> None:
        # Bumble names the sender by its random address even on a connection to the public one, which the
        # receiver does not know.
        destination = self.find_le_controller(destination_address)
        connection = sender_controller.le_connections.get(destination_address)
        if destination is not None and connection is not None:
            asyncio.get_running_loop().call_soon(
                destination.on_link_acl_data, connection.self_address, transport, data
            )

    async def attach(self, name: str) -> Antenna:
        """A controller for another device."""
        controller = Controller(name, link=self)
        controller.le_legacy_advertiser = EagerAdvertiser(controller)
        return Antenna(Host(controller, AsyncPipeSink(controller)), controller, {"legacy": True})

    def lose(self, controller: Controller) -> None:
        """Silences the controller permanently: its peers' supervision timers run out."""
        self.remove_controller(controller)
        lost = (controller.public_address, controller.random_address)
        for other in self.controllers:
            for connection in list(other.le_connections.values()):
                if connection.peer_address in lost:
                    other.on_le_disconnected(connection, CONNECTION_TIMEOUT)


    async def separate(self, one: Controller, other: Controller) -> None:
        """Takes two controllers out of each other's range for a while: their links time out."""
        for controller in (one, other):
            for connection in list(controller.le_connections.values()):
                controller.on_le_disconnected(connection, CONNECTION_TIMEOUT)


def is_advertising(controller: Controller, address: hci.Address) -> bool:
    advertisers = (controller.le_legacy_advertiser, *controller.advertising_sets.values())
    return any(advertiser.enabled and advertiser.address == address for advertiser in advertisers)


class EagerAdvertiser(LegacyAdvertiser):
    def _on_timer_fired(self) -> None:
        self.send_advertising_data()
        if not self.enabled:
            return  # somebody has connected
        loop = asyncio.get_running_loop()
        self.timer_handle = loop.call_later(ADVERTISING_INTERVAL, self._on_timer_fired)


class EagerAdvertisingSet(AdvertisingSet):
    def start(self) -> None:
        self.stop()  # Bumble's own would go on with two timers after a second start
        super().start()

    def _on_extended_advertising_timer_fired(self) -> None:
        if self.enabled:
            self.send_extended_advertising_data()
        if self.enabled:  # unless somebody has connected
            loop = asyncio.get_running_loop()
            self.timer_handle = loop.call_later(
                ADVERTISING_INTERVAL, self._on_extended_advertising_timer_fired
            )


bumble.controller.AdvertisingSet = EagerAdvertisingSet  # type: ignore[misc]


class AdapterController(Controller):
    """Bumble's controller, with what a kernel needs and Bumble's lacks.

    - HCI Reset ends links and advertising, as on a radio that was blocked.
    - RSSI and transmit power.
    - Connections are reported by the event that the host has enabled: newer kernels want the enhanced one.
    - Advertising is reported as to a host that scans with the legacy commands, which all kernels use for
      it, and with scan responses, where Bumble's would repeat the advertisement; without them in
      a passive scan.
    """

    RSSI = -58
    SCAN_RESPONSE = hci.HCI_LE_Extended_Advertising_Report_Event.EventType.SCAN_RESPONSE

    def __init__(self, *arguments: Any, **traits: Any) -> None:
        super().__init__(*arguments, **traits)
        self.updates: list[hci.HCI_LE_Connection_Update_Command] = []  # what the host asked for
        self.creations: list[hci.HCI_LE_Create_Connection_Command] = []  # the connections it asked for

    def send_hci_packet(self, packet: hci.HCI_Packet) -> None:
        if isinstance(packet, hci.HCI_LE_Connection_Complete_Event) and self.le_event_mask & ENHANCED:
            packet = hci.HCI_LE_Enhanced_Connection_Complete_Event(
                local_resolvable_private_address=NO_ADDRESS, peer_resolvable_private_address=NO_ADDRESS,
                **{name: getattr(packet, name) for name in CONNECTION_FIELDS},
            )
        if isinstance(packet, hci.HCI_LE_Extended_Advertising_Report_Event):
            answers = packet.reports[0].event_type & self.SCAN_RESPONSE
            if answers and not self.le_scan_type:
                return  # a passive scan asks for no scan response
            packet = hci.HCI_LE_Advertising_Report_Event(list(map(self.legacy_report, packet.reports)))
        super().send_hci_packet(packet)

    def legacy_report(
        self, report: hci.HCI_LE_Extended_Advertising_Report_Event.Report
    ) -> hci.HCI_LE_Advertising_Report_Event.Report:
        """The report for a host that scans with the legacy commands, with the advertiser's scan response."""
        kinds = hci.HCI_LE_Advertising_Report_Event.EventType
        extended = hci.HCI_LE_Extended_Advertising_Report_Event.EventType
        kind, data = kinds.ADV_IND, report.data
        if report.event_type & extended.SCAN_RESPONSE:
            kind, data = kinds.SCAN_RSP, b""
            if self.link and (other := self.link.find_le_controller(report.address)):
                advertisers = (*other.advertising_sets.values(), other.le_legacy_advertiser)
                data = bytes(advertisers[0].scan_response_data)
        return hci.HCI_LE_Advertising_Report_Event.Report(
            event_type=kind, address_type=report.address_type, address=report.address, data=data,
            rssi=report.rssi,
        )

    def on_hci_read_rssi_command(
        self, command: hci.HCI_Read_RSSI_Command
    ) -> hci.HCI_Read_RSSI_ReturnParameters:
        return hci.HCI_Read_RSSI_ReturnParameters(0, handle=command.handle, rssi=self.RSSI)

    def on_packet(self, packet: bytes) -> None:
        code = hci.HCI_READ_TRANSMIT_POWER_LEVEL_COMMAND.to_bytes(2, "little")
        if packet[:3] == b"\x01" + code:  # Bumble does not know it, and would not respond
            power = bytes([4])
            response = b"\x04\x0e\x07\x01" + code + b"\x00" + packet[4:6] + power
            self.send_hci_packet(hci.HCI_Packet.from_bytes(response))
        else:
            super().on_packet(packet)

    def on_hci_le_create_connection_command(self, command: hci.HCI_LE_Create_Connection_Command) -> None:
        self.creations.append(command)
        super().on_hci_le_create_connection_command(command)

    def on_hci_le_connection_update_command(
        self, command: hci.HCI_LE_Connection_Update_Command
    ) -> None:
        self.updates.append(command)
        super().on_hci_le_connection_update_command(command)

    def on_hci_reset_command(
        self, command: hci.HCI_Reset_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.stop_advertising()
        for connection in list(self.le_connections.values()):
            connection.send_ll_control_pdu(ll.TerminateInd(CONNECTION_TIMEOUT))
        self.le_connections.clear()
        self.advertising_sets.clear()
        return super().on_hci_reset_command(command)

    def stop_advertising(self) -> None:
        self.le_legacy_advertiser.stop()
        for advertising in self.advertising_sets.values():
            advertising.stop()


class SimpleAdapter(Adapter):
    """An adapter with Bumble's simulated controller."""

    def __init__(self, air: Air, address: str) -> None:
        super().__init__(address)
        self.air = air
        self.controller: AdapterController = AdapterController(
            "adapter", host_sink=self, link=air, public_address=address
        )
        self.controller.random_address = NO_ADDRESS
        self.controller.le_legacy_advertiser = EagerAdvertiser(self.controller)

    def on_packet_from_kernel(self, packet: bytes) -> None:
        self.controller.on_packet(packet)

    def leave(self) -> None:
        self.controller.stop_advertising()
        self.air.lose(self.controller)
