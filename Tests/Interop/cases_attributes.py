# SPDX-License-Identifier: GPL-3.0-or-later
"""What a notification's event carries: every attribute, category and flag, in whatever pieces."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

from cases_setup import serves
from harness import check
from room import Room, case

if TYPE_CHECKING:
    from daemon import Event

CATEGORIES = (
    "other incoming-call missed-call voicemail social schedule email news "
    "health-and-fitness business-and-finance location entertainment"
).split()
FLAGS = "silent important pre-existing positive-action negative-action".split()
KEYS = (
    "event seq time adapter phone change uid category category_count flags app_id app title subtitle "
    "message message_size date positive negative truncated repeat error"
).split()


def expect(event: Event, **fields: Any) -> None:
    """That the event has these fields; None stands for JSON's null, which must be there."""
    for key, value in fields.items():
        found = event.get(key, "absent")
        check(found == value, f"{key} of {event.get('uid')} is {found!r}, not {value!r}")


@case("all-attributes")
async def all_attributes(room: Room) -> None:
    """Added with all eight attributes, modified, removed; keys in the documented order."""
    daemon, phone, subscribed = await room.served()
    note = room.note(
        0x01020304, title="Ευρυδίκη ☎️", subtitle="Family", message="Saturday? 🎂 " * 40,
        date="20261121T070000", category=4, positive="Reply", negative="Clear",
    )  # fmt: skip
    await phone.notifications.post(note)
    event = await daemon.event("notification", since=subscribed, uid=note.uid)
    expect(
        event, change="added", category="social", category_count=1, app_id="com.apple.MobileSMS",
        app="Messages", title=note.title, subtitle="Family", message=note.message,
        message_size=len(note.message.encode()), date="2026-11-21T07:00:00", positive="Reply",
        negative="Clear",
    )  # fmt: skip
    check(sorted(event["flags"]) == ["negative-action", "positive-action"], f"{event['flags']}")
    check("truncated" not in event and "error" not in event, f"the event is {event}")
    check(not event.get("repeat"), "it is marked as a repetition")
    order = [key for key in event if key in KEYS]
    check(order == sorted(order, key=KEYS.index), f"the keys come as {' '.join(event)}")
    await phone.notifications.modify(note.uid, message="Saturday is off.", positive="")
    changed = await daemon.event("notification", since=event, uid=note.uid)
    expect(changed, change="modified", message="Saturday is off.", flags=["negative-action"])
    await phone.notifications.remove(note.uid)
    gone = await daemon.event("notification", since=changed, uid=note.uid)
    expect(gone, change="removed", category="social")


@case("categories-and-flags")
async def categories(room: Room) -> None:
    """All twelve categories, newer ones as numbers; every set of flags, unknown ones too."""
    daemon, phone, since = await room.served()
    numbers = [*range(len(CATEGORIES)), 12, 13, 127, 255]
    for number in numbers:
        await phone.notifications.post(room.note(1000 + number, category=number))
    for number in numbers:
        event = await daemon.event("notification", since=since, uid=1000 + number)
        expect(event, category=CATEGORIES[number] if number < len(CATEGORIES) else number)
    # The flags as they are, whatever actions there are: they come from the Notification Source.
    for flags in range(256):
        note = room.note(2000 + flags, negative="", flags=flags)
        await phone.notifications.post(note)
    for flags in range(256):
        event = await daemon.event("notification", since=since, uid=2000 + flags, within=20)
        known = {name for bit, name in enumerate(FLAGS) if flags >> bit & 1}
        found = set(event["flags"])
        check(
            found & set(FLAGS) == known and (flags > 31 or found == known),
            f"flags of 0x{flags:02X} are {event['flags']}",
        )


@case("category-count")
async def category_count(room: Room) -> None:
    """The category's count, and UIDs at both ends of their range."""
    daemon, phone, since = await room.served()
    for place, uid in enumerate((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE), 1):
        await phone.notifications.post(room.note(uid, category=6))
        expect(await daemon.event("notification", since=since, uid=uid), category_count=place)


@case("fragments")
async def fragments(room: Room) -> None:
    """Data Source fragments of every size from one byte to what the MTU holds."""
    daemon, phone, _ = await room.served(mtu=185)
    message = "0\0\1\2 ☎️ 🎂 " * 25  # zeros: a fragment may look like the head of an answer
    for size in range(1, 183):
        phone.notifications.fragment = size
        since = daemon.now
        note = room.note(size, title=f"in {size}s", message=message, subtitle="x" * (size % 7))
        await phone.notifications.post(note)
        event = await daemon.event("notification", since=since, uid=size)
        expect(event, message=message, title=f"in {size}s", subtitle=note.subtitle)
        await phone.notifications.remove(size)


@case("fragments-uneven")
async def uneven(room: Room) -> None:
    """Fragments of random sizes, empty ones among them, and data before the write is answered."""
    daemon, phone, _ = await room.served(mtu=64)
    dice = random.Random(1)

    def pieces(_command: bytes, response: bytes) -> list[bytes]:
        values = []
        while response:
            size = dice.choice([0, 1, 1, 2, 3, 5, 8, 20, 61])
            values.append(response[:size])
            response = response[size:]
        return values

    message = "0\0\0\0 ☎️ 🎂 " * 20
    for uid in range(1, 61):
        phone.notifications.instead = pieces if uid % 3 else lambda _c, _r: None
        phone.notifications.early = uid % 3 == 0
        since = daemon.now
        await phone.notifications.post(room.note(uid, title=f"number {uid}", message=message))
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, message=message, title=f"number {uid}", app="Messages")


@case("cut-characters")
async def cut_characters(room: Room) -> None:
    """A text cut in the middle of a character loses the broken tail, and says that it was cut."""
    limit = 30
    daemon, phone, since = await room.served("--max-length", str(limit))
    texts = [
        "a" * lead + character * 20
        for character in ("é", "€", "🎂", "👨‍👩‍👧", "e\u0301", "가", "\u05d0")
        for lead in range(8)
    ]
    for uid, text in enumerate(texts):
        await phone.notifications.post(room.note(uid, title=text, subtitle=text, message=text))
    for uid, text in enumerate(texts):
        event = await daemon.event("notification", since=since, uid=uid, within=15)
        whole = text.encode()[:limit].decode(errors="ignore")
        expect(event, title=whole, subtitle=whole, message=whole)
        cut = event.get("truncated", [])
        check("message" in cut, f"truncated is {cut} where {len(text.encode())} bytes became 30")
        check(set(cut) <= {"title", "subtitle", "message"}, f"truncated is {cut}")


@case("exactly-the-maximum")
async def exactly(room: Room) -> None:
    """A message of exactly the maximum length was not cut; one byte more was."""
    daemon, phone, since = await room.served("--max-length", "30")
    for length in (29, 30, 31):
        await phone.notifications.post(room.note(length, message="m" * length))
        event = await daemon.event("notification", since=since, uid=length)
        expect(event, message="m" * min(length, 30), message_size=length)
        cut = "message" in event.get("truncated", [])
        check(cut == (length > 30), f"truncated is {event.get('truncated')} at {length} bytes")


@case("not-utf-8")
async def not_utf8(room: Room) -> None:
    """Bytes that are no UTF-8 cost the broken part, never the event."""
    daemon, phone, _ = await room.served()
    broken = [
        b"\xff\xfe",
        b"ab\xc3",
        b"ab\xf0\x9f\x8e",
        b"\xc0\x80x",
        b"a\xed\xa0\x80b",
        b"\x80" * 40,
    ]
    broken += [bytes(range(128, 256)), b"good \xe2\x82 middle", b"\xf4\x90\x80\x80"]
    for uid, text in enumerate(broken, 1):
        attributes = [
            b"com.apple.MobileSMS",
            text,
            text,
            text,
            b"3",
            b"20261121T070000",
            text,
            text,
        ]

        def answer(command: bytes, response: bytes, attributes: list[bytes] = attributes) -> Any:
            if command[0] != 0:
                return None
            return [answer_of(command, attributes)]

        phone.notifications.instead = answer
        since = daemon.now
        await phone.notifications.post(room.note(uid, positive="a", negative="b"))
        event = await daemon.event("notification", since=since, uid=uid)
        if text[:2] == b"ab":  # only the tail is broken
            check(event["title"] == "ab", f"{text!r} became {event['title']!r}")
        check("error" not in event, f"the event says {event.get('error')}")


def answer_of(command: bytes, attributes: list[bytes]) -> bytes:
    """The Data Source's answer to a Get Notification Attributes command, of these values."""
    response, wanted = command[:5], command[5:]
    while wanted:
        number, wanted = wanted[0], wanted[3 if wanted[0] in (1, 2, 3) else 1 :]
        value = attributes[number]
        response += struct.pack("<BH", number, len(value)) + value
    return response


@case("empty-and-absent")
async def empty(room: Room) -> None:
    """Every attribute may be empty; an app without a name is called by its id."""
    daemon, phone, since = await room.served()
    nothing = dict(title="", subtitle="", message="", date="", positive="", negative="")
    await phone.notifications.post(room.note(1, app_id="com.example.nameless", **nothing))
    event = await daemon.event("notification", since=since, uid=1)
    expect(
        event, app_id="com.example.nameless", app="com.example.nameless", title="", subtitle="",
        message="", message_size=0, date=None, flags=[],
    )  # fmt: skip
    for key in ("positive", "negative"):  # not asked for where there is no such action, or empty
        check(event.get(key, "") == "", f"{key} is {event.get(key)!r}")
    await phone.notifications.post(room.note(2, app_id=""))
    expect(await daemon.event("notification", since=since, uid=2), app_id="", title="Mum")
    phone.notifications.apps["com.example.empty"] = ""
    await phone.notifications.post(room.note(3, app_id="com.example.empty"))
    event = await daemon.event("notification", since=since, uid=3)
    expect(event, app="com.example.empty")
    # Nothing at all: every length is zero, the message's size too.
    phone.notifications.instead = lambda c, _r: [answer_of(c, [b""] * 8)] if c[0] == 0 else None
    await phone.notifications.post(room.note(4))
    expect(await daemon.event("notification", since=since, uid=4), title="", message="", date=None)
    phone.notifications.instead = lambda _c, _r: None
    await serves(room, daemon, phone, 5)


@case("dates")
async def dates(room: Room) -> None:
    """A date becomes ISO 8601; an empty or malformed one is null."""
    daemon, phone, since = await room.served()
    good = {
        "20261121T070000": "2026-11-21T07:00:00", "20240229T235959": "2024-02-29T23:59:59",
        "19991231T000000": "1999-12-31T00:00:00",
    }  # fmt: skip
    bad = ["", "2026", "20261321T070000", "20261132T070000", "20261121T250000", "20261121T076000"]
    bad += ["20261121 070000", "20261121T07000", "2026112aT070000", "20230229T070000", "x" * 15]
    bad += ["２0261121T070000", "-0261121T070000", "20260021T070000"]
    wanted: dict[str, str | None] = {**good, **dict.fromkeys(bad)}
    for uid, text in enumerate(wanted):
        await phone.notifications.post(room.note(uid, date=text))
    for uid, (text, date) in enumerate(wanted.items()):
        event = await daemon.event("notification", since=since, uid=uid)
        check(
            event.get("date", "absent") == date, f"{text!r} became {event.get('date', 'absent')!r}"
        )


@case("app-names")
async def app_names(room: Room) -> None:
    """An app's name is asked for once a session, in pieces too, and anew in the next session."""
    daemon, phone, since = await room.served(mtu=23)
    name = "A name that is longer than one packet, 測試"
    app = "com.example.with.a.long.identifier.of.its.own"
    phone.notifications.apps[app] = name
    for uid in range(1, 11):
        await phone.notifications.post(room.note(uid, app_id=app if uid % 2 else "gone.app"))
    for uid in range(1, 11):
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, app=name if uid % 2 else "gone.app")
    for asked, wanted in ((app, 1), ("gone.app", 1)):
        count = phone.notifications.asked_apps().count(asked)
        check(count == wanted, f"{asked} was asked for {count} times in one session")
    phone.notifications.apps[app] = "New name"
    phone.hang_up()
    since = await daemon.event("subscribed", since=since)
    await phone.notifications.post(room.note(20, app_id=app))
    expect(await daemon.event("notification", since=since, uid=20), app="New name")


@case("fetch-list")
async def fetch_list(room: Room) -> None:
    """--fetch title,date asks for these alone, and prints these alone."""
    daemon, phone, since = await room.served("--fetch", "title,date")
    await phone.notifications.post(room.note(1, positive="Yes"))
    event = await daemon.event("notification", since=since, uid=1)
    expect(event, title="Mum", date="2026-11-21T07:00:00")
    extra = {"app_id", "app", "subtitle", "message", "message_size", "positive", "negative"}
    check(not extra & set(event), f"the event has {extra & set(event)} besides")
    commands = [c for c in phone.notifications.seen.commands if c[0] == 0]
    ids = commands[-1][5:]
    check(ids[:1] == b"\1" and ids[3:] == b"\5", f"asked for {ids.hex(' ')}, not title and date")


@case("fetch-none")
async def fetch_none(room: Room) -> None:
    """--fetch none asks for nothing until `show` does."""
    daemon, phone, since = await room.served("--fetch", "none")
    await phone.notifications.post(room.note(1))
    event = await daemon.event("notification", since=since, uid=1)
    check(not {"title", "message", "app_id", "date"} & set(event), f"the event is {event}")
    check(phone.notifications.fetched(1) == 0, "attributes were asked for")
    got = await daemon.call("notifications.get", uid=1)
    check(got.get("title") == "Mum", f"notifications.get is {got}")
    shown = await room.client(daemon, "show", "1", "--format", "json")
    check("Mum" in shown.expect(0).out, f"show printed {shown.out!r}")


@case("max-length")
async def max_length(room: Room) -> None:
    """--max-length is what title, subtitle and message are asked with; else 256 and 1024."""
    for options, title, message in (((), 256, 1024), (("--max-length", "77"), 77, 77)):
        daemon, phone, since = await room.served(*options, mtu=517)
        text = "x" * 2000
        await phone.notifications.post(room.note(1, title=text, subtitle=text, message=text))
        event = await daemon.event("notification", since=since, uid=1)
        lengths = [len(event[key]) for key in ("title", "subtitle", "message")]
        check(lengths == [title, title, message], f"with {options} the lengths are {lengths}")
        check(set(event["truncated"]) == {"title", "subtitle", "message"}, f"{event['truncated']}")
        expect(event, message_size=2000)


@case("early")
async def early(room: Room) -> None:
    """--early prints `incoming` before anything is fetched; without it there is none."""
    daemon, phone, since = await room.served("--early")
    phone.notifications.delay = 0.3
    await phone.notifications.post(room.note(1, category=1, positive="Answer"))
    incoming = await daemon.event("incoming", since=since, uid=1)
    expect(incoming, change="added", category="incoming-call", category_count=1)
    check(set(incoming["flags"]) == {"positive-action", "negative-action"}, f"{incoming}")
    event = await daemon.event("notification", since=since, uid=1)
    check(incoming.index < event.index, "incoming came after the notification")
    plain, other, since = await room.served()
    await serves(room, plain, other, 2)
    plain.none("incoming")
