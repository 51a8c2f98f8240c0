# SPDX-License-Identifier: GPL-3.0-or-later
"""A device with the odd database, on a UNIX socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oddity import OddServer

from peer import Peer


class Device(Peer):
    """The device."""

    server: OddServer

    def __init__(self, path: Path, mtu: int = 185) -> None:
        super().__init__(path, OddServer(self.send), mtu)

    def subscribed(self, characteristic: Any) -> int:
        """What the newest link's configuration of the characteristic is."""
        return int.from_bytes(self.server.read_cccd(self.link, characteristic), "little")
