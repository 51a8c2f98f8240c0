# SPDX-License-Identifier: GPL-3.0-or-later
"""Many notifications at once: order, what changes while it waits, and who may go first."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from cases_attributes import expect
from cases_setup import serves
from harness import check, eventually
from pdus import raw_event
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd, Event


def uids(daemon: Ancsd, since: Event, change: str = "added") -> list[int]:
    """The UIDs of the notification events since then, in order."""
    events = daemon.events[since.index + 1 :]
    return [e["uid"] for e in events if e.name == "notification" and e["change"] == change]


@case("five-hundred", seconds=70)
async def five_hundred(room: Room) -> None:
    """500 notifications at once: none lost, none twice, in the phone's order, each whole."""
    daemon, phone, since = await room.served()
    notes = [
        room.note(n, title=f"title {n}", message=f"message {n} " * (n % 40), category=n % 12)
        for n in range(1, 501)
    ]
    await phone.notifications.post_all(notes)
    await eventually(lambda: len(uids(daemon, since)) >= 500, "500 events did not come", 30)
    order = uids(daemon, since)
    check(order == [note.uid for note in notes], f"the order is wrong: {first_fault(order)}")
    events = [e for e in daemon.events[since.index + 1 :] if e.name == "notification"]
    for note, event in zip(notes, events, strict=True):
        expect(event, title=note.title, message=note.message)
    listed = await daemon.call("notifications.list")
    check(len(listed) == 500, f"notifications.list has {len(listed)}")


def first_fault(order: list[int]) -> str:
    """The first place where a list that should count up does not."""
    for place, uid in enumerate(order, 1):
        if uid != place:
            return f"{uid} is at place {place} of {len(order)}"
    return f"{len(order)} came"


@case("five-hundred-waiting", seconds=71)
async def waiting(room: Room) -> None:
    """500 wait at the phone, 100 new ones come meanwhile: the new ones first, none lost."""
    phone = room.phone()
    old = [room.note(n, title=f"old {n}") for n in range(1, 501)]
    await phone.notifications.post_all(old)
    daemon = await room.ancsd(phone)
    await phone.connected()
    await phone.notifies()
    await asyncio.sleep(0)  # the phone begins with what waits
    new = [room.note(n, title=f"new {n}") for n in range(1001, 1101)]
    await phone.notifications.post_all(new)
    since = await daemon.event("connected")
    await eventually(lambda: len(uids(daemon, since)) >= 600, "600 events did not come", 30)
    order = uids(daemon, since)
    check(len(order) == len(set(order)) == 600, f"{len(order)} events, {len(set(order))} different")
    check([n for n in order if n <= 500] == list(range(1, 501)), "the old ones are out of order")
    check(
        [n for n in order if n > 1000] == list(range(1001, 1101)), "the new ones are out of order"
    )
    # A few old ones may be told before the first new one is known; afterwards none goes before one.
    places = [place for place, uid in enumerate(order) if uid > 1000]
    before = places[-1] + 1 - len(places)
    check(before <= 25, f"{before} old ones came before the last of the new ones")
    for event in daemon.events[since.index + 1 :]:
        if event.name == "notification":
            check(
                ("pre-existing" in event["flags"]) == (event["uid"] <= 500),
                f"the flags of {event['uid']} are {event['flags']}",
            )


@case("removed-while-queued")
async def removed(room: Room) -> None:
    """What is removed while it waits is told as removed, and never fetched."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.02
    notes = [room.note(n, title=f"number {n}") for n in range(1, 41)]
    await phone.notifications.post_all(notes)
    for uid in range(11, 41, 2):
        await phone.notifications.remove(uid)
    await daemon.event("notification", since=since, uid=40, change="added", within=15)
    gone = set(range(11, 41, 2))
    fetched = [uid for uid in gone if phone.notifications.fetched(uid)]
    check(not fetched, f"{fetched} were fetched although they were gone")
    check(set(uids(daemon, since, "removed")) == gone, f"removed: {uids(daemon, since, 'removed')}")
    added = uids(daemon, since)
    check(added == [n for n in range(1, 41) if n not in gone], f"added: {added}")


@case("removed-while-fetched")
async def removed_fetching(room: Room) -> None:
    """What is removed while it is fetched is not told as there after it was told as gone."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.3
    await phone.notifications.post(room.note(1))
    await eventually(lambda: phone.notifications.fetched(1), "it was not fetched")
    await phone.notifications.remove(1)
    gone = await daemon.event("notification", since=since, uid=1, change="removed")
    await phone.notifications.post(room.note(2))
    await daemon.event("notification", since=since, uid=2)
    daemon.none("notification", since=gone, uid=1)


@case("modified-while-fetched")
async def modified(room: Room) -> None:
    """What changes while it is fetched is fetched again; the last event has what is there now."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.3
    await phone.notifications.post(room.note(1, title="before", message="old"))
    await eventually(lambda: phone.notifications.fetched(1), "it was not fetched")
    await phone.notifications.modify(1, title="after", message="new")
    await daemon.event("notification", since=since, uid=1, title="after", message="new")
    check(phone.notifications.fetched(1) == 2, f"fetched {phone.notifications.fetched(1)} times")
    phone.notifications.delay = 0
    # Ten changes in a row: the last one wins, whatever was told between.
    for turn in range(10):
        await phone.notifications.modify(1, title=f"change {turn}")
    await daemon.event("notification", since=since, uid=1, title="change 9")
    await serves(room, daemon, phone, 2)
    told = [e["title"] for e in daemon.events if e.get("uid") == 1 and "title" in e]
    check(told[-1] == "change 9", f"the last event says {told[-1]!r}")


@case("action-goes-first")
async def action_first(room: Room) -> None:
    """An action does not wait behind hundreds of notifications."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.05
    await phone.notifications.post_all(
        room.note(n, category=1, positive="Answer") for n in range(1, 201)
    )
    await daemon.event("notification", since=since, uid=1)
    began = time.monotonic()
    check(await daemon.call("notifications.act", uid=1, action="positive") is True, "not done")
    took = time.monotonic() - began
    check(took < 2, f"an action took {took:.1f} s behind 200 notifications")
    check(phone.notifications.seen.actions == [(1, "positive")], "the phone saw another action")
    phone.notifications.delay = 0
    await daemon.event("notification", since=since, uid=200, change="added", within=15)


@case("one-at-a-time")
async def one_at_a_time(room: Room) -> None:
    """No command is sent before the answer to the one before is whole."""
    daemon, phone, since = await room.served()
    open_answers = 0
    overlaps = 0

    def accepted(command: bytes) -> None:
        nonlocal open_answers, overlaps
        if command[0] < 2:
            overlaps += open_answers
            open_answers += 1

    def late(_command: bytes, response: bytes) -> list[bytes]:
        async def send() -> None:
            nonlocal open_answers
            await asyncio.sleep(0.01)
            open_answers -= 1
            for at in range(0, len(response), 20):
                phone.link.notify(phone.notifications.data.handle, response[at : at + 20])

        room.spawn(send())
        return []

    phone.notifications.on_accepted = accepted
    phone.notifications.instead = late
    calls = [daemon.call("notifications.get", uid=n, attributes=["title"]) for n in (1, 2)]
    await phone.notifications.post_all(room.note(n, app_id=f"app.{n}") for n in range(1, 31))
    await asyncio.gather(*calls, return_exceptions=True)
    await daemon.event("notification", since=since, uid=30, within=15)
    check(overlaps == 0, f"{overlaps} commands were sent while an answer was under way")


@case("repeat")
async def repeat(room: Room) -> None:
    """After a reconnection what was told before is marked `repeat`, under another UID too."""
    daemon, phone, since = await room.served()
    for uid in (1, 2, 3):
        await phone.notifications.post(room.note(uid, title=f"number {uid}"))
        event = await daemon.event("notification", since=since, uid=uid)
        check(not event.get("repeat"), f"{uid} is marked as a repetition at first")
    phone.hang_up()
    notes = phone.notifications.notes
    notes[33] = room.note(33, title="number 3")  # UIDs hold for one session only
    del notes[3]
    notes[2] = room.note(2, title="another")  # so the same UID may be another notification
    since = await daemon.event("disconnected", since=since)
    wanted = {1: ("number 1", True), 33: ("number 3", True), 2: ("another", False)}
    for uid, (title, repeated) in wanted.items():
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, title=title)
        check(bool(event.get("repeat")) == repeated, f"repeat of {title!r}: {event.get('repeat')}")
    listed = await daemon.call("notifications.list")
    check(
        sorted(n["uid"] for n in listed) == [1, 2, 33],
        f"the list of the new session has {sorted(n['uid'] for n in listed)}",
    )


@case("lost-in-between")
async def lost(room: Room) -> None:
    """The link is lost with a hundred in the queue: the next session brings them all."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.05
    await phone.notifications.post_all(room.note(n, title=f"number {n}") for n in range(1, 101))
    await daemon.event("notification", since=since, uid=3)
    phone.hang_up()
    phone.notifications.delay = 0
    again = await daemon.event("subscribed", since=since)
    await daemon.event("notification", since=again, uid=100, within=15)
    later = uids(daemon, again)
    check(later == list(range(1, 101)), f"after the reconnection: {first_fault(later)}")
    between = daemon.events[daemon.find("disconnected", since, {}).index : again.index]  # type: ignore[union-attr]
    stray = [e for e in between if e.name == "notification"]
    check(not stray, f"a notification was told without a link: {stray[:1]}")


@case("uid-used-twice")
async def uid_twice(room: Room) -> None:
    """A UID that is removed and added again at once is told with what it means now."""
    daemon, phone, since = await room.served()
    phone.notifications.delay = 0.1
    for turn in range(3):
        await phone.notifications.post(room.note(1, title=f"turn {turn}"))
        if turn < 2:
            await phone.notifications.remove(1)
    await daemon.event("notification", since=since, uid=1, change="added", title="turn 2")
    await asyncio.sleep(0.3)  # nothing may come after it: there is no event for that
    events: list[Any] = [e for e in daemon.events[since.index :] if e.get("uid") == 1]
    check(events[-1]["title"] == "turn 2", f"the last event is {events[-1]}")
    listed = await daemon.call("notifications.list")
    check([n["title"] for n in listed] == ["turn 2"], f"the list is {listed}")
    # An addition that is repeated without a removal is no second notification.
    phone.link.notify(phone.notifications.source.handle, raw_event(0, 0, 4, 1, 1))
    await serves(room, daemon, phone, 2)
    listed = await daemon.call("notifications.list")
    check(sorted(n["uid"] for n in listed) == [1, 2], f"the list is {listed}")
