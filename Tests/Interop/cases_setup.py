# SPDX-License-Identifier: GPL-3.0-or-later
"""From the link to the `subscribed` event: how many requests, at which MTU, and with which faults."""

from __future__ import annotations

import asyncio

from Harness import att
from Harness.ancs import Notification
from Harness.case import case, check, eventually, patient
from Harness.profiles import IDEAL
from Harness.services import SERVICES
from Harness.testbed import check_served

from .link import Link
from .testbed import Testbed

#: The requests that a set-up may take.
AT_MOST = 20


async def first_meeting(bed: Testbed, mtu: int) -> None:
    daemon, phone, subscribed = await bed.served(mtu=mtu)
    seen = len(phone.link.requests())
    names = [event.name for event in daemon.events[: subscribed.index + 1]]
    order = [n for n in names if n in ("ready", "connected", "subscribed")]
    check(order == ["ready", "connected", "subscribed"], f"the events were {' '.join(names)}")
    connected = await daemon.event("connected")
    check(connected.get("encrypted") is True, f"the link is encrypted, but connected is {connected}")
    check("bonded" in connected, f"connected has no `bonded`: {connected}")
    check(set(subscribed["services"]) == SERVICES, f"services are {subscribed['services']}")
    check(subscribed["mtu"] == mtu, f"mtu is {subscribed['mtu']}, the phone's is {mtu}")
    requests = subscribed["requests"]
    check(requests <= AT_MOST, f"{requests} requests until subscribed, more than {AT_MOST}")
    # More requests may have followed since, but not fewer.
    check(requests <= seen, f"subscribed says {requests} requests, but the phone has seen {seen} in all")
    bed.remark(f"{requests} requests")
    for key in ("seq", "time"):
        check(key in subscribed, f"subscribed has no {key}: {subscribed}")
    await check_served(daemon, phone, 7)


@case("first-meeting")
async def meeting(bed: Testbed) -> None:
    """From the link to `subscribed` at MTU 185 in at most 20 requests, and what the events say."""
    await first_meeting(bed, 185)


@case("first-meeting-mtu-23")
async def meeting_small(bed: Testbed) -> None:
    """The same at MTU 23, where a response holds least."""
    await first_meeting(bed, 23)


@case("returning")
async def returning(bed: Testbed) -> None:
    """A phone that returns is served again, with no more requests than the first time."""
    daemon, phone, first = await bed.served()
    await check_served(daemon, phone, 1)
    phone.disconnect()
    gone = await daemon.event("disconnected", since=first)
    check(isinstance(gone.get("reason"), str), f"disconnected is {gone}")
    again = await daemon.event("subscribed", since=gone)
    check(again["requests"] <= first["requests"], f"{again['requests']} requests the second time")
    bed.remark(f"{first['requests']} requests, then {again['requests']}")
    await check_served(daemon, phone, 2)


@case("mtus")
async def mtus(bed: Testbed) -> None:
    """A long notification arrives whole at every MTU from 23 to 60, and at others up to 517."""
    sizes = [*range(23, 61), 64, 65, 96, 100, 127, 128, 129, 158, 184, 185, 186, 200, 247, 251]
    sizes += [255, 256, 257, 258, 300, 400, 511, 512, 513, 514, 515, 516, 517]

    async def one(part: Testbed, mtu: int) -> None:
        daemon, phone, subscribed = await part.served(mtu=mtu, within=20)
        check(subscribed["mtu"] == mtu, f"the event's mtu is {subscribed['mtu']}")
        check(set(subscribed["services"]) == SERVICES, f"services are {subscribed['services']}")
        await check_served(daemon, phone, mtu)

    await bed.every(sizes, one, name=lambda mtu: f"mtu-{mtu}")


@case("mtu-odd-answers")
async def mtu_odd(bed: Testbed) -> None:
    """The MTU request is refused, or its response is too small or too large."""
    answers = {
        "refused": (att.error(att.MTU_REQUEST, 0, att.REQUEST_NOT_SUPPORTED), 23),
        "too-little": (bytes([att.MTU_RESPONSE, 5, 0]), 23),
        "zero": (bytes([att.MTU_RESPONSE, 0, 0]), 23),
        "more-than-it-can": (bytes([att.MTU_RESPONSE, 0xFF, 0xFF]), 517),
    }

    async def one(part: Testbed, what: str) -> None:
        answer, mtu = answers[what]
        phone = part.phone(profile=IDEAL)  # whose own request would settle it

        def answers_oddly(link: Link, pdu: bytes) -> list[bytes] | None:
            if pdu[0] != att.MTU_REQUEST:
                return None
            link.att_mtu = min(mtu, int.from_bytes(pdu[1:3], "little"))
            return [answer]

        phone.intercept = answers_oddly
        daemon = await part.daemon(phone)
        subscribed = await daemon.event("subscribed")
        expected = phone.link.att_mtu
        check(subscribed["mtu"] == expected, f"mtu is {subscribed['mtu']}, not {expected}")
        await check_served(daemon, phone, 1)

    await bed.every(answers, one)


@case("mtu-from-both-sides")
async def mtu_both(bed: Testbed) -> None:
    """The phone requests the MTU too, at once, as phones do; both sides agree."""
    phone = bed.phone(profile=IDEAL)
    answers: list[asyncio.Future[bytes]] = []
    phone.on_accept = lambda link: answers.append(link.ask_mtu(185))
    daemon = await bed.daemon(phone)
    await phone.connected(within=5)
    answer = await asyncio.wait_for(answers[0], 5)
    check(answer[0] == att.MTU_RESPONSE and len(answer) == 3, f"the response is {answer.hex(' ')}")
    offered = int.from_bytes(answer[1:], "little")
    check(185 <= offered <= 517, f"the daemon accepts PDUs of {offered} bytes at most")
    subscribed = await daemon.event("subscribed")
    check(subscribed["mtu"] == 185, f"mtu is {subscribed['mtu']}")
    await check_served(daemon, phone, 1)


@case("slow-phone", seconds=61)
async def slow(bed: Testbed) -> None:
    """A phone that takes 200 ms for every PDU is served nevertheless."""
    phone = bed.phone()
    phone.delay = 0.2
    daemon = await bed.daemon(phone)
    await daemon.event("subscribed", within=20)
    await check_served(daemon, phone, 1)
    daemon.none("disconnected")


@case("mute-phone", seconds=90)
async def mute(bed: Testbed) -> None:
    """A request without a response ends the link after 30 s, and the daemon connects again."""

    async def one(part: Testbed, step: str) -> None:
        phone = part.phone()
        muted_at: list[float] = []

        def fall_silent(link: Link, pdu: bytes) -> list[bytes] | None:
            if link is not phone.links[0]:
                return None
            command = pdu[:3] == att.write(phone.ancs.control.handle, b"")
            reached = {"mtu": True, "discovery": len(link.requests()) > 3, "command": command}[step]
            if not reached and not muted_at:
                return None
            muted_at.append(link.loop.time())
            return []

        phone.intercept = fall_silent
        daemon = await part.daemon(phone)
        if step == "command":
            await daemon.event("connected")
            await phone.connected()
            await phone.subscribed()
            phone.ancs.post(Notification(99))
        await eventually(lambda: muted_at, "the daemon made no request", 10)
        link = phone.links[0]
        await phone.dropped(link, within=36)
        waited = link.loop.time() - muted_at[0]
        check(30 - patient(1) <= waited <= 30 + patient(5), f"the link ended after {waited:.1f} s, not 30")
        await daemon.event("disconnected")
        await phone.connected(2)
        await phone.subscribed()
        await check_served(daemon, phone, 1)

    await bed.every(["mtu", "discovery", "command"], one)


@case("hangs-up-at-each-step")
async def hangs_up(bed: Testbed) -> None:
    """The phone disconnects at the first, second, ... request of the set-up; the daemon reconnects."""

    async def one(part: Testbed, step: int) -> None:
        phone = part.phone()

        def leave(link: Link, _pdu: bytes) -> list[bytes] | None:
            if link is phone.links[0] and len(link.requests()) == step:
                link.close()
                return []
            return None

        phone.intercept = leave
        daemon = await part.daemon(phone)
        await phone.connected()
        await phone.quiet()
        phone.disconnect()  # in case the set-up was over before that step
        await phone.connected(2)
        await phone.subscribed()
        await check_served(daemon, phone, 1)
        check(daemon.find("disconnected"), "no disconnected event")

    await bed.every(range(1, 19), one, name=lambda step: f"at-request-{step}")


@case("phone-comes-late")
async def comes_late(bed: Testbed) -> None:
    """The daemon waits while there is no socket, then one that refuses connections, then a phone."""
    phone = bed.phone(listen=False)
    daemon = await bed.daemon(phone)
    await daemon.event("ready")
    await asyncio.sleep(0.5)  # time for an attempt or two, of which nothing can be seen
    phone.listen()
    phone.stop_listening()  # the path exists and refuses
    await asyncio.sleep(0.5)
    check(daemon.running, f"without a phone the daemon ended: {daemon.ending}")
    phone.listen()
    await daemon.event("subscribed", within=15)
    await check_served(daemon, phone, 1)


@case("growing-pause")
async def growing_pause(bed: Testbed) -> None:
    """The pauses between attempts grow while a phone ends every link at once."""
    phone = bed.phone()
    phone.on_accept = lambda link: link.close()
    daemon = await bed.daemon(phone)
    await phone.connected()
    await asyncio.sleep(6)
    times = [link.opened for link in phone.links]
    pauses = [b - a for a, b in zip(times, times[1:], strict=False)]
    shown = " ".join(f"{pause:.2f}" for pause in pauses)
    check(2 <= len(times) < 12, f"{len(times)} connections in 6 s, {shown} s apart")
    check(pauses[-1] > pauses[0] * 1.2, f"the pauses do not grow: {shown} s")
    check(daemon.running, f"the daemon ended: {daemon.ending}")
    phone.on_accept = lambda _link: None
    await daemon.event("subscribed", within=15)


@case("twenty-reconnections", seconds=100)
async def reconnections(bed: Testbed) -> None:
    """The phone disconnects twenty times, and is served after each return."""
    daemon, phone, subscribed = await bed.served()
    for turn in range(20):
        await check_served(daemon, phone, turn + 1)
        # Removed, because otherwise all earlier ones would come again each time.
        phone.ancs.remove(turn + 1)
        await daemon.event("notification", since=subscribed, uid=turn + 1, change="removed")
        phone.disconnect()
        subscribed = await daemon.event("subscribed", since=subscribed, within=15)
    await check_served(daemon, phone, 99)
    took = phone.links[-1].opened - phone.links[0].opened
    check(took < 60, f"twenty reconnections took {took:.0f} s")
    bed.remark(f"{took / 20:.2f} s a reconnection")
