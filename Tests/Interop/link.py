# SPDX-License-Identifier: GPL-3.0-or-later
"""One accepted connection: ATT PDUs as packets, all of them kept, and the peer held to the rules.

Whatever a case is about, a peer that breaks ATT's own rules on the way (two requests at once, a PDU
above the MTU, an answer to nothing) is a failure: `complaints` has them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections import deque
from collections.abc import Callable

from bumble import att, utils

import pdus
from harness import Failure
from pdus import CONFIRM, INDICATE, MTU_REQUEST, NOTIFY, REQUESTS, RESPONSES


class Link(utils.EventEmitter):
    """What Bumble's GATT server and client ask of a bearer, over one socket."""

    EVENT_DISCONNECTION = "disconnection"
    numbers = itertools.count(1)

    def __init__(self, connection: socket.socket, on_pdu: Callable[[Link, bytes], None]) -> None:
        super().__init__()
        connection.setblocking(False)
        self.socket = connection
        self.on_pdu = on_pdu
        self.handle = next(self.numbers)
        self.att_mtu = att.ATT_DEFAULT_MTU
        self.encryption = 1
        self.closed = False
        self.delay = 0.0  # seconds that each PDU takes on its way to the peer
        self.received: list[bytes] = []
        self.sent: list[bytes] = []
        self.complaints: list[str] = []
        self.strict = True  # False where this side breaks the rules itself
        self.arrived = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.opened = self.loop.time()
        self.backlog: deque[bytes] = deque()
        self.sending = False
        self.answers: deque[asyncio.Future[bytes]] = deque()
        self.unanswered = b""  # the peer's request under way
        self.mtu_asked = False
        self.unconfirmed = 0
        self.loop.add_reader(connection, self.on_readable)

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu

    def send_l2cap_pdu(self, _cid: int, pdu: bytes) -> None:
        self.send(pdu)

    # What the peer sends

    def on_readable(self) -> None:
        # A few at a time: other cases run on the same loop.
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
                self.hold_to_rules(pdu)
            self.take(pdu)
            if self.closed:
                return

    def hold_to_rules(self, pdu: bytes) -> None:
        """Core Specification Vol 3 Part F, 3.2.8, 3.2.9, 3.3.2."""
        opcode = pdu[0]
        name = pdus.name(opcode)
        # An MTU response may overtake, or be overtaken by, the exchange the other way.
        if len(pdu) > max(self.att_mtu, 23):
            self.complain(f"a {name} of {len(pdu)} bytes, where the MTU is {self.att_mtu}")
        if opcode in REQUESTS:
            if self.unanswered:
                under_way = pdus.name(self.unanswered[0])
                self.complain(f"a {name} before its {under_way} was answered")
            self.unanswered = pdu
            if opcode == MTU_REQUEST:
                if self.mtu_asked:
                    self.complain("a second MTU exchange")
                self.mtu_asked = True
        elif opcode in RESPONSES:
            if not self.answers:
                self.complain(f"a {name} to no request: {pdu.hex(' ')}")
        elif opcode == CONFIRM:
            if not self.unconfirmed:
                self.complain("a confirmation of no indication")
            self.unconfirmed = max(self.unconfirmed - 1, 0)

    def complain(self, what: str) -> None:
        self.complaints.append(f"the daemon sent {what}")

    def take(self, pdu: bytes) -> None:
        opcode = pdu[0]
        if opcode in RESPONSES:
            if self.answers:
                future = self.answers.popleft()
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
            self.sending = True
            self.loop.call_later(self.delay, self.flush) if self.delay else self.flush()

    def flush(self) -> None:
        """Sends what waits; a full socket keeps it, so that a burst loses nothing."""
        self.sending = False
        while self.backlog and not self.closed:
            try:
                self.socket.send(self.backlog[0])
            except BlockingIOError:
                self.sending = True
                self.loop.add_writer(self.socket, self.on_writable)
                return
            except OSError:
                return  # gone: on_readable hears of it
            self.note_sent(self.backlog.popleft())
            if self.delay and self.backlog:
                self.sending = True
                self.loop.call_later(self.delay, self.flush)
                return

    def on_writable(self) -> None:
        self.loop.remove_writer(self.socket)
        self.flush()

    def note_sent(self, pdu: bytes) -> None:
        self.sent.append(pdu)
        if pdu[0] in RESPONSES:
            self.unanswered = b""
        elif pdu[0] == INDICATE:
            self.unconfirmed += 1

    def notify(self, handle: int, value: bytes) -> None:
        """A notification of exactly these bytes, subscribed or not."""
        self.send(bytes([NOTIFY]) + handle.to_bytes(2, "little") + value)

    def indicate(self, handle: int, value: bytes) -> None:
        """An indication of exactly these bytes, which nobody waits for."""
        self.send(bytes([INDICATE]) + handle.to_bytes(2, "little") + value)

    def expect_answer(self) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = self.loop.create_future()
        self.answers.append(future)
        return future

    async def ask(self, pdu: bytes, within: float = 5) -> bytes:
        """A request to the peer's server, as it stands; its response, whatever it is."""
        answer = self.expect_answer()
        self.send(pdu)
        try:
            return await asyncio.wait_for(answer, within)
        except TimeoutError:
            with contextlib.suppress(ValueError):
                self.answers.remove(answer)
            raise Failure(f"no answer to the request {pdu.hex(' ')} in {within} s") from None

    async def until(self, holds: Callable[[bytes], bool], since: int, within: float) -> int:
        """Waits for a PDU of the peer's from `since` on; its place among the received ones."""
        async with asyncio.timeout(within):
            while True:
                while since < len(self.received):
                    if holds(self.received[since]):
                        return since
                    since += 1
                self.arrived.clear()
                await self.arrived.wait()

    def requests(self) -> list[bytes]:
        """The peer's requests so far."""
        return [pdu for pdu in self.received if pdu[0] in REQUESTS]

    def confirmations(self) -> int:
        return sum(pdu[0] == CONFIRM for pdu in self.received)

    def close(self) -> None:
        """Ends the link, as a phone that walks away."""
        if self.closed:
            return
        self.closed = True
        self.loop.remove_reader(self.socket)
        self.loop.remove_writer(self.socket)
        self.socket.close()
        for answer in self.answers:
            if not answer.done():
                answer.set_exception(Failure("the daemon closed the link instead of answering"))
                answer.exception()  # whoever waits hears of it; if nobody does, it is no news
        self.emit(self.EVENT_DISCONNECTION, 0x13)
