# SPDX-License-Identifier: GPL-3.0-or-later
"""One accepted connection: ATT PDUs as packets. All are kept, and the daemon is held to ATT's rules.

Whatever a case is about, a daemon that breaks these rules on the way (two requests at once, a PDU above
the MTU, a response to nothing) fails it: `violations` lists what it did.
"""

import asyncio
import contextlib
import itertools
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import bumble.att
from bumble import utils
from bumble.gatt_client import Client

from Harness import att
from Harness.att import CONFIRM, INDICATE, MTU_REQUEST, NOTIFY, REQUESTS, RESPONSES
from Harness.case import Failure


class Link(utils.EventEmitter):
    """A bearer for Bumble's GATT server and client, over one socket."""

    EVENT_DISCONNECTION = "disconnection"
    numbers = itertools.count(1)

    def __init__(self, connection: socket.socket, on_pdu: Callable[[Self, bytes], None]) -> None:
        super().__init__()
        connection.setblocking(False)
        self.socket = connection
        self.on_pdu = on_pdu
        self.handle = next(self.numbers)
        self.att_mtu = bumble.att.ATT_DEFAULT_MTU
        self.encryption = 1
        self.closed = False
        self.received: list[bytes] = []
        self.sent: list[bytes] = []
        self.violations: list[str] = []
        self.strict = True  # False where this side breaks the rules itself
        self.arrived = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.opened = self.loop.time()
        self.backlog: deque[bytes] = deque()
        self.sending = False
        self.responses: deque[asyncio.Future[bytes]] = deque()
        self.unanswered = b""  # the daemon's request in progress
        self.mtu_exchanged = False
        self.unconfirmed = 0
        self.loop.add_reader(connection, self.on_readable)

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu

    def send_l2cap_pdu(self, _cid: int, pdu: bytes) -> None:
        self.send(pdu)

    # What the daemon sends

    def on_readable(self) -> None:
        # A few at a time, since other cases run on the same loop.
        for _ in range(16):
            try:
                pdu = self.socket.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                pdu = b""
            if not pdu:
                self.close()
                return
            self.received.append(pdu)
            self.arrived.set()
            if self.strict:
                self.check_rules(pdu)
            self.dispatch(pdu)
            if self.closed:
                return

    def check_rules(self, pdu: bytes) -> None:
        """Core Specification Vol 3 Part F, 3.2.8, 3.2.9, 3.3.2."""
        opcode = pdu[0]
        name = att.name(opcode)
        if len(pdu) > max(self.att_mtu, 23):
            self.violation(f"a {name} of {len(pdu)} bytes, where the MTU is {self.att_mtu}")
        if opcode in REQUESTS:
            if self.unanswered:
                self.violation(f"a {name} before the response to its {att.name(self.unanswered[0])}")
            self.unanswered = pdu
            if opcode == MTU_REQUEST:
                if self.mtu_exchanged:
                    self.violation("a second MTU exchange")
                self.mtu_exchanged = True
        elif opcode in RESPONSES:
            if not self.responses:
                self.violation(f"a {name} to no request: {pdu.hex(' ')}")
        elif opcode == CONFIRM:
            if not self.unconfirmed:
                self.violation("a confirmation of no indication")
            self.unconfirmed = max(self.unconfirmed - 1, 0)

    def violation(self, what: str) -> None:
        self.violations.append(f"the daemon sent {what}")

    def dispatch(self, pdu: bytes) -> None:
        opcode = pdu[0]
        if opcode in RESPONSES:
            if self.responses:
                future = self.responses.popleft()
                if not future.done():
                    future.set_result(pdu)
        elif opcode == INDICATE:
            self.send(bytes([CONFIRM]))
        elif opcode != NOTIFY:
            self.on_pdu(self, pdu)

    # What this side sends

    def send(self, pdu: bytes) -> None:
        self.backlog.append(pdu)
        if not self.sending:
            self.flush()

    def flush(self) -> None:
        """Sends the backlog; when the socket is full, the rest stays there."""
        self.sending = False
        while self.backlog and not self.closed:
            try:
                self.socket.send(self.backlog[0])
            except BlockingIOError:
                self.sending = True
                self.loop.add_writer(self.socket, self.on_writable)
                return
            except OSError:
                return  # disconnected, which on_readable handles
            self.on_sent(self.backlog.popleft())

    def on_writable(self) -> None:
        self.loop.remove_writer(self.socket)
        self.flush()

    def on_sent(self, pdu: bytes) -> None:
        self.sent.append(pdu)
        if pdu[0] in RESPONSES:
            self.unanswered = b""
        elif pdu[0] == INDICATE:
            self.unconfirmed += 1

    def notify(self, handle: int, value: bytes) -> None:
        """Sends a notification of exactly these bytes, subscribed or not."""
        self.send(att.notification(handle, value))

    def indicate(self, handle: int, value: bytes) -> None:
        """Sends an indication of exactly these bytes; nothing waits for its confirmation."""
        self.send(att.indication(handle, value))

    def expect_response(self) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = self.loop.create_future()
        self.responses.append(future)
        return future

    def ask_mtu(self, mtu: int) -> asyncio.Future[bytes]:
        """Requests the MTU, which holds once the daemon has responded; returns the response to be."""

        def agree(response: asyncio.Future[bytes]) -> None:
            if response.exception() is None and response.result()[:1] == bytes([att.MTU_RESPONSE]):
                self.att_mtu = min(mtu, int.from_bytes(response.result()[1:3], "little"))

        response = self.expect_response()
        response.add_done_callback(agree)
        self.send(att.mtu_request(mtu))
        return response

    async def request(self, pdu: bytes) -> bytes:
        """Sends a request to the daemon's server, as it stands; returns the response, whatever it is."""
        response = self.expect_response()
        self.send(pdu)
        try:
            return await asyncio.wait_for(response, 5)
        except TimeoutError:
            with contextlib.suppress(ValueError):
                self.responses.remove(response)
            raise Failure(f"no response to {pdu.hex(' ')} in 5 s") from None

    async def until(self, holds: Callable[[bytes], bool], since: int, within: float) -> int:
        """Waits for a PDU from the daemon from `since` on; returns its index among those received."""
        async with asyncio.timeout(within):
            while True:
                while since < len(self.received):
                    if holds(self.received[since]):
                        return since
                    since += 1
                self.arrived.clear()
                await self.arrived.wait()

    def requests(self) -> list[bytes]:
        """The daemon's requests so far."""
        return [pdu for pdu in self.received if pdu[0] in REQUESTS]

    def confirmations(self) -> int:
        return sum(pdu[0] == CONFIRM for pdu in self.received)

    def close(self) -> None:
        """Ends the link, as a phone does that goes out of range."""
        if self.closed:
            return
        self.closed = True
        self.loop.remove_reader(self.socket)
        self.loop.remove_writer(self.socket)
        self.socket.close()
        for response in self.responses:
            if not response.done():
                response.set_exception(Failure("the daemon closed the link instead of responding"))
                response.exception()  # marks it as seen, in case nothing waits for it
        self.emit(self.EVENT_DISCONNECTION, 0x13)


class LinkClient(Client):
    """Bumble's GATT client, which may ask while the daemon asks."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)  # type: ignore[arg-type]
        self.link = link

    async def send_request(self, request: bumble.att.ATT_PDU) -> Any:
        return bumble.att.ATT_PDU.from_bytes(await self.link.request(bytes(request)))
