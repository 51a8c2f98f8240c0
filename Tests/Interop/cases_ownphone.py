# SPDX-License-Identifier: GPL-3.0-or-later
"""Daemon and `ancsd phone` as processes, and the phone that is built in: both ends are ours here, so
what counts is that each holds the other to the rules, and that the tool does what its script says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import check
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from ownphone import OwnPhone


async def pair(room: Room, *options: str) -> tuple[Ancsd, OwnPhone, Event]:
    """A daemon that serves the phone, subscribed."""
    from ownphone import OwnPhone

    phone = await OwnPhone(room, *options).start()
    daemon = await room.ancsd(phone)  # type: ignore[arg-type]
    return daemon, phone, await daemon.event("subscribed")


def uids(daemon: Ancsd, since: int | Event) -> list[int]:
    start = since if isinstance(since, int) else since.index
    return [e["uid"] for e in daemon.events[start:] if e.name == "notification"]


@case("own-phone-burst")
async def burst(room: Room) -> None:
    """`ancsd phone`: 500 notifications at once, in fragments of every size, in order, none lost."""
    daemon, phone, subscribed = await pair(room)
    check(subscribed["mtu"] == 185, f"the MTU is {subscribed['mtu']}")
    first = 1
    for size in (None, 1, 20, 181):
        since = daemon.now
        await phone.do("fragments", size=size)
        await phone.do("burst", count=500, title="n", message="Saturday? \U0001f370")
        await daemon.event("notification", since=since, within=30, uid=first + 499)
        wanted = list(range(first, first + 500))
        check(uids(daemon, since) == wanted, "the notifications came in another order, or not all")
        first += 500
    phone.content()


@case("own-phone-services", seconds=90)
async def services(room: Room) -> None:
    """`ancsd phone`: ANCS and AMS go and come back, where they were and elsewhere, in the middle of all."""
    daemon, phone, _ = await pair(room)
    for round in range(12):
        since = daemon.now
        handles = "fresh" if round % 2 else "same"
        await phone.do("burst", count=20, title="n")
        await phone.do("unpublish", service="ancs" if round % 3 else "ams")
        await phone.do("add", title=f"round {round}")
        await phone.do("publish", service="ancs" if round % 3 else "ams", handles=handles)
        event = await daemon.event("notification", since=since, title=f"round {round}")
        check("error" not in event, f"a notification failed: {event}")
        await phone.do("media", track={"title": f"title {round}"})
        await daemon.event_where(
            "media", lambda e, n=round: e["track"]["title"] == f"title {n}", since=since,
            wanted=f"the title of round {round}",
        )  # fmt: skip
        await phone.do("remove-all")
        await daemon.settled("notification", quiet=0.1)


@case("own-phone-reconnect", seconds=180)
async def reconnecting(room: Room) -> None:
    """`ancsd phone`: twenty connections, each with what was there, as pre-existing and repeated."""
    daemon, phone, subscribed = await pair(room)
    for title in ("one", "two", "three"):
        await phone.do("add", title=title)
    await daemon.event("notification", title="three")
    for _ in range(20):
        since = daemon.now
        await phone.do("disconnect")
        await daemon.event("disconnected", since=since)
        subscribed = await daemon.event("subscribed", since=since, within=40)
        last = await daemon.event("notification", since=since, title="three")
        check(last["repeat"] is True, "a notification that came before is not marked as repeated")
        check("pre-existing" in last["flags"], "a notification of before is not pre-existing")
        check(uids(daemon, since) == [1, 2, 3], f"instead of three came {uids(daemon, since)}")
        check(subscribed["requests"] <= 20, f"{subscribed['requests']} requests until subscribed")
    phone.content()


@case("own-phone-faults", seconds=120)
async def faults(room: Room) -> None:
    """`ancsd phone`: silence, cut answers, refusals, sharing that is off, a phone that freezes."""
    daemon, phone, _ = await pair(room)
    await phone.do("fail", code="0xA2", count=1)
    await phone.do("add", title="refused")
    event = await daemon.event("notification", uid=1)
    check(event.get("error") == "Invalid Parameter", f"instead of the phone's error: {event}")
    await phone.do("silence")
    await phone.do("add", title="silent")
    await phone.do("cut")
    await phone.do("add", title="cut")
    await phone.do("add", title="whole")
    event = await daemon.event("notification", uid=4, within=30)
    check(event["title"] == "whole", "what came behind the failures is not whole")
    check("error" in (await daemon.event("notification", uid=2)), "silence made no error")
    check("error" in (await daemon.event("notification", uid=3)), "a cut answer made no error")

    since = daemon.now
    await phone.do("authorize", granted=False)
    await phone.do("disconnect")
    await daemon.event("authorization", since=since, granted=False, within=40)
    await phone.do("authorize", granted=True)
    await daemon.event("authorization", since=since, granted=True, within=70)
    await daemon.event("notification", since=since, uid=4, title="whole")
    phone.content()

    since = daemon.now
    await phone.do("freeze", frozen=True)
    await phone.do("notify", characteristic="notification-source", value="0000040109000000")
    await daemon.event("disconnected", since=since, within=40)
    await phone.do("freeze", frozen=False)
    await daemon.event("subscribed", since=since, within=40)


@case("own-phone-actions")
async def actions(room: Room) -> None:
    """`ancsd phone`: a call is declined, music is skipped, and the phone reads the board's name."""
    daemon, phone, _ = await pair(room)
    await phone.do(
        "add", uid=7, category="incoming-call", app_id="com.apple.mobilephone", title="Ada",
        positive="Answer", negative="Decline",
    )  # fmt: skip
    await daemon.event("notification", uid=7, date=None)
    await daemon.call("notifications.act", uid=7, action="negative")
    await phone.event("action", uid=7, action="negative")
    await daemon.event("notification", change="removed", uid=7)
    await daemon.event("notification", category="missed-call", title="Ada")
    await phone.do(
        "media", player={"state": "playing"}, playlist=[{"title": "one"}, {"title": "é" * 200}]
    )
    await daemon.call("media.command", command="next")
    await phone.event_where(
        "remote-command", lambda e: e["name"] == "next", since=0, wanted="the name next"
    )
    await daemon.event_where(
        "media", lambda e: e["track"]["title"] == "é" * 200, since=0, wanted="the whole title"
    )
    await phone.do("battery", level=12)
    await daemon.event("battery", level=12)
    await phone.do("read", uuid="2A00")
    await phone.event("read", value="board".encode().hex())
    phone.content()


@case("virtual-phone")
async def virtual_phone(room: Room) -> None:
    """`run --virtual-phone --once`: every category, a call, a cut message, media, and then the end."""
    from daemon import Ancsd

    daemon = Ancsd(
        room.binary, room.out,
        ["run", "--virtual-phone", "--once", "--state-dir", str(room.state), "--format", "json",
         "--socket", str(room.work / "control")],
        room.work / "control",
    )  # fmt: skip
    room.daemons.append(daemon)
    await daemon.start()
    status = await daemon.ended(within=40)
    check(status == 0, f"it ended with {status}")
    events = [e for e in daemon.events if e.name == "notification"]
    check(all("error" not in e for e in events), "a notification could not be fetched")
    categories = {e["category"] for e in events if e["change"] != "removed"}
    check(len(categories) == 12, f"of the categories there are only {sorted(categories)}")
    check({e["change"] for e in events} == {"added", "modified", "removed"}, "not every change")
    check(any(e.get("truncated") == ["message"] for e in events), "no message was cut")
    check(all("\ufffd" not in str(dict(e)) for e in events), "a character is broken")
    titles = {e["track"]["title"] for e in daemon.events if e.name == "media"}
    check(len(titles) >= 3, f"the titles were {titles}")
