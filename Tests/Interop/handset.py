# SPDX-License-Identifier: GPL-3.0-or-later
"""A phone that listens on a UNIX SOCK_SEQPACKET socket. Its services are the lab's."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bumble.gatt import Service

from harness import eventually
from peer import Peer
from services import PhoneServices
from wilful import WilfulProvider, WilfulSource

#: What iOS has been seen to ask for since iOS 10.
MTU = 185


class Handset(Peer):
    """The phone."""

    def __init__(self, path: Path, mtu: int = MTU, name: str = "iPhone") -> None:
        self.services = PhoneServices(name, self.send, WilfulProvider, WilfulSource)
        super().__init__(path, self.services.server, mtu)
        notifications, media = self.services.notifications, self.services.media
        assert isinstance(notifications, WilfulProvider) and isinstance(media, WilfulSource)
        self.notifications = notifications
        self.media = media

    # The state, for the cases

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
