# SPDX-License-Identifier: GPL-3.0-or-later
"""A phone that errs: silent and cut answers, refused commands, answers to other questions."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cases_attributes import expect
from cases_setup import serves
from harness import check, eventually
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from handset import Handset

#: What one notification may cost at most: ANCS's time-out is this project's own.
PATIENCE = 10


async def costs_one(room: Room, daemon: Ancsd, phone: Handset, uid: int, since: Event) -> Event:
    """That a fetch without an answer costs about 10 s and that one notification, not the session."""
    began = time.monotonic()
    await phone.notifications.post(room.note(uid))
    await phone.notifications.post(room.note(uid + 1, title="the next"))
    following = await daemon.event("notification", since=since, uid=uid + 1, within=PATIENCE + 6)
    waited = time.monotonic() - began
    check(PATIENCE - 1 <= waited <= PATIENCE + 4, f"the next one came after {waited:.1f} s")
    expect(following, title="the next")
    event = await daemon.event("notification", since=since, uid=uid)
    check(event.get("error"), f"the event of the one that failed has no error: {event}")
    check(event.index < following.index, "the one that failed was told after the next")
    daemon.none("disconnected", since=since)
    return following


@case("silent-data-source", seconds=80)
async def silent(room: Room) -> None:
    """An answer that never comes costs one notification and 10 s; one that comes late is ignored."""
    daemon, phone, since = await room.served()
    phone.notifications.silent = {1}
    following = await costs_one(room, daemon, phone, 1, since)
    phone.notifications.instead = lambda command, response: (
        # The late answer to the first command goes before the answer to the third.
        [struct.pack("<BI", 0, 1) + b"\0\3\0foo", response] if command[1] == 3 else None
    )
    await phone.notifications.post(room.note(3, title="third"))
    await daemon.event("notification", since=following, uid=3)
    phone.notifications.instead = lambda _c, _r: None
    await serves(room, daemon, phone, 4)
    daemon.none("disconnected", since=since)


@case("cut-data-source", seconds=81)
async def cut(room: Room) -> None:
    """An answer that stops in its head, in a length, in a text or before its last attribute."""

    async def one(part: Room, size: int) -> None:
        daemon, phone, since = await part.served()
        phone.notifications.cut = {1: size}
        await costs_one(part, daemon, phone, 1, since)
        # The tail of the lost answer must not be taken for the beginning of another.
        phone.link.notify(phone.notifications.data.handle, b"rest of an answer")
        await serves(part, daemon, phone, 5)

    await room.every([1, 3, 5, 6, 7, 8, 20, 60, 90], one, 16, lambda size: f"after-{size}")


@case("control-point-errors")
async def control_point_errors(room: Room) -> None:
    """Each error of the Control Point costs the notification it is about, and nothing else."""
    daemon, phone, since = await room.served()
    codes = [
        0xA2,
        0xA0,
        0xA1,
        0xA3,
        0x0E,
        0x01,
        0x04,
        0x06,
        0x0D,
        0x11,
        0x13,
        0x80,
        0x9F,
        0xFC,
        0xFF,
    ]
    wrong = dict(enumerate(codes, 100))

    def refusal(command: bytes) -> int | None:
        return wrong.get(command[1]) if command[0] == 0 else None

    phone.notifications.refusal = refusal
    await phone.notifications.post_all(room.note(uid) for uid in range(100, 100 + 2 * len(codes)))
    last = 100 + 2 * len(codes) - 1
    await daemon.event("notification", since=since, uid=last, within=20)
    for uid, code in wrong.items():
        event = daemon.find("notification", since, {"uid": uid})
        # One that is gone (0xA2) may pass in silence: its removal is on its way.
        check(event or code == 0xA2, f"no event for the notification refused with 0x{code:02X}")
        if event:
            check(event.get("error"), f"no error in the event after 0x{code:02X}: {event}")
        check(phone.notifications.fetched(uid) <= 2, f"asked again and again after 0x{code:02X}")
    for uid in range(100 + len(codes), last + 1):
        expect(await daemon.event("notification", since=since, uid=uid), title="Mum")
    daemon.none("disconnected", since=since)


@case("app-name-errors")
async def app_errors(room: Room) -> None:
    """An app whose name is refused is called by its id, and the notification comes."""
    daemon, phone, since = await room.served()
    codes = [0xA2, 0xA1, 0xA0, 0x0E]
    phone.notifications.refusal = lambda c: codes[int(c[4:5])] if c[:4] == b"\1app" else None
    for number in range(len(codes)):
        await phone.notifications.post(room.note(number, app_id=f"app{number}"))
        event = await daemon.event("notification", since=since, uid=number)
        expect(event, app=f"app{number}", title="Mum")


@case("wrong-answers", seconds=82)
async def wrong_answers(room: Room) -> None:
    """Answers about another UID, of another command, out of order, too long, or to no question."""

    def head(uid: int, command: int = 0) -> bytes:
        return struct.pack("<BI", command, uid)

    def attribute(number: int, value: bytes, length: int | None = None) -> bytes:
        return struct.pack("<BH", number, len(value) if length is None else length) + value

    wrong: dict[str, Sequence[bytes]] = {
        "another-uid": [head(7) + attribute(0, b"app")],
        "another-command": [b"\1app\0" + attribute(0, b"name")],
        "unknown-command": [b"\x55" + bytes(30)],
        "wrong-order": [head(1) + attribute(3, b"message") + attribute(0, b"app")],
        "unknown-attribute": [head(1) + attribute(99, b"what")],
        "too-long": [head(1) + attribute(0, b"app") + attribute(1, b"x" * 120, 60000)]
        + [b"x" * 180] * 30,
        "garbage": [b"\xff" * 100] * 5,
    }

    async def one(part: Room, what: str) -> None:
        daemon, phone, since = await part.served()
        # When nothing was asked, first.
        for value in wrong[what]:
            phone.link.notify(phone.notifications.data.handle, value)
        await serves(part, daemon, phone, 50)
        phone.notifications.instead = lambda c, _r: wrong[what] if c[:5] == head(1) else None
        await phone.notifications.post(part.note(1))
        await phone.notifications.post(part.note(2, title="the next"))
        event = await daemon.event("notification", since=since, uid=2, within=PATIENCE + 6)
        expect(event, title="the next")
        failed = await daemon.event("notification", since=since, uid=1)
        check(failed.get("error"), f"the one with the wrong answer is told as {failed}")
        daemon.none("disconnected", since=since)

    await room.every(wrong, one, at_once=16)


@case("sharing-off", seconds=62)
async def sharing_off(room: Room) -> None:
    """0x03 from the Control Point is `authorization`, tried again quietly until it is granted."""
    phone = room.phone()
    phone.notifications.authorized = False
    await phone.notifications.post(room.note(1, title="hidden"))
    daemon = await room.ancsd(phone)
    denied = await daemon.event("authorization", granted=False)
    await daemon.event("subscribed")
    await asyncio.sleep(3)  # long enough to see whether it is hammered
    commands = len(phone.notifications.seen.commands)
    check(commands <= 8, f"{commands} commands in 3 s while sharing is off")
    said = [e for e in daemon.events if e.name == "authorization"]
    check(len(said) == 1, f"authorization was said {len(said)} times")
    failed = daemon.find("notification", 0, {"uid": 1})
    check(
        failed is None or "title" not in failed,
        f"the notification was told although reading it is not allowed: {failed}",
    )
    phone.notifications.authorized = True
    granted = await daemon.event("authorization", since=denied, granted=True, within=20)
    await daemon.event("notification", since=denied, uid=1, title="hidden", within=15)
    await serves(room, daemon, phone, 2)
    # And off again, in the middle of the session.
    phone.notifications.authorized = False
    await phone.notifications.post(room.note(3))
    await daemon.event("authorization", since=granted, granted=False)
    phone.notifications.authorized = True
    await daemon.event("notification", since=granted, uid=3, title="Mum", within=20)
    daemon.none("disconnected")


@case("authorization-granted")
async def granted(room: Room) -> None:
    """Where the phone lets us read from the start, nothing says otherwise."""
    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    daemon.none("authorization", granted=False)
    said = [e for e in daemon.events if e.name == "authorization"]
    check(len(said) <= 1, f"authorization was said {len(said)} times")


def refuse_actions(code: int | None) -> Callable[[bytes], int | None]:
    """Refuses actions with an ATT error, and takes all other commands."""
    return lambda command: code if command[0] == 2 else None


@case("actions")
async def actions(room: Room) -> None:
    """Actions reach the phone; what it refuses is an error with the ATT code and name."""
    from daemon import Refused

    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1, category=1, positive="Answer", negative="Decline"))
    await daemon.event("notification", since=since, uid=1)
    check(await daemon.call("notifications.act", uid=1, action="negative") is True, "not true")
    check(phone.notifications.seen.actions == [(1, "negative")], "the phone saw another action")
    gone = await daemon.event("notification", since=since, uid=1, change="removed")
    await phone.notifications.post(room.note(2, positive="Yes", negative="No"))
    await daemon.event("notification", since=gone, uid=2)
    for code, name in (
        (0xA3, "Action Failed"),
        (0xA2, "Invalid Parameter"),
        (0x0E, "Unlikely Error"),
    ):
        phone.notifications.refusal = refuse_actions(code)
        try:
            await daemon.call("notifications.act", uid=2, action="positive")
        except Refused as refused:
            error = refused.error
            check(error.get("data", {}).get("att") == code, f"the error is {error}")
            check(name.lower() in error.get("message", "").lower(), f"the error is {error}")
            check(error.get("code") == 1, f"the error is {error}")
        else:
            check(False, f"an action refused with 0x{code:02X} was said to be done")
    phone.notifications.refusal = refuse_actions(None)
    for uid, action in ((2, "sideways"), (999, "positive")):
        try:
            await daemon.call("notifications.act", uid=uid, action=action)
        except Refused:
            continue
        check(False, f"the action {action} on {uid} was said to be done")
    await daemon.call("notifications.act", uid=2, action="positive")
    await eventually(lambda: len(phone.notifications.seen.actions) == 2, "it was not done")
