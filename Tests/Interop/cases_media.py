# SPDX-License-Identifier: GPL-3.0-or-later
"""What the phone's player tells."""

from __future__ import annotations

from Harness.ams import ALBUM, COMMANDS, COUNT, DURATION, PLAYER, QUEUE, REPEAT, SHUFFLE, TRACK, VOLUME
from Harness.case import case, check, expect

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
