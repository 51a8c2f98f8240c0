# SPDX-License-Identifier: GPL-3.0-or-later
"""Media both ways, and the phone's battery and clock."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pdus
from cases_setup import serves
from harness import check, eventually
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from link import Link

COMMANDS = (
    "play pause toggle next previous volume-up volume-down repeat shuffle "
    "skip-forward skip-backward like dislike bookmark"
).split()
# As AMS numbers them; media.py of the lab has the same, but wants Bumble.
PLAYER, QUEUE, TRACK = range(3)
NAME, PLAYBACK, VOLUME = range(3)
INDEX, COUNT, SHUFFLE, REPEAT = range(4)
ARTIST, ALBUM, TITLE, DURATION = range(4)


async def media_event(
    daemon: Ancsd, holds: Callable[[Event], bool], wanted: str, since: Event | int = 0
) -> Event:
    return await daemon.event_where("media", holds, since=since, wanted=wanted)


async def settled_state(daemon: Ancsd, holds: Callable[[Any], bool], wanted: str) -> Any:
    """`media.get` as soon as it holds."""
    state: Any = None
    for _ in range(200):
        state = await daemon.call("media.get")
        if holds(state):
            return state
        await asyncio.sleep(0.02)
    check(False, f"media.get never had {wanted}: {state}")


@case("media-state")
async def state(room: Room) -> None:
    """All eleven attributes, from the first moment and as they change; absent ones are null."""
    daemon, phone, _ = await room.served()
    media = phone.media
    event = await media_event(
        daemon, lambda e: e["track"]["title"] == "Sinnerman", "the first track"
    )
    whole = await settled_state(daemon, lambda s: s["queue"]["repeat"] is not None, "all values")
    check(
        list(whole)[:4] == ["player", "queue", "track", "commands"], f"media.get is {list(whole)}"
    )
    player, queue, track = whole["player"], whole["queue"], whole["track"]
    check(list(player) == ["name", "state", "rate", "elapsed", "volume"], f"player is {player}")
    check((player["name"], player["state"]) == ("Music", "playing"), f"player is {player}")
    check((player["rate"], player["volume"]) == (1, 0.5), f"player is {player}")
    check(0 <= player["elapsed"] < 10, f"player is {player}")
    check(queue == {"index": 0, "count": 3, "shuffle": "off", "repeat": "off"}, f"queue is {queue}")
    wanted = {
        "artist": "Nina Simone",
        "album": "Pastel Blues",
        "title": "Sinnerman",
        "duration": 622,
    }
    check(track == wanted, f"track is {track}")
    check(whole["commands"] == COMMANDS, f"commands are {whole['commands']}")
    await media.set({(QUEUE, SHUFFLE): "2", (QUEUE, REPEAT): "1", (PLAYER, VOLUME): "0.0625"})
    event = await media_event(
        daemon, lambda e: e["player"]["volume"] == 0.0625, "the new volume", since=event
    )
    check("changed" in event, f"the event has no `changed`: {event}")
    whole = await settled_state(daemon, lambda s: s["queue"]["shuffle"] == "all", "shuffle")
    check(whole["queue"]["repeat"] == "one", f"queue is {whole['queue']}")
    # Empty is unknown: null.
    await media.set(
        {(TRACK, ALBUM): "", (TRACK, DURATION): "", (PLAYER, VOLUME): "", (QUEUE, COUNT): ""}
    )
    whole = await settled_state(daemon, lambda s: s["track"]["duration"] is None, "no duration")
    await settled_state(
        daemon, lambda s: s["player"]["volume"] is None and s["queue"]["count"] is None, "nulls"
    )
    check(whole["track"]["album"] in (None, ""), f"track is {whole['track']}")


@case("media-changed")
async def changed(room: Room) -> None:
    """`changed` names what is new and nothing else, and each event has the whole state."""
    daemon, phone, _ = await room.served()
    await settled_state(daemon, lambda s: s["track"]["duration"] == 622, "the first track")
    await daemon.settled("media", quiet=0.3)
    since = daemon.now
    await phone.media.set({(TRACK, TITLE): "Another"})
    event = await media_event(daemon, lambda e: e["track"]["title"] == "Another", "it", since)
    # Another title begins at its beginning, whatever the player said last.
    check(set(event["changed"]) - {"player.elapsed"} == {"track.title"}, f"{event['changed']}")
    check(event["track"]["artist"] == "Nina Simone", f"the event has only {event['track']}")
    since = daemon.now
    await phone.media.set({(PLAYER, PLAYBACK): "0,0.0,100.5"})
    event = await media_event(daemon, lambda e: e["player"]["state"] == "paused", "paused", since)
    check("player.state" in event["changed"], f"changed is {event['changed']}")
    check(event["player"]["elapsed"] == 100.5, f"player is {event['player']}")


@case("media-truncated")
async def truncated(room: Room) -> None:
    """Values longer than a PDU are read whole before the event is sent, at MTU 23 too."""

    async def one(part: Room, mtu: int) -> None:
        daemon, phone, _ = await part.served(mtu=mtu)
        await media_event(daemon, lambda e: e["track"]["title"] == "Sinnerman", "the first track")
        # Around what one update and what one read hold, where an end is easily missed.
        for length in (mtu - 6, mtu - 5, mtu - 1, mtu, 2 * (mtu - 1), 2 * mtu - 1, 400):
            title = ("Être ou ne pas être 🎭 " * 40).encode()[:length].decode(errors="ignore")
            title = title.ljust(length - len(title.encode()) + len(title), "!")
            since = daemon.now
            await phone.media.set({(TRACK, TITLE): title})
            event = await media_event(
                daemon, lambda e: "track.title" in e["changed"], f"{length} bytes", since
            )
            check(event["track"]["title"] == title, f"the title is {event['track']['title']!r}")
        await serves(part, daemon, phone, 1)

    await room.every([23, 48, 185, 517], one, name=lambda mtu: f"mtu-{mtu}")


@case("media-truncated-storm")
async def storm(room: Room) -> None:
    """Long values that change again while they are read: the last one wins, none is mixed."""
    daemon, phone, _ = await room.served(mtu=23)
    for turn in range(20):
        text = {
            key: f"{turn}".rjust(3, "0") * 30
            for key in ((TRACK, TITLE), (TRACK, ARTIST), (TRACK, ALBUM))
        }
        await phone.media.set(text)
        if turn % 3 == 0:
            await asyncio.sleep(0.01)  # some of them are being read by now
    last = "019" * 30
    await settled_state(
        daemon,
        lambda s: all(s["track"][k] == last for k in ("title", "artist", "album")),
        "the last",
    )
    texts = [e["track"][k] for e in daemon.events if e.name == "media" for k in ("title", "artist")]
    mixed = [t for t in texts if t and len(t) == 90 and t != t[:3] * 30]
    check(not mixed, f"a text made of two: {mixed[:1]}")
    await serves(room, daemon, phone, 1)


@case("media-absent")
async def absent(room: Room) -> None:
    """A value said to be truncated that is gone when it is read (0xA2) is no harm."""
    daemon, phone, _ = await room.served()
    handle = phone.media.update.handle
    phone.media.values[TRACK, ALBUM] = ""
    phone.link.notify(handle, bytes([TRACK, ALBUM, 1]) + b"x" * 100)
    await serves(room, daemon, phone, 1)
    await phone.media.play(2)
    await media_event(daemon, lambda e: e["track"]["title"] == "andata", "the next track")


@case("playback-info")
async def playback(room: Room) -> None:
    """Playback info in all the shapes that phones send: lenient, and never a wrong state."""
    daemon, phone, _ = await room.served()
    await settled_state(daemon, lambda s: s["player"]["state"] == "playing", "a player")
    good: dict[str, tuple[str | None, float | None, float | None]] = {
        "0,0.0,10.0": ("paused", 0, 10), "1,1.0,20": ("playing", 1, None),
        "2,-2.0,33.5": ("rewinding", -2, None), "3,4,1.5": ("fast-forwarding", 4, None),
        "0,,": ("paused", None, None), "0,0.0,12.25": ("paused", 0, 12.25),
    }  # fmt: skip
    for text, (name, rate, elapsed) in good.items():
        await phone.media.set({(PLAYER, PLAYBACK): text})
        found = await settled_state(daemon, lambda s, n=name: s["player"]["state"] == n, text)  # type: ignore[misc]
        player = found["player"]
        if rate is not None:
            check(player["rate"] == rate, f"{text!r} became {player}")
        if elapsed is not None:
            check(player["elapsed"] == elapsed, f"{text!r} became {player}")
    for text in (
        "0,1,00,-0,00",
        "1,2",
        "junk",
        "1,2,3,4",
        ",,,,,",
        "NaN,NaN,NaN",
        "1e999,1,1",
        "9" * 400 + ",1,1",
    ):
        await phone.media.set({(PLAYER, PLAYBACK): text})
    await phone.media.set({(QUEUE, INDEX): "junk", (QUEUE, COUNT): "-7", (PLAYER, VOLUME): "loud"})
    await phone.media.set({(TRACK, DURATION): "inf", (QUEUE, SHUFFLE): "9", (QUEUE, REPEAT): ""})
    await serves(room, daemon, phone, 1)
    player = (await daemon.call("media.get"))["player"]
    check(player["state"] in ("paused", None), f"nonsense made the player {player}")
    # Nothing known any more, and a time before the beginning, which phones do say.
    await phone.media.set({(PLAYER, PLAYBACK): "1,1.0,-3.5"})
    found = await settled_state(daemon, lambda s: s["player"]["state"] == "playing", "playing")
    check(found["player"]["elapsed"] >= 0, f"the time is {found['player']['elapsed']}")
    await phone.media.set({(PLAYER, PLAYBACK): ""})
    await settled_state(daemon, lambda s: s["player"]["state"] is None, "no state")


@case("elapsed")
async def elapsed(room: Room) -> None:
    """The elapsed time goes on by the rate while it plays, and stands while paused."""
    daemon, phone, _ = await room.served()
    await phone.media.set({(PLAYER, PLAYBACK): "1,2.0,100.0"})
    first = await settled_state(daemon, lambda s: (s["player"]["elapsed"] or 0) >= 100, "100 s")
    await asyncio.sleep(1)
    second = await daemon.call("media.get")
    gone = second["player"]["elapsed"] - first["player"]["elapsed"]
    check(1.8 <= gone <= 3, f"at twice the speed a second made {gone} s")
    await phone.media.set({(PLAYER, PLAYBACK): "0,0.0,50.0"})
    await settled_state(daemon, lambda s: s["player"]["elapsed"] == 50, "50 s")
    await asyncio.sleep(0.3)
    check((await daemon.call("media.get"))["player"]["elapsed"] == 50, "it goes on while paused")


@case("media-commands")
async def commands(room: Room) -> None:
    """All fourteen commands reach the phone; what it does not support is refused here."""
    from daemon import Refused

    daemon, phone, _ = await room.served()
    await settled_state(daemon, lambda s: len(s["commands"]) == 14, "the commands")
    for command in COMMANDS:
        check(await daemon.call("media.command", command=command) is True, f"{command}: not true")
    check(phone.media.remote_commands == COMMANDS, f"the phone saw {phone.media.remote_commands}")
    supported = [0, 1, 3]
    phone.link.notify(phone.media.remote.handle, bytes([*supported, 77]))
    await settled_state(daemon, lambda s: s["commands"][:3] == ["play", "pause", "next"], "three")
    for number, command in enumerate(COMMANDS):
        count = len(phone.media.remote_commands)
        try:
            await daemon.call("media.command", command=command)
            check(number in supported, f"{command} was sent although it is not supported")
        except Refused:
            check(number not in supported, f"{command} was refused although it is supported")
            check(len(phone.media.remote_commands) == count, f"{command} was sent all the same")
    for nonsense in ("sing", "", 3):
        try:
            await daemon.call("media.command", command=nonsense)
        except Refused:
            continue
        check(False, f"the command {nonsense!r} was taken")
    phone.link.notify(phone.media.remote.handle, bytes(range(14)))
    await settled_state(daemon, lambda s: len(s["commands"]) == 14, "all again")
    phone.media.refusal = lambda _: 0xA0
    try:
        await daemon.call("media.command", command="play")
    except Refused as refused:
        check(refused.error.get("data", {}).get("att") == 0xA0, f"the error is {refused.error}")
    else:
        check(False, "a command that the phone refused was said to be done")
    phone.media.refusal = lambda _: None


@case("player-changes")
async def player_changes(room: Room) -> None:
    """Another player: Remote Command is subscribed again, since phones do not tell by themselves."""
    daemon, phone, _ = await room.served()
    await settled_state(daemon, lambda s: s["player"]["name"] == "Music", "the first player")
    before = phone.media.remote_subscriptions
    phone.media.supported = bytes([0, 1])
    await phone.media.set({(PLAYER, NAME): "Podcasts"})
    await eventually(
        lambda: phone.media.remote_subscriptions > before, "Remote Command is not subscribed again"
    )
    await settled_state(daemon, lambda s: s["commands"] == ["play", "pause"], "the new commands")
    # No player at all, and one again.
    await phone.media.set({(PLAYER, NAME): "", (PLAYER, PLAYBACK): ""})
    await settled_state(daemon, lambda s: s["player"]["name"] in (None, ""), "no player")
    await phone.media.set({(PLAYER, NAME): "Music", (PLAYER, PLAYBACK): "0,0,0"})
    await settled_state(daemon, lambda s: s["player"]["name"] == "Music", "a player")
    registered = [r[0] for r in phone.media.registrations]
    check(sorted(registered) == [0, 1, 2], f"entities were registered so: {registered}")


@case("battery-and-time")
async def companions(room: Room) -> None:
    """Battery and clock as they are, as they change, and when their values are nonsense."""
    phone = room.phone()
    phone.services.clock_ahead = 3600
    daemon = await room.ancsd(phone)
    await daemon.event("battery", level=80)
    clock = await daemon.event("time")
    check(abs(clock["offset"] - 3600) <= 3, f"the offset is {clock['offset']}")
    check(len(clock["phone_time"]) >= 19 and clock["phone_time"][10] == "T", f"{clock}")
    for level in (79, 0, 100):
        await phone.services.set_battery(level)
        await daemon.event("battery", level=level)
    for value in (b"", b"\xff", b"\x65\x00", b"\x65"):
        phone.link.notify(phone.services.battery.handle, value)
    for value in (b"", b"\0" * 10, b"\xff" * 10, struct.pack("<H", 2026), bytes(40)):
        phone.link.notify(phone.services.time.handle, value)
    await serves(room, daemon, phone, 1)
    levels = [e["level"] for e in daemon.events if e.name == "battery"]
    check(all(0 <= level <= 100 for level in levels), f"the levels were {levels}")
    await phone.services.set_battery(50)
    await daemon.event("battery", level=50)
    status = await daemon.call("status")
    check("50" in str(status), f"status does not have the battery: {status}")


@case("companions-refused")
async def refused(room: Room) -> None:
    """Battery and clock that can't be read cost nothing else."""
    phone = room.phone()
    values = (phone.services.battery.handle, phone.services.time.handle)
    closed = {handle + at for handle in values for at in (0, 1)}  # the value and its descriptor

    def refuses(_link: Link, pdu: bytes) -> list[bytes] | None:
        handle = int.from_bytes(pdu[1:3], "little")
        if pdu[0] in (pdus.READ, pdus.WRITE) and handle in closed:
            return [pdus.error(pdu[0], handle, 0x0E)]
        return None

    phone.intercept = refuses
    daemon = await room.ancsd(phone)
    subscribed = await daemon.event("subscribed")
    check({"ancs", "ams"} <= set(subscribed["services"]), f"{subscribed['services']}")
    await serves(room, daemon, phone, 1)
    daemon.none("disconnected")
