# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's peers: a phone and a device that listen on a UNIX SOCK_SEQPACKET socket.

Links count as encrypted. Every PDU passes through `intercept` first, so that a case can answer instead of
the services, or not at all.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import bumble.att

from Harness.att import COMMAND_FLAG, CONFIRM, REQUESTS
from Harness.case import Failure, eventually, settled
from Harness.odd_device import OddServer
from Harness.profiles import IPHONE, Profile
from Harness.server import GATTServer
from Harness.services import MTU, PhoneServices

from .link import Link

#: Given a PDU from the daemon: what to send instead of the server's response, None to let it respond.
Intercept = Callable[[Link, bytes], Sequence[bytes] | None]


def pass_through(_link: Link, _pdu: bytes) -> None:
    """Leaves every PDU to the server."""


def ignore(_link: Link, _pdu: bytes) -> list[bytes]:
    """Leaves every PDU unanswered."""
    return []


class SocketPeer:
    """A server on a socket. `links` has all links so far; the last one is the newest."""

    def __init__(self, path: Path, server: GATTServer, mtu: int) -> None:
        self.path = path
        self.server = server
        self.server.max_mtu = mtu
        self.gatt_options = ["--att", f"unix:{path}"]
        self.links: list[Link] = []
        self.intercept: Intercept = pass_through
        self.on_accept: Callable[[Link], object] = lambda _link: None
        self.listener: socket.socket | None = None

    def listen(self) -> Self:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.listener.bind(str(self.path))
        self.listener.listen()
        asyncio.get_running_loop().add_reader(self.listener, self.accept)
        return self

    def accept(self) -> None:
        assert self.listener is not None
        connection, _ = self.listener.accept()
        link = Link(connection, self.on_pdu)
        link.on(Link.EVENT_DISCONNECTION, lambda _reason: self.server.on_disconnection(link))
        self.links.append(link)
        self.on_accept(link)
        if not link.closed:
            self.begin(link)

    def begin(self, link: Link) -> None:
        """What the peer does by itself when a link begins."""

    def on_pdu(self, link: Link, pdu: bytes) -> None:
        instead = self.intercept(link, pdu)
        if instead is not None:
            for response in instead:
                link.send(response)
            return
        try:
            parsed = bumble.att.ATT_PDU.from_bytes(pdu)
        except Exception as error:  # Bumble raises all kinds of them
            link.violation(f"what Bumble can't parse ({error}): {pdu.hex(' ')}")
            return
        if pdu[0] in REQUESTS or pdu[0] & COMMAND_FLAG or pdu[0] == CONFIRM:
            self.server.on_gatt_pdu(link, parsed)  # type: ignore[arg-type]
        else:
            link.violation(f"an unknown PDU: {pdu.hex(' ')}")

    @staticmethod
    def send(link: Link, pdu: bytes) -> None:
        link.send(pdu)

    def disconnect(self) -> None:
        """Ends the newest link; the daemon will connect again."""
        self.link.close()

    def stop_listening(self) -> None:
        """Refuses new links; those that are up stay."""
        if self.listener is not None:
            asyncio.get_running_loop().remove_reader(self.listener)
            self.listener.close()
            self.listener = None

    def close(self) -> None:
        self.stop_listening()
        for link in self.links:
            link.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    @property
    def link(self) -> Link:
        """The newest link."""
        if not self.links:
            raise Failure("the daemon never connected")
        return self.links[-1]

    @property
    def violations(self) -> list[str]:
        return [violation for link in self.links for violation in link.violations]

    async def connected(self, count: int = 1, within: float = 8) -> Link:
        """Waits for the first, second, ... link."""
        text = f"the daemon did not connect {count} times"
        await eventually(lambda: len(self.links) >= count, text, within)
        return self.links[count - 1]

    async def dropped(self, link: Link, within: float) -> None:
        """Waits until the daemon ends the link."""
        await eventually(lambda: link.closed, "the daemon did not end the link", within)

    async def quiet(self, seconds: float = 0.4) -> None:
        """Waits until the newest link has brought no request for a while."""
        await settled(lambda: len(self.link.requests()), seconds)


class Phone(SocketPeer):
    """A phone."""

    def __init__(self, path: Path, mtu: int = MTU, profile: Profile = IPHONE) -> None:
        self.services = PhoneServices("iPhone", self.send, profile)
        super().__init__(path, self.services.server, mtu)
        self.ancs, self.ams = self.services.ancs, self.services.ams

    def begin(self, link: Link) -> None:
        """What a phone does by itself as soon as a link is encrypted, which a socket is at once."""
        self.server.on_encryption(link)
        if self.server.profile.asks_mtu:
            link.ask_mtu(self.server.max_mtu)

    async def subscribed(self, service: str = "ancs", within: float = 5) -> None:
        """Waits until the newest link has subscribed to all of a service that notifies."""
        sources = {"ancs": (self.ancs.source, self.ancs.data), "ams": (self.ams.update, self.ams.remote)}
        for source in sources[service]:
            await eventually(
                lambda source=source: self.links and self.server.subscribed(self.link, source),  # type: ignore[misc]
                f"no subscription to {service}", within,
            )


class OddDevice(SocketPeer):
    """The device with the odd database."""

    server: OddServer

    def __init__(self, path: Path, mtu: int = MTU) -> None:
        super().__init__(path, OddServer(self.send), mtu)
