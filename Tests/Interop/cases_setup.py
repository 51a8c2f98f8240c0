# SPDX-License-Identifier: GPL-3.0-or-later
"""From the link to the `subscribed` event: how many requests, at which MTU, and with which faults."""

import asyncio

from Harness import att
from Harness.ancs import GET_APP
from Harness.case import case, check
from Harness.process import Daemon
from Harness.services import SERVICES
from Harness.testbed import check_served

from .peers import Phone
from .testbed import Testbed


@case("first-meeting")
async def meeting(bed: Testbed) -> None:
    """What the events say, after at most 11 requests; quiet after 18. What the phone says first is confirmed and answered
    once. When the phone returns, 9 and 15 are enough."""
    daemon, phone, subscribed = await bed.served()
    link = phone.link
    seen = len(link.requests())
    names = [event.name for event in daemon.events[: subscribed.index + 1]]
    order = [n for n in names if n in ("ready", "connected", "subscribed")]
    check(order == ["ready", "connected", "subscribed"], f"the events were {' '.join(names)}")
    connected = await daemon.event("connected")
    check(connected.get("encrypted") is True and "bonded" in connected, f"connected is {connected}")
    check(set(subscribed["services"]) == SERVICES, f"services are {subscribed['services']}")
    check(subscribed["mtu"] == 185 and {"seq", "time"} <= subscribed.keys(), f"subscribed is {subscribed}")
    check(subscribed["requests"] <= min(11, seen), f"{subscribed['requests']} requests until subscribed, and the phone has seen {seen}")
    await phone.quiet(1)
    # Service Changed, and the phone's request for the MTU.
    check(link.confirmations() == 1, f"{link.confirmations()} confirmations")
    answers = [pdu for pdu in link.received if pdu[0] == att.MTU_RESPONSE]
    check(len(answers) == 1, f"the responses to the MTU request are {answers}")
    check(sum(pdu[0] == att.MTU_REQUEST for pdu in link.requests()) <= 1, "the MTU was asked for twice")
    await check_frugal(bed, daemon, phone, subscribed["requests"], 11, 18)
    daemon.none("disconnected")
    phone.ancs.remove(1)  # it would come again
    phone.disconnect()
    subscribed = await daemon.event("subscribed", since=await daemon.event("disconnected"))
    await check_frugal(bed, daemon, phone, subscribed["requests"], 9, 15)


async def check_frugal(
    bed: Testbed, daemon: Daemon, phone: Phone, subscribed: int, until: int, in_all: int
) -> None:
    """Counts requests until `subscribed` and until nothing more comes, except the one for an app's name, by which the
    daemon learns whether it has access."""
    await phone.quiet(1)
    probe = att.write(phone.ancs.control.handle, bytes([GET_APP]))
    requests = [pdu for pdu in phone.link.requests() if not pdu.startswith(probe)]
    bed.remark(f"{subscribed} requests until subscribed, {len(requests)} in all")
    check(subscribed <= until, f"{subscribed} requests until subscribed, more than {until}")
    check(len(requests) <= in_all, f"{len(requests)} requests in all, more than {in_all}")
    await check_served(daemon, phone, len(phone.links))


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
    await phone.connected(5, within=15)
    times = [link.opened for link in phone.links]
    pauses = [b - a for a, b in zip(times, times[1:], strict=False)]
    shown = " ".join(f"{pause:.2f}" for pause in pauses)
    check(pauses[-1] > max(pauses[0] * 1.2, 0.5), f"the pauses do not grow: {shown} s")
    check(daemon.running, f"the daemon ended: {daemon.ending}")
    phone.on_accept = lambda _link: None
    await daemon.event("subscribed", within=15)
