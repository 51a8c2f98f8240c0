# SPDX-License-Identifier: GPL-3.0-or-later
"""Bumble's GATT client over a Link: an independent client for the daemon's own server."""

from __future__ import annotations

from typing import Any

from bumble import att
from bumble.gatt_client import Client

from link import Link


class AskingClient(Client):
    """Asks by `Link.ask`, which knows that the daemon may ask at the same time."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)  # type: ignore[arg-type]
        self.link = link

    async def send_request(self, request: att.ATT_PDU) -> Any:
        return att.ATT_PDU.from_bytes(await self.link.ask(bytes(request)))
