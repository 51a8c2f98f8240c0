# SPDX-License-Identifier: GPL-3.0-or-later
"""Media both ways, and the phone's battery and clock."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from typing import Any

from Harness import att
from Harness.ams import (
    ALBUM,
    ARTIST,
    COMMANDS,
    COUNT,
    DURATION,
    INDEX,
    NAME,
    PLAYBACK,
    PLAYER,
    QUEUE,
    REPEAT,
    SHUFFLE,
    TITLE,
    TRACK,
    VOLUME,
)
from Harness.case import Failure, case, check, eventually, expect
from Harness.process import Condition, Daemon, Event
from Harness.testbed import check_served

from .link import Link
from .testbed import Testbed


async def media_event(
    daemon: Daemon, where: Condition, wanted: str, since: Event | int = 0
) -> Event:
    return await daemon.event("media", where=where, wanted=wanted, since=since)


async def media_state(daemon: Daemon, holds: Callable[[Any], bool], wanted: str) -> Any:
    """`media.get` as soon as it holds."""
    state: Any = None
    for _ in range(200):
        state = await daemon.call("media.get")
        if holds(state):
            return state
        await asyncio.sleep(0.02)
    raise Failure(f"media.get never had {wanted}: {state}")


@case("media-state")
async def state(bed: Testbed) -> None:
    """All eleven attributes, from the start and as they change; absent ones are null."""
    daemon, phone, _ = await bed.served()
    event = await media_event(daemon, lambda e: e["track"]["title"] == "Sinnerman", "the first track")
    whole = await media_state(daemon, lambda s: s["queue"]["repeat"] is not None, "all values")
    check(list(whole)[:4] == ["player", "queue", "track", "commands"], f"media.get is {list(whole)}")
    player = whole["player"]
    check(list(player) == ["name", "state", "rate", "elapsed", "volume"], f"player is {player}")
    expect(player, name="Music", state="playing", rate=1, volume=0.5)
    check(0 <= player["elapsed"] < 10, f"player is {player}")
    expect(
        whole, queue={"index": 0, "count": 3, "shuffle": "off", "repeat": "off"}, commands=COMMANDS,
        track={"artist": "Nina Simone", "album": "Pastel Blues", "title": "Sinnerman", "duration": 622},
    )
    phone.ams.set({(QUEUE, SHUFFLE): "2", (QUEUE, REPEAT): "1", (PLAYER, VOLUME): "0.0625"})
    event = await media_event(daemon, lambda e: e["player"]["volume"] == 0.0625, "the new volume", event)
    check("changed" in event, f"the event has no `changed`: {event}")
    whole = await media_state(daemon, lambda s: s["queue"]["shuffle"] == "all", "shuffle")
    check(whole["queue"]["repeat"] == "one", f"queue is {whole['queue']}")
    # Empty means unknown: null.
    phone.ams.set({(TRACK, ALBUM): "", (TRACK, DURATION): "", (PLAYER, VOLUME): "", (QUEUE, COUNT): ""})
    whole = await media_state(daemon, lambda s: s["track"]["duration"] is None, "no duration")
    await media_state(
        daemon, lambda s: s["player"]["volume"] is None and s["queue"]["count"] is None, "nulls"
    )
    check(whole["track"]["album"] in (None, ""), f"track is {whole['track']}")


@case("media-changed")
async def changed(bed: Testbed) -> None:
    """`changed` names what is new and nothing else, and each event has the whole state."""
    daemon, phone, _ = await bed.served()
    await media_state(daemon, lambda s: s["track"]["duration"] == 622, "the first track")
    await daemon.settled("media", quiet=0.3)
    since = daemon.now
    phone.ams.set({(TRACK, TITLE): "Another"})
    event = await media_event(daemon, lambda e: e["track"]["title"] == "Another", "it", since)
    # Another title starts at its beginning, whatever the player said before.
    check(set(event["changed"]) - {"player.elapsed"} == {"track.title"}, f"{event['changed']}")
    check(event["track"]["artist"] == "Nina Simone", f"the event has only {event['track']}")
    since = daemon.now
    phone.ams.set({(PLAYER, PLAYBACK): "0,0.0,100.5"})
    event = await media_event(daemon, lambda e: e["player"]["state"] == "paused", "paused", since)
    check("player.state" in event["changed"], f"changed is {event['changed']}")
    check(event["player"]["elapsed"] == 100.5, f"player is {event['player']}")


@case("media-truncated")
async def truncated(bed: Testbed) -> None:
    """Values longer than a PDU are read whole before the event, at MTU 23 too."""

    async def one(part: Testbed, mtu: int) -> None:
        daemon, phone, _ = await part.served(mtu=mtu)
        await media_event(daemon, lambda e: e["track"]["title"] == "Sinnerman", "the first track")
        # Lengths around those of an update and of a read, where the end is easily missed.
        for length in (mtu - 6, mtu - 5, mtu - 1, mtu, 2 * (mtu - 1), 2 * mtu - 1, 400):
            title = ("Être ou ne pas être 🎭 " * 40).encode()[:length].decode(errors="ignore")
            title = title.ljust(length - len(title.encode()) + len(title), "!")
            since = daemon.now
            phone.ams.set({(TRACK, TITLE): title})
            event = await media_event(
                daemon, lambda e: "track.title" in e["changed"], f"{length} bytes", since
            )
            check(event["track"]["title"] == title, f"the title is {event['track']['title']!r}")
        await check_served(daemon, phone, 1)

    await bed.every([23, 48, 185, 517], one, name=lambda mtu: f"mtu-{mtu}")


@case("media-truncated-storm")
async def storm(bed: Testbed) -> None:
    """Long values that change while they are read: the last one wins, and none are mixed."""
    daemon, phone, _ = await bed.served(mtu=23)
    for turn in range(20):
        phone.ams.set({(TRACK, key): f"{turn:03}" * 30 for key in (TITLE, ARTIST, ALBUM)})
        if turn % 3 == 0:
            await asyncio.sleep(0.01)  # so that some are being read
    last = "019" * 30
    await media_state(
        daemon, lambda s: all(s["track"][k] == last for k in ("title", "artist", "album")), "the last"
    )
    texts = [e["track"][k] for e in daemon.since(0, "media") for k in ("title", "artist")]
    mixed = [t for t in texts if t and len(t) == 90 and t != t[:3] * 30]
    check(not mixed, f"a text made of two: {mixed[:1]}")
    await check_served(daemon, phone, 1)


@case("media-absent")
async def absent(bed: Testbed) -> None:
    """A truncated value that is gone when it is read (0xA2) does no harm."""
    daemon, phone, _ = await bed.served()
    phone.ams.values[TRACK, ALBUM] = ""
    phone.link.notify(phone.ams.update.handle, bytes([TRACK, ALBUM, 1]) + b"x" * 100)
    await check_served(daemon, phone, 1)
    phone.ams.play(2)
    await media_event(daemon, lambda e: e["track"]["title"] == "andata", "the next track")


@case("playback-info")
async def playback(bed: Testbed) -> None:
    """Playback info in every form that phones send, and malformed: never a wrong state."""
    daemon, phone, _ = await bed.served()
    await media_state(daemon, lambda s: s["player"]["state"] == "playing", "a player")
    good: dict[str, dict[str, Any]] = {
        "0,0.0,10.0": {"state": "paused", "rate": 0, "elapsed": 10},
        "1,1.0,20": {"state": "playing", "rate": 1},
        "2,-2.0,33.5": {"state": "rewinding", "rate": -2},
        "3,4,1.5": {"state": "fast-forwarding", "rate": 4},
        "0,,": {"state": "paused"},
        "0,0.0,12.25": {"state": "paused", "rate": 0, "elapsed": 12.25},
    }
    for text, wanted in good.items():
        phone.ams.set({(PLAYER, PLAYBACK): text})
        found = await media_state(
            daemon, lambda s, state=wanted["state"]: s["player"]["state"] == state, text
        )
        expect(found["player"], **wanted)
    bad = ["0,1,00,-0,00", "1,2", "junk", "1,2,3,4", ",,,,,", "NaN,NaN,NaN", "1e999,1,1"]
    for text in [*bad, "9" * 400 + ",1,1"]:
        phone.ams.set({(PLAYER, PLAYBACK): text})
    phone.ams.set({(QUEUE, INDEX): "junk", (QUEUE, COUNT): "-7", (PLAYER, VOLUME): "loud"})
    phone.ams.set({(TRACK, DURATION): "inf", (QUEUE, SHUFFLE): "9", (QUEUE, REPEAT): ""})
    await check_served(daemon, phone, 1)
    player = (await daemon.call("media.get"))["player"]
    check(player["state"] in ("paused", None), f"malformed values made the player {player}")
    # A time before the beginning, which phones do send, and then nothing any more.
    phone.ams.set({(PLAYER, PLAYBACK): "1,1.0,-3.5"})
    found = await media_state(daemon, lambda s: s["player"]["state"] == "playing", "playing")
    check(found["player"]["elapsed"] >= 0, f"the time is {found['player']['elapsed']}")
    phone.ams.set({(PLAYER, PLAYBACK): ""})
    await media_state(daemon, lambda s: s["player"]["state"] is None, "no state")


@case("elapsed")
async def elapsed(bed: Testbed) -> None:
    """The elapsed time advances at the rate while playing, and stands still while paused."""
    daemon, phone, _ = await bed.served()
    phone.ams.set({(PLAYER, PLAYBACK): "1,2.0,100.0"})
    first = await media_state(daemon, lambda s: (s["player"]["elapsed"] or 0) >= 100, "100 s")
    began = time.monotonic()
    await asyncio.sleep(1)
    second = await daemon.call("media.get")
    took = time.monotonic() - began
    gone = second["player"]["elapsed"] - first["player"]["elapsed"]
    check(2 * took - 0.2 <= gone <= 2 * took + 1, f"at twice the speed {took:.2f} s made {gone} s")
    phone.ams.set({(PLAYER, PLAYBACK): "0,0.0,50.0"})
    await media_state(daemon, lambda s: s["player"]["elapsed"] == 50, "50 s")
    await asyncio.sleep(0.3)
    check((await daemon.call("media.get"))["player"]["elapsed"] == 50, "it advances while paused")


@case("media-commands")
async def commands(bed: Testbed) -> None:
    """All fourteen commands reach the phone, whatever it says to support; its refusal is an error."""
    daemon, phone, _ = await bed.served()
    await media_state(daemon, lambda s: len(s["commands"]) == 14, "the commands")
    for command in COMMANDS:
        check(await daemon.call("media.command", command=command) is True, f"{command}: not true")
    seen = phone.ams.remote_commands
    check(seen == COMMANDS, f"the phone saw {seen}")
    phone.link.notify(phone.ams.remote.handle, bytes([0, 1, 3, 77]))
    await media_state(daemon, lambda s: s["commands"][:3] == ["play", "pause", "next"], "three")
    for command in COMMANDS:
        check(await daemon.call("media.command", command=command) is True, f"{command}: not true")
    check(seen == [*COMMANDS, *COMMANDS], f"the phone saw {seen}")
    for unknown in ("sing", "", 3):
        await daemon.refused("media.command", command=unknown)
    phone.link.notify(phone.ams.remote.handle, bytes(range(14)))
    await media_state(daemon, lambda s: len(s["commands"]) == 14, "all again")
    phone.ams.refusal = lambda _: 0xA0
    error = await daemon.refused("media.command", command="play")
    check(error.get("data", {}).get("att") == 0xA0, f"the error is {error}")


@case("player-changes")
async def player_changes(bed: Testbed) -> None:
    """Another player: Remote Command is subscribed to again, since phones do not notify them unasked."""
    daemon, phone, _ = await bed.served()
    await media_state(daemon, lambda s: s["player"]["name"] == "Music", "the first player")
    before = phone.ams.remote_subscriptions
    phone.ams.supported = bytes([0, 1])
    phone.ams.set({(PLAYER, NAME): "Podcasts"})
    await eventually(
        lambda: phone.ams.remote_subscriptions > before, "no new subscription to Remote Command"
    )
    await media_state(daemon, lambda s: s["commands"] == ["play", "pause"], "the new commands")
    # No player at all, and one again.
    phone.ams.set({(PLAYER, NAME): "", (PLAYER, PLAYBACK): ""})
    await media_state(daemon, lambda s: s["player"]["name"] in (None, ""), "no player")
    phone.ams.set({(PLAYER, NAME): "Music", (PLAYER, PLAYBACK): "0,0,0"})
    await media_state(daemon, lambda s: s["player"]["name"] == "Music", "a player")
    registered = [registration[0] for registration in phone.ams.registrations]
    check(sorted(registered) == [0, 1, 2], f"the entities were registered as {registered}")


@case("battery-and-time")
async def companions(bed: Testbed) -> None:
    """Battery and clock at first, as they change, and with malformed values."""
    phone = bed.phone()
    phone.services.clock_ahead = 3600
    daemon = await bed.daemon(phone)
    await daemon.event("battery", level=80)
    clock = await daemon.event("time")
    check(abs(clock["offset"] - 3600) <= 3, f"the offset is {clock['offset']}")
    check(len(clock["phone_time"]) >= 19 and clock["phone_time"][10] == "T", f"{clock}")
    for level in (79, 0, 100):
        phone.services.set_battery(level)
        await daemon.event("battery", level=level)
    for value in (b"", b"\xff", b"\x65\x00", b"\x65"):
        phone.link.notify(phone.services.battery.handle, value)
    for value in (b"", b"\0" * 10, b"\xff" * 10, struct.pack("<H", 2026), bytes(40)):
        phone.link.notify(phone.services.time.handle, value)
    await check_served(daemon, phone, 1)
    levels = [event["level"] for event in daemon.since(0, "battery")]
    check(all(0 <= level <= 100 for level in levels), f"the levels were {levels}")
    phone.services.set_battery(50)
    await daemon.event("battery", level=50)
    status = await daemon.call("status")
    check("50" in str(status), f"status does not have the battery: {status}")


@case("companions-refused")
async def refused(bed: Testbed) -> None:
    """Battery and clock that can't be read cost nothing else."""
    phone = bed.phone()
    values = (phone.services.battery.handle, phone.services.time.handle)
    closed = {handle + at for handle in values for at in (0, 1)}  # the value and its descriptor

    def refuse(_link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[0] in (att.READ, att.WRITE) and att.first_handle(pdu) in closed:
            return [att.refusal(pdu, att.UNLIKELY)]
        return None

    phone.intercept = refuse
    daemon = await bed.daemon(phone)
    subscribed = await daemon.event("subscribed")
    check({"ancs", "ams"} <= set(subscribed["services"]), f"{subscribed['services']}")
    await check_served(daemon, phone, 1)
    daemon.none("disconnected")
