# SPDX-License-Identifier: GPL-3.0-or-later
"""From link-up to `subscribed`: how many requests, at which MTU, with phones of every temper."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pdus
from harness import check, eventually
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from handset import Handset
    from link import Link

#: What the issue allows, and what is enough.
AT_MOST = 20
SERVICES = {"ancs", "ams", "battery", "time"}
TEXT = "The quick brown fox, ☎️ and 🎂: " * 20


async def serves(room: Room, daemon: Ancsd, phone: Handset, uid: int, within: float = 15) -> Event:
    """That the session works: a notification with a long text arrives whole."""
    since = daemon.now
    await phone.notifications.post(room.note(uid, title=f"number {uid}", message=TEXT))
    event = await daemon.event("notification", since=since, uid=uid, within=within)
    check(event.get("message") == TEXT, f"the message of {uid} is {event.get('message')!r}")
    check(event.get("title") == f"number {uid}", f"the title of {uid} is {event.get('title')!r}")
    return event


async def first_meeting(room: Room, mtu: int) -> None:
    daemon, phone, subscribed = await room.served(mtu=mtu)
    seen = len(phone.link.requests())
    names = [event.name for event in daemon.events[: subscribed.index + 1]]
    order = [n for n in names if n in ("ready", "connected", "subscribed")]
    check(order == ["ready", "connected", "subscribed"], f"the events came as {' '.join(names)}")
    connected = await daemon.event("connected")
    check(connected.get("encrypted") is True, f"connected is {connected}: the bearer is encrypted")
    check("bonded" in connected, f"connected is {connected}: no `bonded`")
    check(set(subscribed["services"]) == SERVICES, f"services are {subscribed['services']}")
    check(subscribed["mtu"] == mtu, f"mtu is {subscribed['mtu']}, the phone's is {mtu}")
    requests = subscribed["requests"]
    check(requests <= AT_MOST, f"{requests} requests until subscribed; {AT_MOST} are allowed")
    # More may have gone out since; fewer than the event says can't have.
    check(requests <= seen, f"subscribed says {requests} requests, the phone saw {seen} in all")
    room.remark(f"{requests} requests")
    for key in ("seq", "time"):
        check(key in subscribed, f"subscribed has no {key}: {subscribed}")
    await serves(room, daemon, phone, 7)


@case("first-meeting")
async def meeting(room: Room) -> None:
    """Link-up to subscribed at MTU 185 in at most 20 requests, and what the events say."""
    await first_meeting(room, 185)


@case("first-meeting-mtu-23")
async def meeting_small(room: Room) -> None:
    """The same at MTU 23, where every answer holds least."""
    await first_meeting(room, 23)


@case("returning")
async def returning(room: Room) -> None:
    """A phone that returns is served again, with no more requests than at first."""
    daemon, phone, first = await room.served()
    await serves(room, daemon, phone, 1)
    phone.hang_up()
    gone = await daemon.event("disconnected", since=first)
    check(isinstance(gone.get("reason"), str), f"disconnected is {gone}")
    again = await daemon.event("subscribed", since=gone)
    check(again["requests"] <= first["requests"], f"{again['requests']} requests the second time")
    room.remark(f"{first['requests']} requests, then {again['requests']}")
    await serves(room, daemon, phone, 2)


@case("mtus")
async def mtus(room: Room) -> None:
    """Every MTU from 23 to 60 and others up to 517 carries a long notification whole."""
    sizes = [*range(23, 61), 64, 65, 96, 100, 127, 128, 129, 158, 184, 185, 186, 200, 247, 251]
    sizes += [255, 256, 257, 258, 300, 400, 511, 512, 513, 514, 515, 516, 517]

    async def one(part: Room, mtu: int) -> None:
        daemon, phone, subscribed = await part.served(mtu=mtu, within=20)
        check(subscribed["mtu"] == mtu, f"the event's mtu is {subscribed['mtu']}")
        check(set(subscribed["services"]) == SERVICES, f"services are {subscribed['services']}")
        await serves(part, daemon, phone, mtu)

    await room.every(sizes, one, name=lambda mtu: f"mtu-{mtu}")


@case("mtu-odd-answers")
async def mtu_odd(room: Room) -> None:
    """An MTU request refused, answered with too little, too much or at the wrong length."""
    answers = {
        "refused": (pdus.error(pdus.MTU_REQUEST, 0, pdus.REQUEST_NOT_SUPPORTED), 23),
        "too-little": (bytes([pdus.MTU_RESPONSE, 5, 0]), 23),
        "zero": (bytes([pdus.MTU_RESPONSE, 0, 0]), 23),
        "more-than-it-can": (bytes([pdus.MTU_RESPONSE, 0xFF, 0xFF]), 517),
    }

    async def one(part: Room, what: str) -> None:
        answer, mtu = answers[what]
        phone = part.phone()

        def answers_oddly(link: Link, pdu: bytes) -> list[bytes] | None:
            if pdu[0] != pdus.MTU_REQUEST:
                return None
            link.att_mtu = min(mtu, int.from_bytes(pdu[1:3], "little"))
            return [answer]

        phone.intercept = answers_oddly
        daemon = await part.ancsd(phone)
        subscribed = await daemon.event("subscribed")
        expected = phone.link.att_mtu
        check(subscribed["mtu"] == expected, f"mtu is {subscribed['mtu']}, not {expected}")
        await serves(part, daemon, phone, 1)

    await room.every(answers, one)


@case("mtu-from-both-sides")
async def mtu_both(room: Room) -> None:
    """The phone asks for the MTU as well, at once, as phones do; both agree."""
    phone = room.phone(mtu=185)
    answers: list[asyncio.Future[bytes]] = []

    def asks(link: Link) -> None:
        answers.append(link.expect_answer())
        link.send(pdus.mtu_request(185))

    phone.accepts = asks
    daemon = await room.ancsd(phone)
    answer = await asyncio.wait_for(await first(answers), 5)
    check(answer[0] == pdus.MTU_RESPONSE and len(answer) == 3, f"the answer is {answer.hex(' ')}")
    offered = int.from_bytes(answer[1:], "little")
    check(185 <= offered <= 517, f"the daemon takes PDUs of {offered} bytes at most")
    subscribed = await daemon.event("subscribed")
    check(subscribed["mtu"] == 185, f"mtu is {subscribed['mtu']}")
    await serves(room, daemon, phone, 1)


async def first(answers: list[asyncio.Future[bytes]]) -> asyncio.Future[bytes]:
    await eventually(lambda: answers, "the daemon never connected")
    return answers[0]


@case("slow-phone", seconds=61)
async def slow(room: Room) -> None:
    """A phone that takes 200 ms for every PDU is served all the same."""
    phone = room.phone()
    phone.delay = 0.2
    daemon = await room.ancsd(phone)
    await daemon.event("subscribed", within=20)
    await serves(room, daemon, phone, 1)
    daemon.none("disconnected")


@case("mute-phone", seconds=90)
async def mute(room: Room) -> None:
    """A request that stays unanswered ends the link after 30 s, and the daemon comes again."""

    async def one(part: Room, step: str) -> None:
        phone = part.phone()
        first_link: list[Link] = []
        muted_at: list[float] = []

        def keeps_silent(link: Link, pdu: bytes) -> list[bytes] | None:
            if link is not phone.links[0]:
                return None
            count = len(link.requests())
            command = pdu[:3] == pdus.write(phone.notifications.control.handle, b"")
            reached = {"mtu": True, "discovery": count > 3, "command": command}[step]
            if reached or muted_at:
                muted_at.append(link.loop.time())
                first_link.append(link)
                return []
            return None

        phone.intercept = keeps_silent
        daemon = await part.ancsd(phone)
        if step == "command":
            await daemon.event("connected")
            await phone.connected()
            await phone.notifies()
            await phone.notifications.post(part.note(99))
        await eventually(lambda: muted_at, "the daemon asked for nothing", 10)
        await phone.dropped(first_link[0], within=36)
        waited = first_link[0].loop.time() - muted_at[0]
        check(29 <= waited <= 35, f"the link was given up after {waited:.1f} s, not 30")
        await daemon.event("disconnected")
        await phone.connected(2)
        await phone.notifies()
        await serves(part, daemon, phone, 1)

    await room.every(["mtu", "discovery", "command"], one)


@case("hangs-up-at-each-step")
async def hangs_up(room: Room) -> None:
    """The phone ends the link at the first, second, ... request of the set-up; the daemon returns."""

    async def one(part: Room, step: int) -> None:
        phone = part.phone()

        def leaves(link: Link, _pdu: bytes) -> list[bytes] | None:
            if link is phone.links[0] and len(link.requests()) == step:
                link.close()
                return []
            return None

        phone.intercept = leaves
        daemon = await part.ancsd(phone)
        await phone.connected()
        await phone.quiet()
        phone.hang_up()  # if the set-up was over before that step
        await phone.connected(2)
        await phone.notifies()
        await serves(part, daemon, phone, 1)
        check(daemon.find("disconnected", 0, {}), "no disconnected event")

    await room.every(range(1, 19), one, name=lambda step: f"at-request-{step}")


@case("phone-comes-late")
async def comes_late(room: Room) -> None:
    """No socket at first, then one that nobody listens on, then a phone: it is waited for."""
    phone = room.phone(listen=False)
    daemon = await room.ancsd(phone)
    await daemon.event("ready")
    await asyncio.sleep(0.5)  # the time of a try or two; there is no event to wait for
    phone.listen()
    phone.deafen()  # the path is there and refuses
    await asyncio.sleep(0.5)
    check(daemon.running, f"without a phone the daemon ended: {daemon.ending}")
    phone.listen()
    await daemon.event("subscribed", within=15)
    await serves(room, daemon, phone, 1)


@case("growing-pause")
async def growing_pause(room: Room) -> None:
    """A phone that ends every link at once is not hammered: the pauses between tries grow."""
    phone = room.phone()
    phone.accepts = lambda link: link.close()
    daemon = await room.ancsd(phone)
    await phone.connected()
    with contextlib.suppress(AssertionError):
        await phone.connected(12, within=6)
    times = [link.opened for link in phone.links]
    pauses = [b - a for a, b in zip(times, times[1:], strict=False)]
    shown = " ".join(f"{pause:.2f}" for pause in pauses)
    check(2 <= len(times) < 12, f"{len(times)} connections in 6 s, {shown} s apart")
    check(pauses[-1] > pauses[0] * 1.2, f"the pauses do not grow: {shown} s")
    check(daemon.running, f"the daemon ended: {daemon.ending}")
    phone.accepts = lambda _link: None
    await daemon.event("subscribed", within=15)


@case("twenty-reconnections", seconds=100)
async def reconnections(room: Room) -> None:
    """The phone goes and returns twenty times, and is served every time."""
    daemon, phone, subscribed = await room.served()
    for turn in range(20):
        await serves(room, daemon, phone, turn + 1)
        # What was there before comes again; it must not pile up.
        await phone.notifications.remove(turn + 1)
        await daemon.event("notification", since=subscribed, uid=turn + 1, change="removed")
        phone.hang_up()
        subscribed = await daemon.event("subscribed", since=subscribed, within=15)
    await serves(room, daemon, phone, 99)
    took = phone.links[-1].opened - phone.links[0].opened
    check(took < 60, f"twenty reconnections took {took:.0f} s")
    room.remark(f"{took / 20:.2f} s a reconnection")
