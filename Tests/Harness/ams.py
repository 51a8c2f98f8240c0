# SPDX-License-Identifier: GPL-3.0-or-later
"""The phone's Media Source: the Apple Media Service, with a player behind it that really changes tracks."""

import asyncio
from collections.abc import Callable
from typing import Any

from bumble.core import UUID
from bumble.gatt import Service

from .server import GATTServer, Properties, characteristic, extend, refuse, require_encryption

SERVICE = UUID("89D3502B-0F36-433A-8EF4-C502AD55F8DC")
REMOTE_COMMAND = UUID("9B3C81D8-57B1-4A8A-B8DF-0E56F7CA51C2")
ENTITY_UPDATE = UUID("2F7CABCE-808D-411F-9A0C-BB92BA96C102")
ENTITY_ATTRIBUTE = UUID("C6B2F38C-23AB-46D8-A6AB-A3A870BBD5D7")

INVALID_STATE, INVALID_COMMAND, ABSENT_ATTRIBUTE = range(0xA0, 0xA3)
TRUNCATED = 1

COMMANDS = (
    "play pause toggle next previous volume-up volume-down repeat shuffle "
    "skip-forward skip-backward like dislike bookmark"
).split()

PLAYER, QUEUE, TRACK = range(3)
NAME, PLAYBACK, VOLUME = range(3)
INDEX, COUNT, SHUFFLE, REPEAT = range(4)
ARTIST, ALBUM, TITLE, DURATION = range(4)
ATTRIBUTES = {PLAYER: 3, QUEUE: 4, TRACK: 4}

#: The playlist: artist, album, title, duration. The second title exceeds a PDU at MTU 185, so that it
#: arrives truncated.
TRACKS = (
    ("Nina Simone", "Pastel Blues", "Sinnerman", "622.0"),
    ("Sufjan Stevens", "Illinois",
     "The Black Hawk War, or, How to Demolish " + 15 * "an Entire Civilization ", "134.5"),
    ("坂本龍一", "async", "andata", "279.1"),
)

Key = tuple[int, int]


class MediaSource:
    """AMS. `values` is the state by entity and attribute; the other public attributes are settings, and
    what the remote has done so far."""

    def __init__(self, server: GATTServer) -> None:
        self.server = server
        self.remote_commands: list[str] = []
        self.remote_subscriptions = 0
        self.registrations: list[bytes] = []

        self.registered: dict[Any, set[Key]] = {}
        self.selected: dict[Any, Key] = {}
        self.track = 0
        self.playing = True
        self.values: dict[Key, str] = {
            (PLAYER, NAME): "Music", (PLAYER, VOLUME): "0.5", (QUEUE, SHUFFLE): "0",
            (QUEUE, REPEAT): "0", (QUEUE, COUNT): str(len(TRACKS)),
        } | self.track_values()
        self.remote = characteristic(
            REMOTE_COMMAND, Properties.WRITE | Properties.NOTIFY, write=self.on_remote_command
        )
        self.update = characteristic(
            ENTITY_UPDATE, Properties.WRITE | Properties.NOTIFY, write=self.on_registration
        )
        self.attribute = characteristic(
            ENTITY_ATTRIBUTE, Properties.READ | Properties.WRITE, self.on_read, self.on_selection
        )
        server.encrypted_only |= {self.remote, self.update}
        server.on_gone.append(self.forget)
        self.remote.on(self.remote.EVENT_SUBSCRIPTION, self.on_subscription)
        if server.profile.captured:
            extend(self.remote, self.update, self.attribute)
        self.service = Service(SERVICE, [self.remote, self.update, self.attribute])

    def track_values(self) -> dict[Key, str]:
        artist, album, title, duration = TRACKS[self.track]
        return {
            (PLAYER, PLAYBACK): f"{int(self.playing)},{float(self.playing)},0.000",
            (QUEUE, INDEX): str(self.track), (TRACK, ARTIST): artist, (TRACK, ALBUM): album,
            (TRACK, TITLE): title, (TRACK, DURATION): duration,
        }

    def forget(self, bearer: Any) -> None:
        self.registered.pop(bearer, None)
        self.selected.pop(bearer, None)

    # What happens on the phone

    def set(self, changes: dict[Key, str]) -> None:
        """Values change; those that differ are sent to links that registered for them."""
        changed = [key for key, value in changes.items() if self.values.get(key) != value]
        self.values.update(changes)
        for bearer, keys in list(self.registered.items()):
            for key in changed:
                if key in keys:
                    self.send(bearer, key)

    def play(self, track: int | None = None, playing: bool = True) -> None:
        """The player changes to a track, stops or starts."""
        self.track = self.track if track is None else track % len(TRACKS)
        self.playing = playing
        self.set(self.track_values())

    def send(self, bearer: Any, key: Key) -> None:
        value = self.values.get(key, "").encode()
        room = bearer.att_mtu - 3 - 3
        flags = TRUNCATED if len(value) > room else 0
        self.server.notify(bearer, self.update, bytes([*key, flags]) + value[:room])

    # What the remote does

    def on_subscription(self, bearer: Any, notify: bool, _indicate: bool) -> None:
        if notify:
            self.remote_subscriptions += 1
            self.later(self.server.notify, bearer, self.remote, bytes(range(len(COMMANDS))))

    def on_remote_command(self, bearer: Any, value: bytes) -> None:
        require_encryption(bearer)
        if len(value) != 1 or value[0] >= len(COMMANDS):
            raise refuse(INVALID_COMMAND)
        name = COMMANDS[value[0]]
        self.remote_commands.append(name)
        step = {"next": 1, "previous": -1}.get(name)
        if step is not None:
            self.later(self.play, self.track + step, self.playing)
        elif name in ("play", "pause", "toggle"):
            self.later(self.play, None, not self.playing if name == "toggle" else name == "play")

    def on_registration(self, bearer: Any, value: bytes) -> None:
        require_encryption(bearer)
        self.registrations.append(value)
        if not self.server.subscribed(bearer, self.update):
            raise refuse(INVALID_STATE)
        if not value or any(a >= ATTRIBUTES.get(value[0], 0) for a in value[1:]):
            raise refuse(INVALID_COMMAND)
        keys = [(value[0], attribute) for attribute in value[1:]]
        # A list replaces the entity's earlier one; an empty list ends the registration.
        others = {key for key in self.registered.get(bearer, set()) if key[0] != value[0]}
        self.registered[bearer] = others | set(keys)
        for key in keys:
            self.later(self.send, bearer, key)

    def on_selection(self, bearer: Any, value: bytes) -> None:
        require_encryption(bearer)
        if not self.server.subscribed(bearer, self.update):
            raise refuse(INVALID_STATE)
        if len(value) != 2 or value[1] >= ATTRIBUTES.get(value[0], 0):
            raise refuse(INVALID_COMMAND)
        if not self.values.get((value[0], value[1])):
            raise refuse(ABSENT_ATTRIBUTE)
        self.selected[bearer] = (value[0], value[1])

    def on_read(self, bearer: Any) -> bytes:
        require_encryption(bearer)
        if bearer not in self.selected:
            raise refuse(INVALID_STATE)
        return self.values[self.selected[bearer]].encode()

    @staticmethod
    def later(function: Callable[..., None], *arguments: Any) -> None:
        """Does something once the Write Response has been sent."""
        asyncio.get_running_loop().call_soon(function, *arguments)
