# SPDX-License-Identifier: GPL-3.0-or-later
"""Media both ways, and a battery and a clock that can't be read."""

from __future__ import annotations

from Harness import att
from Harness.ams import ALBUM, COMMANDS, COUNT, DURATION, PLAYER, QUEUE, REPEAT, SHUFFLE, TITLE, TRACK, VOLUME
from Harness.case import case, check, expect
from Harness.testbed import check_served

from .link import Link
from .testbed import Testbed


@case("media-state")
async def state(bed: Testbed) -> None:
    """All eleven attributes, from the start and as they change; absent ones are null."""
    daemon, phone, _ = await bed.served()
    event = await daemon.event("media", where=lambda e: e["track"]["title"] == "Sinnerman", wanted="the first track")
    whole = await daemon.answer("media.get", lambda s: s["queue"]["repeat"] is not None, "all values")
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
    event = await daemon.event("media", where=lambda e: e["player"]["volume"] == 0.0625, wanted="the new volume", since=event)
    check("changed" in event, f"the event has no `changed`: {event}")
    whole = await daemon.answer("media.get", lambda s: s["queue"]["shuffle"] == "all", "shuffle")
    check(whole["queue"]["repeat"] == "one", f"queue is {whole['queue']}")
    # Empty means unknown: null.
    phone.ams.set({(TRACK, ALBUM): "", (TRACK, DURATION): "", (PLAYER, VOLUME): "", (QUEUE, COUNT): ""})
    whole = await daemon.answer("media.get", lambda s: s["track"]["duration"] is None, "no duration")
    await daemon.answer("media.get", lambda s: s["player"]["volume"] is None and s["queue"]["count"] is None, "nulls")
    check(whole["track"]["album"] in (None, ""), f"track is {whole['track']}")


@case("media-truncated")
async def truncated(bed: Testbed) -> None:
    """Values longer than a PDU are read whole before the event."""
    daemon, phone, _ = await bed.served(mtu=23)
    await daemon.event("media", where=lambda e: e["track"]["title"] == "Sinnerman", wanted="the first track")
    # Lengths around those of an update and of a read, where the end is easily missed.
    for length in (17, 18, 22, 23, 44, 45, 400):
        title = ("Être ou ne pas être 🎭 " * 40).encode()[:length].decode(errors="ignore")
        title = title.ljust(length - len(title.encode()) + len(title), "!")
        since = daemon.now
        phone.ams.set({(TRACK, TITLE): title})
        event = await daemon.event("media", where=lambda e: "track.title" in e["changed"], wanted=f"{length} bytes", since=since)
        check(event["track"]["title"] == title, f"the title is {event['track']['title']!r}")


@case("media-commands")
async def commands(bed: Testbed) -> None:
    """All fourteen commands reach the phone; its refusal is an error."""
    daemon, phone, _ = await bed.served()
    await daemon.answer("media.get", lambda s: len(s["commands"]) == 14, "the commands")
    for command in COMMANDS:
        check(await daemon.call("media.command", command=command) is True, f"{command}: not true")
    seen = phone.ams.remote_commands
    check(seen == COMMANDS, f"the phone saw {seen}")
    await daemon.refused("media.command", command="sing")
    phone.ams.refusal = lambda _: 0xA0
    error = await daemon.refused("media.command", command="play")
    check(error.get("data", {}).get("att") == 0xA0, f"the error is {error}")


@case("no-companions")
async def companions(bed: Testbed) -> None:
    """Battery and clock that are not there, or can't be read, cost nothing else."""

    async def one(part: Testbed, what: str) -> None:
        phone = part.phone()
        services = phone.services
        values = (services.battery.handle, services.time.handle)
        closed = {handle + at for handle in values for at in (0, 1)}  # the value and its descriptor

        def refuse(_link: Link, pdu: bytes) -> list[bytes] | None:
            if pdu[0] in (att.READ, att.WRITE) and att.first_handle(pdu) in closed:
                return [att.refusal(pdu, att.UNLIKELY)]
            return None

        if what == "missing":
            await phone.server.unpublish(services.battery_service)
            await phone.server.unpublish(services.time_service)
        else:
            phone.intercept = refuse
        daemon = await part.daemon(phone)
        subscribed = await daemon.event("subscribed")
        found = set(subscribed["services"]) - (set() if what == "missing" else {"battery", "time"})
        check(found == {"ancs", "ams"}, f"{subscribed['services']}")
        await check_served(daemon, phone, 1)
        daemon.none("disconnected")

    await bed.every(["missing", "refused"], one)
