# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever listens on a UNIX SOCK_SEQPACKET socket, one ATT PDU a packet, taken as encrypted.

Its services are a Bumble server's; what carries them is Link. Every PDU passes through `intercept`, so
that a case can answer in the services' place, or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bumble import att

from harness import Failure, eventually
from link import Link
from pdus import COMMAND_FLAG, CONFIRM, REQUESTS
from server import PhoneServer

#: Given a PDU of the peer's: what to send instead of the server's answer, or None to let it answer.
Intercept = Callable[[Link, bytes], Sequence[bytes] | None]


class Peer:
    """One end of a socket, with a server. `links` are all that ever came, the last one is the newest."""

    def __init__(self, path: Path, server: PhoneServer, mtu: int) -> None:
        self.path = path
        self.server = server
        self.server.max_mtu = mtu
        self.links: list[Link] = []
        self.intercept: Intercept = lambda _link, _pdu: None
        self.accepts: Callable[[Link], None] = lambda _link: None
        self.delay = 0.0
        self.listener: socket.socket | None = None

    # The socket

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

    @staticmethod
    def send(link: Link, pdu: bytes) -> None:
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
