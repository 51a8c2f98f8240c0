# SPDX-License-Identifier: GPL-3.0-or-later
"""A phone that listens on a UNIX SOCK_SEQPACKET socket: one ATT PDU a packet, taken as encrypted.

Its services are the lab's, on Bumble's GATT server; what carries them is Link. Every PDU passes
through `intercept`, so that a case can answer in the services' place, or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from bumble import att
from bumble.gatt import Service

from harness import Failure, eventually
from link import Link
from pdus import COMMAND_FLAG, CONFIRM, REQUESTS
from services import PhoneServices
from wilful import WilfulProvider, WilfulSource

#: What iOS has been seen to ask for since iOS 10.
MTU = 185

#: Given a PDU of the peer's: what to send instead of the server's answer, or None to let it answer.
Intercept = Callable[[Link, bytes], Sequence[bytes] | None]


class Handset:
    """The phone. `links` are all that ever came, the last one is the newest."""

    def __init__(self, path: Path, mtu: int = MTU, name: str = "iPhone") -> None:
        self.path = path
        self.links: list[Link] = []
        self.intercept: Intercept = lambda _link, _pdu: None
        self.accepts: Callable[[Link], None] = lambda _link: None
        self.delay = 0.0
        self.services = PhoneServices(name, self.send, WilfulProvider, WilfulSource)
        self.server = self.services.server
        self.server.max_mtu = mtu
        notifications, media = self.services.notifications, self.services.media
        assert isinstance(notifications, WilfulProvider) and isinstance(media, WilfulSource)
        self.notifications = notifications
        self.media = media
        self.listener: socket.socket | None = None

    # The socket

    def listen(self) -> Handset:
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
        link.delay = self.delay
        link.on(Link.EVENT_DISCONNECTION, lambda _reason: self.server.on_disconnection(link))
        self.links.append(link)
        self.accepts(link)

    def on_pdu(self, link: Link, pdu: bytes) -> None:
        instead = self.intercept(link, pdu)
        if instead is not None:
            for answer in instead:
                link.send(answer)
            return
        try:
            parsed = att.ATT_PDU.from_bytes(pdu)
        except Exception as error:  # whatever Bumble says, a peer sent what it can't read
            link.complain(f"what Bumble can't read ({error}): {pdu.hex(' ')}")
            return
        if pdu[0] in REQUESTS or pdu[0] & COMMAND_FLAG or pdu[0] == CONFIRM:
            self.server.on_gatt_pdu(link, parsed)  # type: ignore[arg-type]
        else:
            link.complain(f"an unknown PDU: {pdu.hex(' ')}")

    def send(self, link: Link, pdu: bytes) -> None:
        link.send(pdu)

    def hang_up(self) -> None:
        """Ends the link that is up; the daemon will come again."""
        self.link.close()

    def deafen(self) -> None:
        """No longer listens; links that are up stay."""
        if self.listener is not None:
            asyncio.get_running_loop().remove_reader(self.listener)
            self.listener.close()
            self.listener = None

    def close(self) -> None:
        self.deafen()
        for link in self.links:
            link.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    # The state, for the cases

    @property
    def link(self) -> Link:
        """The newest link."""
        if not self.links:
            raise Failure("the daemon never connected")
        return self.links[-1]

    @property
    def complaints(self) -> list[str]:
        return [complaint for link in self.links for complaint in link.complaints]

    async def connected(self, count: int = 1, within: float = 8) -> Link:
        """Waits for so many connections since the beginning."""
        sentence = "the daemon did not connect" + (f" for the time {count}" if count > 1 else "")
        await eventually(lambda: len(self.links) >= count, sentence, within)
        return self.links[count - 1]

    async def dropped(self, link: Link, within: float) -> None:
        """Waits until the daemon ends the link."""
        await eventually(lambda: link.closed, "the daemon did not end the link", within)

    async def notifies(self) -> None:
        """Waits until the newest link is subscribed to the Notification Source."""
        source = self.notifications.source
        await eventually(
            lambda: self.server.subscribed(self.link, source),
            "the Notification Source is not subscribed to",
        )

    async def quiet(self, seconds: float = 0.4) -> None:
        """Waits until the newest link has brought no request for a while, or has gone."""
        count = -1
        while count < len(self.link.requests()) and not self.link.closed:
            count = len(self.link.requests())
            await asyncio.sleep(seconds)

    async def publish_again(self, service: Service) -> None:
        """Publishes a service at the handles it had before it was taken away."""
        highest, first = self.server.highest, service.handle
        self.server.highest = first - 1
        self.server.add_services([service])
        last, self.server.highest = self.server.highest, highest
        self.server.attributes.sort(key=lambda attribute: attribute.handle)
        await self.server.say_changed(first, last)
