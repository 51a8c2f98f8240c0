# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's Notification Provider and Media Source with knobs for all that phones do wrong."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from media import COMMANDS, MediaSource
from notifications import GET_APP, GET_NOTIFICATION, Note, NotificationProvider
from server import PhoneServer, refuse


def command_uid(command: bytes) -> int | None:
    """The UID that a Get Notification Attributes command asks about."""
    if len(command) >= 5 and command[0] == GET_NOTIFICATION:
        return int(struct.unpack_from("<I", command, 1)[0])
    return None


class WilfulProvider(NotificationProvider):
    """ANCS as told: silent, cut, garbled or refused answers, in pieces of any shape."""

    def __init__(self, server: PhoneServer) -> None:
        super().__init__(server)
        #: The ATT error for a command, or None to answer it.
        self.refusal: Callable[[bytes], int | None] = lambda _: None
        #: UIDs whose commands are accepted and never answered.
        self.silent: set[int] = set()
        #: How many bytes of the answer about a UID are sent; the rest never comes.
        self.cut: dict[int, int] = {}
        #: What is sent instead of an answer: values of the Data Source.
        self.instead: Callable[[bytes, bytes], Sequence[bytes] | None] = lambda _c, _r: None
        #: Whether the Data Source speaks before the Control Point's Write Response.
        self.early = False
        #: Called with each command that is accepted, before the answer is on its way.
        self.on_accepted: Callable[[bytes], None] = lambda _: None

    def on_command(self, bearer: Any, value: bytes) -> None:
        code = self.refusal(value)
        if code is not None:
            self.seen.commands.append(value)
            raise refuse(code)
        super().on_command(bearer, value)
        self.on_accepted(value)

    def answer(self, bearer: Any, response: bytes) -> None:
        command = self.seen.commands[-1]
        uid = command_uid(command)
        if uid in self.silent:
            return
        if uid is not None and uid in self.cut:
            response = response[: self.cut[uid]]
        values = self.instead(command, response)
        if values is not None:
            self.spawn(self.send_values(bearer, values))
        elif self.early:
            self.send_now(bearer, self.pieces(bearer, response))
        else:
            super().answer(bearer, response)

    def pieces(self, bearer: Any, response: bytes) -> list[bytes]:
        room = bearer.att_mtu - 3
        size = min(self.fragment, room) if self.fragment else room
        return [response[at : at + size] for at in range(0, len(response), size)]

    async def send_values(self, bearer: Any, values: Iterable[bytes]) -> None:
        self.send_now(bearer, values)

    def send_now(self, bearer: Any, values: Iterable[bytes]) -> None:
        for value in values:
            bearer.notify(self.data.handle, value)

    def fetched(self, uid: int) -> int:
        """How many times the attributes of a notification were asked for."""
        return sum(command_uid(command) == uid for command in self.seen.commands)

    def asked_apps(self) -> list[str]:
        """The apps whose attributes were asked for, in order."""
        commands = (c for c in self.seen.commands if c[:1] == bytes([GET_APP]))
        return [c[1:].split(b"\0")[0].decode("utf-8", "replace") for c in commands]

    async def post_all(self, notes: Iterable[Note]) -> None:
        """Many notifications at once."""
        for note in notes:
            await self.post(note)


class WilfulSource(MediaSource):
    """AMS with a list of supported commands that changes with the player."""

    def __init__(self, server: PhoneServer) -> None:
        super().__init__(server)
        self.supported = bytes(range(len(COMMANDS)))
        #: How often the Remote Command characteristic was subscribed to.
        self.remote_subscriptions = 0
        #: How often each entity was registered.
        self.registrations: list[bytes] = []
        #: The ATT error for a remote command, or None to take it.
        self.refusal: Callable[[bytes], int | None] = lambda _: None

    def on_subscription(self, bearer: Any, notify: bool, _indicate: bool) -> None:
        if notify:
            self.remote_subscriptions += 1
            self.spawn(self.server.notify_subscriber(bearer, self.remote, self.supported))

    def on_registration(self, bearer: Any, value: bytes) -> None:
        self.registrations.append(value)
        super().on_registration(bearer, value)

    def on_remote_command(self, bearer: Any, value: bytes) -> None:
        code = self.refusal(value)
        if code is not None:
            raise refuse(code)
        super().on_remote_command(bearer, value)
