# SPDX-License-Identifier: GPL-3.0-or-later
"""The phone's services on a UNIX SOCK_SEQPACKET socket: one ATT PDU a packet, taken as encrypted.

No radio and no kernel: for `ancsd --att unix:PATH`, and for whatever else speaks ATT over a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import Callable
from pathlib import Path

from bumble import att

from services import PhoneServices


class SocketBearer:
    """One accepted connection, with what a GATT server asks of a bearer."""

    numbers = itertools.count(1)

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.handle = next(self.numbers)
        self.att_mtu = att.ATT_DEFAULT_MTU
        self.encryption = 1

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu


class SocketPhone:
    """Listens at a path; several may be connected at once. `bearers` are those that are."""

    def __init__(self, path: Path, name: str = "iPhone") -> None:
        self.path = path
        self.services = PhoneServices(name, self.send)
        self.bearers: list[SocketBearer] = []
        #: Sees every PDU from the peer that is no request: the answers to this side's own.
        self.on_answer: Callable[[SocketBearer, att.ATT_PDU], None] = lambda _bearer, _pdu: None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.listener.bind(str(path))
        self.listener.listen()
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.listener, self.accept)

    def accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.setblocking(False)
        bearer = SocketBearer(connection)
        self.bearers.append(bearer)
        self.loop.add_reader(connection, self.on_readable, bearer)

    def on_readable(self, bearer: SocketBearer) -> None:
        try:
            packet = bearer.socket.recv(1024)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self.drop(bearer)
        elif packet[0] & 1:
            self.on_answer(bearer, att.ATT_PDU.from_bytes(packet))
        else:
            self.services.server.on_gatt_pdu(bearer, att.ATT_PDU.from_bytes(packet))  # type: ignore[arg-type]

    def send(self, bearer: SocketBearer, pdu: bytes) -> None:
        with contextlib.suppress(OSError):  # gone meanwhile: on_readable hears of it
            bearer.socket.send(pdu)

    def drop(self, bearer: SocketBearer) -> None:
        """Ends one link, as a phone that walks away."""
        if bearer in self.bearers:
            self.bearers.remove(bearer)
            self.loop.remove_reader(bearer.socket)
            bearer.socket.close()
            self.services.server.on_disconnection(bearer)  # type: ignore[arg-type]

    def close(self) -> None:
        for bearer in list(self.bearers):
            self.drop(bearer)
        self.loop.remove_reader(self.listener)
        self.listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
