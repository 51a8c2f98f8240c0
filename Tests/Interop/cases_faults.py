# SPDX-License-Identifier: GPL-3.0-or-later
"""A faulty phone: silent and cut responses, refused commands, responses to other commands."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Sequence

from Harness.ancs import Notification
from Harness.case import case, check, eventually, expect
from Harness.process import Daemon, Event
from Harness.testbed import check_served

from .peers import Phone
from .testbed import Testbed

#: Seconds that one notification may cost at most: the daemon's time-out for a response.
TIME_OUT = 10


async def costs_one(daemon: Daemon, phone: Phone, uid: int, since: Event) -> Event:
    """Checks that a missing response costs about 10 s and one notification, not the session."""
    began = time.monotonic()
    phone.ancs.post(Notification(uid), Notification(uid + 1, title="the next"))
    following = await daemon.event("notification", since=since, uid=uid + 1, within=TIME_OUT + 6)
    waited = time.monotonic() - began
    check(TIME_OUT - 1 <= waited <= TIME_OUT + 4, f"the next one came after {waited:.1f} s")
    expect(following, title="the next")
    event = await daemon.event("notification", since=since, uid=uid)
    check(event.get("error"), f"the event of the failed one has no error: {event}")
    check(event.index < following.index, "the failed one came after the next")
    daemon.none("disconnected", since=since)
    return following


@case("silent-data-source", seconds=80)
async def silent(bed: Testbed) -> None:
    """A missing response costs one notification and 10 s; a late one is ignored."""
    daemon, phone, since = await bed.served()
    phone.ancs.silent = {1}
    following = await costs_one(daemon, phone, 1, since)
    phone.ancs.override = lambda command, response: (
        # The late response to the first command comes before the response to the third.
        [struct.pack("<BI", 0, 1) + b"\0\3\0foo", response] if command[1] == 3 else None
    )
    phone.ancs.post(Notification(3, title="third"))
    await daemon.event("notification", since=following, uid=3)
    phone.ancs.override = lambda _c, _r: None
    await check_served(daemon, phone, 4)
    daemon.none("disconnected", since=since)


@case("cut-data-source", seconds=81)
async def cut(bed: Testbed) -> None:
    """A response that ends in its header, in a length, in a text or before its last attribute."""

    async def one(part: Testbed, size: int) -> None:
        daemon, phone, since = await part.served()
        phone.ancs.cut = {1: size}
        await costs_one(daemon, phone, 1, since)
        # The rest of the lost response must not be taken for the start of another.
        phone.link.notify(phone.ancs.data.handle, b"rest of an answer")
        await check_served(daemon, phone, 5)

    await bed.every([1, 3, 5, 6, 7, 8, 20, 60, 90], one, 16, lambda size: f"after-{size}")


@case("control-point-errors")
async def control_point_errors(bed: Testbed) -> None:
    """Each error of the Control Point costs the notification it is about, and nothing else. (0x01 and 0x12
    say that the session is dead.)"""
    daemon, phone, since = await bed.served()
    codes = [0xA2, 0xA0, 0xA1, 0xA3, 0x0E, 0x04, 0x06, 0x0D, 0x11, 0x13, 0x80, 0x9F, 0xFC, 0xFF]
    wrong = dict(enumerate(codes, 100))
    last = 100 + 2 * len(codes) - 1
    phone.ancs.refusal = lambda command: wrong.get(command[1]) if command[0] == 0 else None
    phone.ancs.post(*map(Notification, range(100, last + 1)))
    await daemon.event("notification", since=since, uid=last, within=20)
    for uid, code in wrong.items():
        # After 0xA2 there need not be an event: the notification is gone, and its removal will follow.
        if code != 0xA2:
            # What may be transient is requested once more, after all others.
            event = await daemon.event("notification", since=since, uid=uid)
            check(event.get("error"), f"no error in the event after 0x{code:02X}: {event}")
        check(phone.ancs.fetches(uid) <= 2, f"asked again and again after 0x{code:02X}")
    for uid in range(100 + len(codes), last + 1):
        expect(await daemon.event("notification", since=since, uid=uid), title="Mum")
    daemon.none("disconnected", since=since)


@case("app-name-errors")
async def app_errors(bed: Testbed) -> None:
    """An app whose name is refused is shown by its id, and the notification arrives."""
    daemon, phone, since = await bed.served()
    codes = [0xA2, 0xA1, 0xA0, 0x0E]
    phone.ancs.refusal = lambda c: codes[int(c[4:5])] if c[:4] == b"\1app" else None
    for number in range(len(codes)):
        phone.ancs.post(Notification(number, app_id=f"app{number}"))
        event = await daemon.event("notification", since=since, uid=number)
        expect(event, app=f"app{number}", title="Mum")


@case("wrong-answers", seconds=82)
async def wrong_answers(bed: Testbed) -> None:
    """Responses about another UID, to another command, out of order, too long, or to nothing."""

    def head(uid: int, command: int = 0) -> bytes:
        return struct.pack("<BI", command, uid)

    def attribute(number: int, value: bytes, length: int | None = None) -> bytes:
        return struct.pack("<BH", number, len(value) if length is None else length) + value

    too_long = head(1) + attribute(0, b"app") + attribute(1, b"x" * 120, length=60000)
    wrong: dict[str, Sequence[bytes]] = {
        "another-uid": [head(7) + attribute(0, b"app")],
        "another-command": [b"\1app\0" + attribute(0, b"name")],
        "unknown-command": [b"\x55" + bytes(30)],
        "wrong-order": [head(1) + attribute(3, b"message") + attribute(0, b"app")],
        "unknown-attribute": [head(1) + attribute(99, b"what")],
        "too-long": [too_long] + [b"x" * 180] * 30,
        "garbage": [b"\xff" * 100] * 5,
    }

    async def one(part: Testbed, what: str) -> None:
        daemon, phone, since = await part.served()
        # First while there is no command.
        for value in wrong[what]:
            phone.link.notify(phone.ancs.data.handle, value)
        await check_served(daemon, phone, 50)
        phone.ancs.override = lambda c, _r: wrong[what] if c[:5] == head(1) else None
        phone.ancs.post(Notification(1), Notification(2, title="the next"))
        event = await daemon.event("notification", since=since, uid=2, within=TIME_OUT + 6)
        expect(event, title="the next")
        failed = await daemon.event("notification", since=since, uid=1)
        check(failed.get("error"), f"the event of the one with the wrong response is {failed}")
        daemon.none("disconnected", since=since)

    await bed.every(wrong, one, at_once=16)


@case("sharing-off", seconds=62)
async def sharing_off(bed: Testbed) -> None:
    """0x03 from the Control Point becomes `authorization`; the daemon keeps trying, now and then."""
    phone = bed.phone()
    phone.ancs.authorized = False
    phone.ancs.post(Notification(1, title="hidden"))
    daemon = await bed.daemon(phone)
    denied = await daemon.event("authorization", granted=False)
    await daemon.event("subscribed")
    await asyncio.sleep(3)  # long enough to see how often it tries
    commands = len(phone.ancs.commands)
    check(commands <= 8, f"{commands} commands in 3 s while sharing is off")
    said = list(daemon.since(0, "authorization"))
    check(len(said) == 1, f"there are {len(said)} authorization events")
    failed = daemon.find("notification", uid=1)
    check(failed is None or "title" not in failed, f"a notification that may not be read: {failed}")
    phone.ancs.authorized = True
    granted = await daemon.event("authorization", since=denied, granted=True, within=20)
    await daemon.event("notification", since=denied, uid=1, title="hidden", within=15)
    await check_served(daemon, phone, 2)
    # And off again, during the session.
    phone.ancs.authorized = False
    phone.ancs.post(Notification(3))
    await daemon.event("authorization", since=granted, granted=False)
    phone.ancs.authorized = True
    await daemon.event("notification", since=granted, uid=3, title="Mum", within=20)
    daemon.none("disconnected")


@case("authorization-granted")
async def granted(bed: Testbed) -> None:
    """Where notifications can be read from the start, no event says otherwise."""
    daemon, phone, _ = await bed.served()
    await check_served(daemon, phone, 1)
    daemon.none("authorization", granted=False)
    said = list(daemon.since(0, "authorization"))
    check(len(said) <= 1, f"there are {len(said)} authorization events")


def refuse_actions(code: int | None) -> Callable[[bytes], int | None]:
    """Refuses actions with an ATT error, and accepts all other commands."""
    return lambda command: code if command[0] == 2 else None


@case("actions")
async def actions(bed: Testbed) -> None:
    """Actions reach the phone; what it refuses is an error with the ATT code and name."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(1, category=1, positive="Answer", negative="Decline"))
    await daemon.event("notification", since=since, uid=1)
    check(await daemon.call("notifications.act", uid=1, action="negative") is True, "not true")
    check(phone.ancs.actions == [(1, "negative")], "the phone saw another action")
    gone = await daemon.event("notification", since=since, uid=1, change="removed")
    phone.ancs.post(Notification(2, positive="Yes", negative="No"))
    await daemon.event("notification", since=gone, uid=2)
    names = {0xA3: "Action Failed", 0xA2: "Invalid Parameter", 0x0E: "Unlikely Error"}
    for code, name in names.items():
        phone.ancs.refusal = refuse_actions(code)
        error = await daemon.refused("notifications.act", uid=2, action="positive")
        check(error.get("data", {}).get("att") == code, f"the error is {error}")
        check(name.lower() in error.get("message", "").lower(), f"the error is {error}")
        check(error.get("code") == 1, f"the error is {error}")
    phone.ancs.refusal = refuse_actions(None)
    for uid, action in ((2, "sideways"), (999, "positive")):
        await daemon.refused("notifications.act", uid=uid, action=action)
    await daemon.call("notifications.act", uid=2, action="positive")
    await eventually(lambda: len(phone.ancs.actions) == 2, "the action was not performed")
