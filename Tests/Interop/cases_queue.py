# SPDX-License-Identifier: GPL-3.0-or-later
"""Many notifications at once: their order, what changes while they wait, and what goes first."""

from __future__ import annotations

import asyncio
import time

from Harness.ancs import Notification, source_value
from Harness.case import case, check, eventually, expect
from Harness.process import Event, EventProcess
from Harness.testbed import check_served

from .testbed import Testbed


def uids(daemon: EventProcess, since: Event | int, change: str | None = None) -> list[int]:
    """The UIDs of the notification events since then, in order."""
    events = daemon.since(since, "notification")
    return [event["uid"] for event in events if change in (None, event["change"])]


async def uids_of(count: int, daemon: EventProcess, since: Event) -> list[int]:
    """Waits for so many added notifications; returns their UIDs in order."""
    await eventually(lambda: len(uids(daemon, since, "added")) >= count, f"no {count} events came", 30)
    return uids(daemon, since, "added")


@case("five-hundred", seconds=70)
async def five_hundred(bed: Testbed) -> None:
    """500 notifications at once: none lost, none twice, in the phone's order, each one whole."""
    daemon, phone, since = await bed.served()
    posted = [
        Notification(n, title=f"title {n}", message=f"message {n} " * (n % 40), category=n % 12)
        for n in range(1, 501)
    ]
    phone.ancs.post(*posted)
    order = await uids_of(500, daemon, since)
    check(order == list(range(1, 501)), f"the order is wrong: {first_fault(order)}")
    for notification, event in zip(posted, daemon.since(since, "notification"), strict=True):
        expect(event, title=notification.title, message=notification.message)
    listed = await daemon.listed("notifications")
    check(len(listed) == 500, f"notifications.list has {len(listed)}")


def first_fault(order: list[int]) -> str:
    """Where a list that should count up from 1 stops doing so."""
    for place, uid in enumerate(order, 1):
        if uid != place:
            return f"{uid} is at place {place} of {len(order)}"
    return f"{len(order)} came"


@case("five-hundred-waiting", seconds=71)
async def waiting(bed: Testbed) -> None:
    """100 new notifications go before the 500 that were there before; none is lost."""
    phone = bed.phone()
    phone.ancs.post(*(Notification(n, title=f"old {n}") for n in range(1, 501)))
    daemon = await bed.daemon(phone)
    await phone.connected()
    await phone.subscribed()
    await asyncio.sleep(0)  # the phone starts to send the old ones
    phone.ancs.post(*(Notification(n, title=f"new {n}") for n in range(1001, 1101)))
    fetched = sum(phone.ancs.fetches(n) for n in range(1, 501))
    since = await daemon.event("connected")
    order = await uids_of(600, daemon, since)
    check(len(order) == len(set(order)) == 600, f"{len(order)} events, {len(set(order))} different")
    old, new = [n for n in order if n <= 500], [n for n in order if n > 1000]
    check(old == list(range(1, 501)), "the old ones are out of order")
    check(new == list(range(1001, 1101)), "the new ones are out of order")
    # Old ones are fetched until the new ones are known, which come before every later answer; then these go first.
    before = order.index(new[-1]) + 1 - len(new)
    check(before <= fetched + 2, f"{before} old ones came before the last new one, not the {fetched} asked for till then")
    for event in daemon.since(since, "notification"):
        marked = "pre-existing" in event["flags"]
        check(marked == (event["uid"] <= 500), f"the flags of {event['uid']} are {event['flags']}")


@case("removed-while-queued")
async def removed(bed: Testbed) -> None:
    """A notification that is removed while it waits is never fetched or reported."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.02
    phone.ancs.post(*(Notification(n, title=f"number {n}") for n in range(1, 41)))
    gone = set(range(11, 41, 2))
    for uid in sorted(gone):
        phone.ancs.remove(uid)
    await daemon.event("notification", since=since, uid=40, change="added", within=15)
    fetched = [uid for uid in gone if phone.ancs.fetches(uid)]
    check(not fetched, f"{fetched} were fetched although they were gone")
    check(not uids(daemon, since, "removed"), f"removed: {uids(daemon, since, 'removed')}")
    added = uids(daemon, since, "added")
    check(added == [n for n in range(1, 41) if n not in gone], f"added: {added}")


@case("removed-while-fetched")
async def removed_fetching(bed: Testbed) -> None:
    """A notification that is removed while it is fetched is not reported."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.3
    phone.ancs.post(Notification(1))
    await eventually(lambda: phone.ancs.fetches(1), "it was not fetched")
    phone.ancs.remove(1)
    phone.ancs.post(Notification(2))
    await daemon.event("notification", since=since, uid=2)
    daemon.none("notification", since=since, uid=1)


@case("modified-while-fetched")
async def modified(bed: Testbed) -> None:
    """What changes while it is fetched is fetched again; the last event has the last contents."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.3
    phone.ancs.post(Notification(1, title="before", message="old"))
    await eventually(lambda: phone.ancs.fetches(1), "it was not fetched")
    phone.ancs.modify(1, title="after", message="new")
    await daemon.event("notification", since=since, uid=1, title="after", message="new")
    check(phone.ancs.fetches(1) == 2, f"fetched {phone.ancs.fetches(1)} times")
    phone.ancs.delay = 0
    # Ten changes in a row: whatever is reported in between, the last one must come last.
    for turn in range(10):
        phone.ancs.modify(1, title=f"change {turn}")
    await daemon.event("notification", since=since, uid=1, title="change 9")
    await check_served(daemon, phone, 2)
    titles = [e["title"] for e in daemon.events if e.get("uid") == 1 and "title" in e]
    check(titles[-1] == "change 9", f"the last event says {titles[-1]!r}")


@case("action-goes-first")
async def action_first(bed: Testbed) -> None:
    """An action does not wait behind hundreds of notifications."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.05
    phone.ancs.post(*(Notification(n, category=1, positive="Answer") for n in range(1, 201)))
    await daemon.event("notification", since=since, uid=1)
    began = time.monotonic()
    check(await daemon.call("notifications.act", uid=1, action="positive") is True, "not done")
    took = time.monotonic() - began
    check(took < 2, f"an action took {took:.1f} s behind 200 notifications")
    check(phone.ancs.actions == [(1, "positive")], "the phone saw another action")
    phone.ancs.delay = 0
    await daemon.event("notification", since=since, uid=200, change="added", within=15)


@case("one-at-a-time")
async def one_at_a_time(bed: Testbed) -> None:
    """No command is sent before the response to the one before is complete."""
    daemon, phone, since = await bed.served()
    in_progress = 0
    overlaps = 0

    def accepted(command: bytes) -> None:
        nonlocal in_progress, overlaps
        if command[0] < 2:
            overlaps += in_progress
            in_progress += 1

    def respond_late(_command: bytes, response: bytes) -> list[bytes]:
        async def send() -> None:
            nonlocal in_progress
            await asyncio.sleep(0.01)
            in_progress -= 1
            for at in range(0, len(response), 20):
                phone.link.notify(phone.ancs.data.handle, response[at : at + 20])

        bed.spawn(send())
        return []

    phone.ancs.on_accepted = accepted
    phone.ancs.override = respond_late
    calls = [daemon.call("notifications.get", uid=n, attributes=["title"]) for n in (1, 2)]
    phone.ancs.post(*(Notification(n, app_id=f"app.{n}") for n in range(1, 31)))
    await asyncio.gather(*calls, return_exceptions=True)
    await daemon.event("notification", since=since, uid=30, within=15)
    check(overlaps == 0, f"{overlaps} commands were sent during a response")


@case("repeat")
async def repeat(bed: Testbed) -> None:
    """After a reconnection, known notifications are marked `repeat`, under another UID too."""
    daemon, phone, since = await bed.served()
    for uid in (1, 2, 3):
        phone.ancs.post(Notification(uid, title=f"number {uid}"))
        event = await daemon.event("notification", since=since, uid=uid)
        check(not event.get("repeat"), f"{uid} is marked as a repetition the first time")
    phone.disconnect()
    notifications = phone.ancs.notifications
    notifications[33] = Notification(33, title="number 3")  # UIDs hold for one session only
    del notifications[3]
    notifications[2] = Notification(2, title="another")  # so the same UID may be another notification
    since = await daemon.event("disconnected", since=since)
    wanted = {1: ("number 1", True), 33: ("number 3", True), 2: ("another", False)}
    for uid, (title, repeated) in wanted.items():
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, title=title)
        check(bool(event.get("repeat")) == repeated, f"repeat of {title!r}: {event.get('repeat')}")
    listed = sorted(n["uid"] for n in await daemon.listed("notifications"))
    check(listed == [1, 2, 33], f"the list of the new session has {listed}")


@case("lost-in-between")
async def lost(bed: Testbed) -> None:
    """The link is lost with a hundred in the queue: the next session reports them all."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.05
    phone.ancs.post(*(Notification(n, title=f"number {n}") for n in range(1, 101)))
    await daemon.event("notification", since=since, uid=3)
    phone.disconnect()
    phone.ancs.delay = 0
    again = await daemon.event("subscribed", since=since)
    await daemon.event("notification", since=again, uid=100, within=15)
    later = uids(daemon, again, "added")
    check(later == list(range(1, 101)), f"after the reconnection: {first_fault(later)}")
    gone = await daemon.event("disconnected", since=since)
    stray = [e for e in daemon.events[gone.index : again.index] if e.name == "notification"]
    check(not stray, f"a notification was reported without a link: {stray[:1]}")


@case("uid-used-twice")
async def uid_twice(bed: Testbed) -> None:
    """A UID that is removed and added again at once is reported with its new contents."""
    daemon, phone, since = await bed.served()
    phone.ancs.delay = 0.1
    for turn in range(3):
        phone.ancs.post(Notification(1, title=f"turn {turn}"))
        if turn < 2:
            phone.ancs.remove(1)
    await daemon.event("notification", since=since, uid=1, change="added", title="turn 2")
    await asyncio.sleep(0.3)  # no event may follow, so there is nothing to wait for
    last = [e for e in daemon.events[since.index :] if e.get("uid") == 1][-1]
    check(last["title"] == "turn 2", f"the last event is {last}")
    listed = await daemon.listed("notifications")
    check([n["title"] for n in listed] == ["turn 2"], f"the list is {listed}")
    # An addition that is repeated without a removal is no second notification.
    phone.link.notify(phone.ancs.source.handle, source_value(0, 0, 4, 1, 1))
    await check_served(daemon, phone, 2)
    listed = await daemon.listed("notifications")
    check(sorted(n["uid"] for n in listed) == [1, 2], f"the list is {listed}")
