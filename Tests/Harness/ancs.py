# SPDX-License-Identifier: GPL-3.0-or-later
"""The phone's Notification Provider: the Apple Notification Center Service as its specification and reports
of real phones describe it, with settings for everything that phones do wrong."""

import asyncio
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bumble.core import UUID
from bumble.gatt import Service

from .server import GATTServer, Properties, characteristic, extend, refuse, require_encryption

SERVICE = UUID("7905F431-B5CE-4E99-A40F-4B1E122D00D0")
NOTIFICATION_SOURCE = UUID("9FBF120D-6301-42D9-8C58-25E699A21DBD")
CONTROL_POINT = UUID("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9")
DATA_SOURCE = UUID("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB")

ADDED, MODIFIED, REMOVED = range(3)
SILENT, IMPORTANT, PRE_EXISTING, POSITIVE, NEGATIVE = (1 << bit for bit in range(5))
GET_NOTIFICATION, GET_APP, PERFORM = range(3)
UNKNOWN_COMMAND, INVALID_COMMAND, INVALID_PARAMETER, ACTION_FAILED = range(0xA0, 0xA4)

#: The attributes whose id is followed by a maximum length.
BOUNDED = (1, 2, 3)


@dataclass(frozen=True)
class Notification:
    """One notification on the phone. It has those actions that have a label."""

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

    @property
    def attributes(self) -> list[bytes]:
        """The values of all attributes by their ids."""
        size = str(len(self.message.encode()))
        texts = [self.app_id, self.title, self.subtitle, self.message, size, self.date]
        return [text.encode() for text in [*texts, self.positive, self.negative]]

    @property
    def event_flags(self) -> int:
        actions = (POSITIVE if self.positive else 0) | (NEGATIVE if self.negative else 0)
        return self.flags | actions


def call(uid: int) -> Notification:
    """An incoming call as iOS 26 announces it: with a date and a message."""
    return Notification(
        uid, "com.apple.mobilephone", "+1 (212) 555-0142", "Spam Risk", "Incoming Call", category=1,
        positive="Answer", negative="Decline",
    )


def source_value(event: int, flags: int, category: int, count: int, uid: int) -> bytes:
    """A value of the Notification Source."""
    return struct.pack("<BBBBI", event, flags, category, count, uid)


def cut(value: bytes, maximum: int) -> bytes:
    """A text cut to this many bytes: phones may cut a character in two."""
    return value[:maximum]


def cut_with_ellipsis(value: bytes, maximum: int) -> bytes:
    """The same as iOS 26 does it: a text is cut between characters, and ends in U+2026."""
    if len(value) <= maximum:
        return value
    ellipsis = "…".encode()
    kept = value[: max(maximum - len(ellipsis), 0)].decode("utf-8", "ignore").encode()
    return cut(kept + ellipsis, maximum)


def attributes_response(
    command: bytes, attributes: Sequence[bytes], cut: Callable[[bytes, int], bytes] = cut
) -> bytes:
    """The Data Source's response to Get Notification Attributes, given the attributes by their ids."""
    response, wanted = command[:5], command[5:]
    while wanted:
        number, wanted = wanted[0], wanted[1:]
        if number >= len(attributes):
            raise refuse(INVALID_PARAMETER)
        value = attributes[number]
        if number in BOUNDED:
            if len(wanted) < 2:
                raise refuse(INVALID_COMMAND)
            value, wanted = cut(value, struct.unpack_from("<H", wanted)[0]), wanted[2:]
        response += struct.pack("<BH", number, len(value)) + value
    return response


def command_uid(command: bytes) -> int | None:
    """The UID in a Get Notification Attributes command."""
    if len(command) >= 5 and command[0] == GET_NOTIFICATION:
        return int(struct.unpack_from("<I", command, 1)[0])
    return None


class NotificationProvider:
    """ANCS. The public attributes are settings, and what the consumer has done so far."""

    def __init__(self, server: GATTServer) -> None:
        self.server = server
        self.notifications: dict[int, Notification] = {}
        self.apps = {"com.apple.MobileSMS": "Messages", "com.apple.mobilephone": "Phone"}

        self.commands: list[bytes] = []
        self.actions: list[tuple[int, str]] = []
        self.sessions = 0

        self.actions_fail = False
        self.delay = 0.0  # seconds before a response
        self.fragment = 0  # the greatest size of a fragment; 0: what the MTU holds

        self.modified: set[int] = set()  # modified, and not fetched since
        self.subscribers: set[Any] = set()
        self.source = characteristic(NOTIFICATION_SOURCE, Properties.NOTIFY)
        self.control = characteristic(CONTROL_POINT, Properties.WRITE, write=self.on_command)
        self.data = characteristic(DATA_SOURCE, Properties.NOTIFY)
        server.encrypted_only |= {self.source, self.data}
        server.on_gone.append(self.unsubscribed)
        self.source.on(self.source.EVENT_SUBSCRIPTION, self.on_subscription)
        if server.profile.captured:
            extend(self.control)
        self.service = Service(SERVICE, [self.control, self.source, self.data])

    # What happens on the phone

    def post(self, *notifications: Notification) -> None:
        """Notifications appear."""
        for notification in notifications:
            self.notifications[notification.uid] = notification
            self.announce(ADDED, notification)

    def modify(self, uid: int, **changes: Any) -> None:
        """A notification's contents change."""
        self.notifications[uid] = replace(self.notifications[uid], **changes)
        if self.server.profile.modified_once and uid in self.modified:
            return
        self.modified.add(uid)
        self.announce(MODIFIED, self.notifications[uid])

    def remove(self, uid: int) -> None:
        """A notification disappears."""
        self.announce(REMOVED, self.notifications.pop(uid))

    def announce(self, event: int, notification: Notification) -> None:
        for bearer in list(self.subscribers):
            self.send_event(bearer, event, notification)

    def send_event(self, bearer: Any, event: int, notification: Notification, flags: int = 0) -> None:
        category = notification.category
        count = sum(n.category == category for n in self.notifications.values())
        flags |= notification.event_flags
        value = source_value(event, flags, category, min(count, 255), notification.uid)
        self.server.notify(bearer, self.source, value)

    # What the consumer does

    def on_subscription(self, bearer: Any, notify: bool, _indicate: bool) -> None:
        if not notify:
            self.unsubscribed(bearer)
        elif bearer not in self.subscribers:
            self.subscribers.add(bearer)
            self.sessions += 1
            # Not before the Write Response to the subscription.
            asyncio.get_running_loop().call_soon(self.replay, bearer)

    def unsubscribed(self, bearer: Any) -> None:
        if bearer not in self.subscribers:
            return
        self.subscribers.discard(bearer)
        self.modified.clear()

    def replay(self, bearer: Any) -> None:
        """A session begins with the notifications that exist already."""
        flags = PRE_EXISTING | (SILENT if self.server.profile.hushes else 0)
        for notification in list(self.notifications.values()):
            self.send_event(bearer, ADDED, notification, flags)

    def on_command(self, bearer: Any, value: bytes) -> None:
        require_encryption(bearer)
        self.commands.append(value)
        if not value:
            raise refuse(INVALID_COMMAND)
        if value[0] == GET_NOTIFICATION:
            self.respond(bearer, self.notification_attributes(value))
        elif value[0] == GET_APP:
            self.respond(bearer, self.app_attributes(value[1:]))
        elif value[0] == PERFORM:
            self.perform(value[1:])
        else:
            raise refuse(UNKNOWN_COMMAND)

    def notification_attributes(self, command: bytes) -> bytes:
        uid = command_uid(command)
        if uid is None:
            raise refuse(INVALID_COMMAND)
        if uid not in self.notifications:
            raise refuse(INVALID_PARAMETER)
        self.modified.discard(uid)
        how = cut_with_ellipsis if self.server.profile.ellipsis else cut
        return attributes_response(command, self.notifications[uid].attributes, how)

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
        if uid not in self.notifications or action > 1:
            raise refuse(INVALID_PARAMETER)
        notification = self.notifications[uid]
        if self.actions_fail or not (notification.negative if action else notification.positive):
            raise refuse(ACTION_FAILED)
        self.actions.append((uid, "negative" if action else "positive"))
        # An action removes the notification from the phone's screen.
        asyncio.get_running_loop().call_soon(self.remove, uid)

    def respond(self, bearer: Any, response: bytes) -> None:
        asyncio.get_running_loop().call_later(self.delay, self.send_response, bearer, response)

    def send_response(self, bearer: Any, response: bytes) -> None:
        size = bearer.att_mtu - 3
        size = min(self.fragment, size) if self.fragment else size
        for start in range(0, len(response), size):
            self.server.notify(bearer, self.data, response[start : start + size])

    # What the consumer has done

    def fetches(self, uid: int) -> int:
        """How often a notification's attributes were requested."""
        return sum(command_uid(command) == uid for command in self.commands)
