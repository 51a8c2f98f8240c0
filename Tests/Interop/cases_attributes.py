# SPDX-License-Identifier: GPL-3.0-or-later
"""What a notification's event has: every attribute, category and flag, in fragments of every size."""

from __future__ import annotations

import random
from typing import Any

from Harness.ancs import Notification, attributes_response
from Harness.case import case, check, expect
from Harness.profiles import IDEAL
from Harness.testbed import check_served

from .testbed import Testbed

CATEGORIES = (
    "other incoming-call missed-call voicemail social schedule email news "
    "health-and-fitness business-and-finance location entertainment"
).split()
FLAGS = "silent important pre-existing positive-action negative-action".split()
KEYS = (
    "event seq time adapter phone change uid category category_count flags app_id app title subtitle "
    "message message_size date positive negative truncated repeat error"
).split()


@case("all-attributes")
async def all_attributes(bed: Testbed) -> None:
    """Added with all eight attributes, modified, removed; keys in the documented order."""
    daemon, phone, subscribed = await bed.served()
    notification = Notification(
        0x01020304, title="Ευρυδίκη ☎️", subtitle="Family", message="Saturday? 🎂 " * 40,
        date="20261121T070000", category=4, positive="Reply", negative="Clear",
    )
    phone.ancs.post(notification)
    event = await daemon.event("notification", since=subscribed, uid=notification.uid)
    expect(
        event, change="added", category="social", category_count=1, app_id="com.apple.MobileSMS",
        app="Messages", title=notification.title, subtitle="Family", message=notification.message,
        message_size=len(notification.message.encode()), date="2026-11-21T07:00:00",
        positive="Reply", negative="Clear",
    )
    check(sorted(event["flags"]) == ["negative-action", "positive-action"], f"{event['flags']}")
    check("truncated" not in event and "error" not in event, f"the event is {event}")
    check(not event.get("repeat"), "it is marked as a repetition")
    order = [key for key in event if key in KEYS]
    check(order == sorted(order, key=KEYS.index), f"the keys are {' '.join(event)}")
    phone.ancs.modify(notification.uid, message="Saturday is off.", positive="")
    changed = await daemon.event("notification", since=event, uid=notification.uid)
    expect(changed, change="modified", message="Saturday is off.", flags=["negative-action"])
    phone.ancs.remove(notification.uid)
    gone = await daemon.event("notification", since=changed, uid=notification.uid)
    expect(gone, change="removed", category="social")


@case("categories-and-flags")
async def categories(bed: Testbed) -> None:
    """All twelve categories, unknown ones as numbers; every combination of flags, unknown ones too."""
    daemon, phone, since = await bed.served()
    numbers = [*range(len(CATEGORIES)), 12, 13, 127, 255]
    phone.ancs.post(*(Notification(1000 + number, category=number) for number in numbers))
    for number in numbers:
        event = await daemon.event("notification", since=since, uid=1000 + number)
        expect(event, category=CATEGORIES[number] if number < len(CATEGORIES) else number)
    # The flags are those of the Notification Source, whatever actions there are.
    for flags in range(256):
        phone.ancs.post(Notification(2000 + flags, negative="", flags=flags))
    for flags in range(256):
        event = await daemon.event("notification", since=since, uid=2000 + flags, within=20)
        known = {name for bit, name in enumerate(FLAGS) if flags >> bit & 1}
        found = set(event["flags"])
        right = found & set(FLAGS) == known and (flags > 31 or found == known)
        check(right, f"flags of 0x{flags:02X} are {event['flags']}")


@case("category-count")
async def category_count(bed: Testbed) -> None:
    """The category's count, and UIDs at both ends of their range."""
    daemon, phone, since = await bed.served()
    for count, uid in enumerate((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE), 1):
        phone.ancs.post(Notification(uid, category=6))
        expect(await daemon.event("notification", since=since, uid=uid), category_count=count)


@case("fragments")
async def fragments(bed: Testbed) -> None:
    """Data Source fragments of every size, from one byte to what the MTU holds."""
    daemon, phone, _ = await bed.served(mtu=185)
    message = "0\0\1\2 ☎️ 🎂 " * 25  # zeros, so that a fragment may look like the start of a response
    for size in range(1, 183):
        phone.ancs.fragment = size
        since = daemon.now
        title, subtitle = f"in {size}s", "x" * (size % 7)
        phone.ancs.post(Notification(size, title=title, subtitle=subtitle, message=message))
        event = await daemon.event("notification", since=since, uid=size)
        expect(event, title=title, subtitle=subtitle, message=message)
        phone.ancs.remove(size)


@case("fragments-uneven")
async def uneven(bed: Testbed) -> None:
    """Fragments of random sizes, empty ones too, and fragments before the Write Response."""
    daemon, phone, _ = await bed.served(mtu=64)
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
        phone.ancs.override = pieces if uid % 3 else lambda _c, _r: None
        phone.ancs.early = uid % 3 == 0
        since = daemon.now
        phone.ancs.post(Notification(uid, title=f"number {uid}", message=message))
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, message=message, title=f"number {uid}", app="Messages")


@case("cut-characters")
async def cut_characters(bed: Testbed) -> None:
    """A text cut inside a character loses the broken end and is marked as truncated."""
    limit = 30
    daemon, phone, since = await bed.served("--max-length", str(limit), profile=IDEAL)
    texts = [
        "a" * lead + character * 20
        for character in ("é", "€", "🎂", "👨‍👩‍👧", "e\u0301", "가", "\u05d0")
        for lead in range(8)
    ]
    phone.ancs.post(*(Notification(n, title=t, subtitle=t, message=t) for n, t in enumerate(texts)))
    for uid, text in enumerate(texts):
        event = await daemon.event("notification", since=since, uid=uid, within=15)
        whole = text.encode()[:limit].decode(errors="ignore")
        expect(event, title=whole, subtitle=whole, message=whole)
        cut = event.get("truncated", [])
        check("message" in cut, f"truncated is {cut} where {len(text.encode())} bytes became 30")
        check(set(cut) <= {"title", "subtitle", "message"}, f"truncated is {cut}")


@case("exactly-the-maximum")
async def exactly(bed: Testbed) -> None:
    """A message of exactly the maximum length is not truncated; one that is a byte longer is."""
    daemon, phone, since = await bed.served("--max-length", "30", profile=IDEAL)
    for length in (29, 30, 31):
        phone.ancs.post(Notification(length, message="m" * length))
        event = await daemon.event("notification", since=since, uid=length)
        expect(event, message="m" * min(length, 30), message_size=length)
        cut = "message" in event.get("truncated", [])
        check(cut == (length > 30), f"truncated is {event.get('truncated')} at {length} bytes")


@case("not-utf-8")
async def not_utf8(bed: Testbed) -> None:
    """Bytes that are not UTF-8 cost the broken part, never the event."""
    daemon, phone, _ = await bed.served()
    broken = [b"\xff\xfe", b"ab\xc3", b"ab\xf0\x9f\x8e", b"\xc0\x80x", b"a\xed\xa0\x80b", b"\x80" * 40]
    broken += [bytes(range(128, 256)), b"good \xe2\x82 middle", b"\xf4\x90\x80\x80"]
    for uid, text in enumerate(broken, 1):
        attributes = [b"com.apple.MobileSMS", text, text, text, b"3", b"20261121T070000", text, text]
        phone.ancs.override = lambda command, _response, attributes=attributes: (
            [attributes_response(command, attributes)] if command[0] == 0 else None
        )
        since = daemon.now
        phone.ancs.post(Notification(uid, positive="a", negative="b"))
        event = await daemon.event("notification", since=since, uid=uid)
        if text[:2] == b"ab":  # only the end is broken
            check(event["title"] == "ab", f"{text!r} became {event['title']!r}")
        check("error" not in event, f"the event has the error {event.get('error')}")


@case("empty-and-absent")
async def empty(bed: Testbed) -> None:
    """Every attribute may be empty; an app without a name is called by its id."""
    daemon, phone, since = await bed.served()
    nothing: dict[str, Any] = dict(title="", subtitle="", message="", date="", positive="", negative="")
    phone.ancs.post(Notification(1, app_id="com.example.nameless", **nothing))
    event = await daemon.event("notification", since=since, uid=1)
    expect(
        event, app_id="com.example.nameless", app="com.example.nameless", title="", subtitle="",
        message="", message_size=0, date=None, flags=[],
    )
    for key in ("positive", "negative"):  # absent where there is no such action, else empty
        check(event.get(key, "") == "", f"{key} is {event.get(key)!r}")
    phone.ancs.post(Notification(2, app_id=""))
    expect(await daemon.event("notification", since=since, uid=2), app_id="", title="Mum")
    phone.ancs.apps["com.example.empty"] = ""
    phone.ancs.post(Notification(3, app_id="com.example.empty"))
    expect(await daemon.event("notification", since=since, uid=3), app="com.example.empty")
    # Every attribute has length zero, the message's size too.
    phone.ancs.override = lambda c, _r: [attributes_response(c, [b""] * 8)] if c[0] == 0 else None
    phone.ancs.post(Notification(4))
    expect(await daemon.event("notification", since=since, uid=4), title="", message="", date=None)
    phone.ancs.override = lambda _c, _r: None
    await check_served(daemon, phone, 5)


@case("dates")
async def dates(bed: Testbed) -> None:
    """A date becomes ISO 8601; an empty or malformed one becomes null."""
    daemon, phone, since = await bed.served()
    good = {
        "20261121T070000": "2026-11-21T07:00:00", "20240229T235959": "2024-02-29T23:59:59",
        "19991231T000000": "1999-12-31T00:00:00", "20390601T120000": "2039-06-01T12:00:00",
    }
    bad = ["", "2026", "20261321T070000", "20261132T070000", "20261121T250000", "20261121T076000"]
    bad += ["20261121 070000", "20261121T07000", "2026112aT070000", "20230229T070000", "x" * 15]
    bad += ["２0261121T070000", "-0261121T070000", "20260021T070000"]
    wanted: dict[str, str | None] = {**good, **dict.fromkeys(bad)}
    phone.ancs.post(*(Notification(uid, date=text) for uid, text in enumerate(wanted)))
    for uid, (text, date) in enumerate(wanted.items()):
        event = await daemon.event("notification", since=since, uid=uid)
        found = event.get("date", "absent")
        check(found == date, f"{text!r} became {found!r}")


@case("wide-uids")
async def wide_uids(bed: Testbed) -> None:
    """UIDs that an integer of 32 bits with a sign does not hold are numbers like others: in events, lists and requests."""
    daemon, phone, since = await bed.served()
    uids = {0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF}
    phone.ancs.post(*map(Notification, uids))
    for uid in uids:
        await daemon.event("notification", since=since, uid=uid)
    listed = (await bed.run("list", "--json", "--socket", str(daemon.socket))).expect(0).objects
    check({one["uid"] for one in listed} == uids, f"the list has {listed}")
    for uid in uids:
        check(await daemon.call("notifications.act", uid=uid, action="negative") is True, f"{uid} was not acted on")
        await daemon.event("notification", since=since, uid=uid, change="removed")


@case("app-names")
async def app_names(bed: Testbed) -> None:
    """An app's name is requested once a session, and again in the next one."""
    daemon, phone, since = await bed.served(mtu=23)
    name = "A name that is longer than one packet, 測試"
    app = "com.example.with.a.long.identifier.of.its.own"
    phone.ancs.apps[app] = name
    phone.ancs.post(*(Notification(n, app_id=app if n % 2 else "gone.app") for n in range(1, 11)))
    for uid in range(1, 11):
        event = await daemon.event("notification", since=since, uid=uid)
        expect(event, app=name if uid % 2 else "gone.app")
    for asked in (app, "gone.app"):
        count = phone.ancs.apps_asked_for().count(asked)
        check(count == 1, f"{asked} was asked for {count} times in one session")
    phone.ancs.apps[app] = "New name"
    phone.disconnect()
    since = await daemon.event("subscribed", since=since)
    phone.ancs.post(Notification(20, app_id=app))
    expect(await daemon.event("notification", since=since, uid=20), app="New name")


@case("fetch-list")
async def fetch_list(bed: Testbed) -> None:
    """--fetch title,date requests only these, and prints only these."""
    daemon, phone, since = await bed.served("--fetch", "title,date")
    phone.ancs.post(Notification(1, positive="Yes"))
    event = await daemon.event("notification", since=since, uid=1)
    expect(event, title="Mum", date="2026-11-21T07:00:00")
    extra = {"app_id", "app", "subtitle", "message", "message_size", "positive", "negative"}
    check(not extra & set(event), f"the event also has {extra & set(event)}")
    ids = [command for command in phone.ancs.commands if command[0] == 0][-1][5:]
    check(ids[:1] == b"\1" and ids[3:] == b"\5", f"asked for {ids.hex(' ')}, not title and date")


@case("fetch-none")
async def fetch_none(bed: Testbed) -> None:
    """--fetch none requests nothing until `show` does."""
    daemon, phone, since = await bed.served("--fetch", "none")
    phone.ancs.post(Notification(1))
    event = await daemon.event("notification", since=since, uid=1)
    check(not {"title", "message", "app_id", "date"} & set(event), f"the event is {event}")
    check(phone.ancs.fetches(1) == 0, "attributes were asked for")
    got = await daemon.call("notifications.get", uid=1)
    check(got.get("title") == "Mum", f"notifications.get is {got}")
    shown = (await bed.client(daemon, "show", "1", "--format", "json")).expect(0)
    check("Mum" in shown.out, f"show printed {shown.out!r}")


@case("max-length")
async def max_length(bed: Testbed) -> None:
    """--max-length is the length requested of title, subtitle and message; default 256 and 1024."""
    for options, title, message in (((), 256, 1024), (("--max-length", "77"), 77, 77)):
        daemon, phone, since = await bed.served(*options, mtu=517, profile=IDEAL)
        text = "x" * 2000
        phone.ancs.post(Notification(1, title=text, subtitle=text, message=text))
        event = await daemon.event("notification", since=since, uid=1)
        lengths = [len(event[key]) for key in ("title", "subtitle", "message")]
        check(lengths == [title, title, message], f"with {options} the lengths are {lengths}")
        check(set(event["truncated"]) == {"title", "subtitle", "message"}, f"{event['truncated']}")
        expect(event, message_size=2000)
        await daemon.stop()


@case("early")
async def early(bed: Testbed) -> None:
    """--early prints `incoming` before the attributes are fetched; without it there is none."""
    daemon, phone, since = await bed.served("--early")
    phone.ancs.delay = 0.3
    phone.ancs.post(Notification(1, category=1, positive="Answer"))
    incoming = await daemon.event("incoming", since=since, uid=1)
    expect(incoming, change="added", category="incoming-call", category_count=1)
    check(set(incoming["flags"]) == {"positive-action", "negative-action"}, f"{incoming}")
    event = await daemon.event("notification", since=since, uid=1)
    check(incoming.index < event.index, "incoming came after the notification")
    await daemon.stop()
    plain, other, since = await bed.served()
    await check_served(plain, other, 2)
    plain.none("incoming")
