# SPDX-License-Identifier: GPL-3.0-or-later
"""The phone's Notification Provider: the Apple Notification Center Service, as its specification
and reports of real phones describe it, on any GATT server."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, field, replace
from typing import Any

from bumble.core import UUID
from bumble.gatt import Service

from server import PhoneServer, Properties, characteristic, need_encryption, refuse

SERVICE = UUID("7905F431-B5CE-4E99-A40F-4B1E122D00D0")
NOTIFICATION_SOURCE = UUID("9FBF120D-6301-42D9-8C58-25E699A21DBD")
CONTROL_POINT = UUID("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9")
DATA_SOURCE = UUID("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB")

ADDED, MODIFIED, REMOVED = range(3)
SILENT, IMPORTANT, PRE_EXISTING, POSITIVE, NEGATIVE = (1 << bit for bit in range(5))
GET_NOTIFICATION, GET_APP, PERFORM = range(3)

WRITE_NOT_PERMITTED = 0x03  # what every command gets while Share System Notifications is off
UNKNOWN_COMMAND, INVALID_COMMAND, INVALID_PARAMETER, ACTION_FAILED = range(0xA0, 0xA4)

#: Attributes whose id is followed by the maximum length that the reader wants.
BOUNDED = (1, 2, 3)


@dataclass(frozen=True)
class Note:
    """One notification as the phone holds it. An action exists where it has a label."""

    uid: int
    app_id: str = "com.apple.MobileSMS"
    title: str = "Mum"
    subtitle: str = ""
    message: str = "Are you coming on Saturday?"
    date: str = "20261121T070000"
    category: int = 4
    positive: str = ""
    negative: str = "Clear"
    flags: int = 0

    def attribute(self, number: int) -> bytes:
        """The attribute's whole value; raises KeyError where there is no such attribute."""
        size = str(len(self.message.encode()))
        texts = [self.app_id, self.title, self.subtitle, self.message, size]
        texts += [self.date, self.positive, self.negative]
        if number >= len(texts):
            raise KeyError(number)
        return texts[number].encode()

    @property
    def event_flags(self) -> int:
        actions = (POSITIVE if self.positive else 0) | (NEGATIVE if self.negative else 0)
        return self.flags | actions


@dataclass
class Seen:
    """What the consumer did, for the cases to look at."""

    commands: list[bytes] = field(default_factory=list)
    actions: list[tuple[int, str]] = field(default_factory=list)
    sessions: int = 0


class NotificationProvider:
    """ANCS. Its knobs are plain attributes: `authorized`, `actions_fail`, `delay`, `fragment`."""

    def __init__(self, server: PhoneServer) -> None:
        self.server = server
        self.notes: dict[int, Note] = {}
        self.apps = {"com.apple.MobileSMS": "Messages", "com.apple.mobilephone": "Phone"}
        self.seen = Seen()
        self.authorized = True
        self.actions_fail = False
        self.delay = 0.0  # seconds before the Data Source answers
        self.fragment = 0  # bytes a fragment at most; 0: what the MTU holds
        self.sessions: set[Any] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.source = characteristic(NOTIFICATION_SOURCE, Properties.NOTIFY)
        self.control = characteristic(CONTROL_POINT, Properties.WRITE, write=self.on_command)
        self.data = characteristic(DATA_SOURCE, Properties.NOTIFY)
        server.encrypted_only |= {self.source, self.data}
        server.gone.append(self.sessions.discard)
        self.source.on(self.source.EVENT_SUBSCRIPTION, self.on_subscription)
        self.service = Service(SERVICE, [self.source, self.control, self.data])

    # What happens on the phone

    async def post(self, note: Note) -> Note:
        """A notification appears."""
        self.notes[note.uid] = note
        await self.tell(ADDED, note)
        return note

    async def modify(self, uid: int, **changes: Any) -> Note:
        """A notification's contents change."""
        self.notes[uid] = note = replace(self.notes[uid], **changes)
        await self.tell(MODIFIED, note)
        return note

    async def remove(self, uid: int) -> None:
        """A notification goes away, whoever took it."""
        await self.tell(REMOVED, self.notes.pop(uid))

    async def tell(self, event: int, note: Note) -> None:
        for bearer in list(self.sessions):
            await self.send_event(bearer, event, note, note.event_flags)

    async def send_event(self, bearer: Any, event: int, note: Note, flags: int) -> None:
        count = sum(n.category == note.category for n in self.notes.values())
        value = struct.pack("<BBBBI", event, flags, note.category, min(count, 255), note.uid)
        await self.server.notify_subscriber(bearer, self.source, value)

    # What the consumer does

    def on_subscription(self, bearer: Any, notify: bool, _indicate: bool) -> None:
        if not notify:
            self.sessions.discard(bearer)
        elif bearer not in self.sessions:
            self.sessions.add(bearer)
            self.seen.sessions += 1
            self.spawn(self.replay(bearer))

    async def replay(self, bearer: Any) -> None:
        """A session begins with all that is there already."""
        for note in list(self.notes.values()):
            await self.send_event(bearer, ADDED, note, note.event_flags | PRE_EXISTING)

    def on_command(self, bearer: Any, value: bytes) -> None:
        need_encryption(bearer)
        self.seen.commands.append(value)
        if not self.authorized:
            raise refuse(WRITE_NOT_PERMITTED)
        if not value:
            raise refuse(INVALID_COMMAND)
        command, rest = value[0], value[1:]
        if command == GET_NOTIFICATION:
            self.answer(bearer, self.notification_attributes(rest))
        elif command == GET_APP:
            self.answer(bearer, self.app_attributes(rest))
        elif command == PERFORM:
            self.perform(rest)
        else:
            raise refuse(UNKNOWN_COMMAND)

    def notification_attributes(self, rest: bytes) -> bytes:
        if len(rest) < 4:
            raise refuse(INVALID_COMMAND)
        (uid,), wanted = struct.unpack_from("<I", rest), rest[4:]
        if uid not in self.notes:
            raise refuse(INVALID_PARAMETER)
        response = struct.pack("<BI", GET_NOTIFICATION, uid)
        while wanted:
            number, wanted = wanted[0], wanted[1:]
            try:
                value = self.notes[uid].attribute(number)
            except KeyError:
                raise refuse(INVALID_PARAMETER) from None
            if number in BOUNDED:
                if len(wanted) < 2:
                    raise refuse(INVALID_COMMAND)
                # The bound is in bytes: it may cut a character in two, as phones do.
                value = value[: struct.unpack_from("<H", wanted)[0]]
                wanted = wanted[2:]
            response += struct.pack("<BH", number, len(value)) + value
        return response

    def app_attributes(self, rest: bytes) -> bytes:
        app_id, end, wanted = rest.partition(b"\0")
        if not end:
            raise refuse(INVALID_COMMAND)
        name = self.apps.get(app_id.decode("utf-8", "replace"))
        if name is None or any(wanted):
            raise refuse(INVALID_PARAMETER)
        response = bytes([GET_APP]) + app_id + b"\0"
        for number in wanted:
            response += struct.pack("<BH", number, len(name.encode())) + name.encode()
        return response

    def perform(self, rest: bytes) -> None:
        if len(rest) != 5:
            raise refuse(INVALID_COMMAND)
        uid, action = struct.unpack("<IB", rest)
        if uid not in self.notes or action > 1:
            raise refuse(INVALID_PARAMETER)
        note = self.notes[uid]
        if self.actions_fail or not (note.negative if action else note.positive):
            raise refuse(ACTION_FAILED)
        self.seen.actions.append((uid, "negative" if action else "positive"))
        # Acting on a notification takes it off the phone's screen.
        self.spawn(self.remove(uid))

    def answer(self, bearer: Any, response: bytes) -> None:
        self.spawn(self.send_fragments(bearer, response))

    async def send_fragments(self, bearer: Any, response: bytes) -> None:
        """The Data Source's answer, after the command's own Write Response."""
        await asyncio.sleep(self.delay)
        room = bearer.att_mtu - 3
        size = min(self.fragment, room) if self.fragment else room
        for start in range(0, len(response), size):
            await self.server.notify_subscriber(bearer, self.data, response[start : start + size])

    def spawn(self, work: Any) -> None:
        # A task that nobody holds may be collected before it ran.
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
