# SPDX-License-Identifier: GPL-3.0-or-later
"""A link: its connection parameters, how the phone is received, and a notification that comes over it."""

import asyncio
from typing import Any

from Harness.ancs import Notification
from Harness.case import case, check, eventually, expect
from Harness.process import Daemon

from .testbed import Testbed

#: Intervals in units of 1.25 ms: what is requested while there is work, and while there is none.
FAST, IDLE = (12, 24), (120, 132)
BURST = [Notification(uid) for uid in range(12)]


def requested(bed: Testbed) -> list[tuple[int, int]]:
    """The intervals that were requested of the phone so far."""
    updates = bed.adapter.controller.updates
    return [(update.connection_interval_min, update.connection_interval_max) for update in updates]


async def tuned_to(daemon: Daemon, interval: int) -> dict[str, Any]:
    """The link once it has this interval, of which the kernel tells the daemon later than the phone."""
    told = await daemon.answer(
        "status", lambda status: [link.get("interval") for link in status["links"]] == [interval],
        f"the interval {interval}", within=2,
    )
    return dict(told["links"][0])


@case("tuned")
async def tuned(bed: Testbed) -> None:
    """A short interval once subscribed, a long one with latency when idle, a short one for a burst."""
    daemon, phone, _ = await bed.served()
    await eventually(lambda: requested(bed) == [FAST], f"no request for {FAST}")
    expect(await tuned_to(daemon, 30), rssi=bed.adapter.controller.RSSI, latency=0, timeout=6000)
    await eventually(lambda: requested(bed) == [FAST, IDLE], "never idle", within=14)
    await eventually(
        lambda: phone.connection.parameters.peripheral_latency == 4, "the phone knows no latency"
    )
    expect(await tuned_to(daemon, 165), latency=4)
    phone.ancs.post(*BURST)
    await eventually(lambda: requested(bed) == [FAST, IDLE, FAST], "a burst changed nothing")
    await daemon.event("notification", uid=11)


@case("not-tuned")
async def not_tuned(bed: Testbed) -> None:
    """With --no-tune nothing is requested of the phone."""
    daemon, phone, _ = await bed.served("--no-tune")
    await daemon.passes_on(phone, *BURST)
    await asyncio.sleep(1)  # no request may follow
    check(not requested(bed), f"the requests were {requested(bed)}")
    (link,) = (await daemon.call("status"))["links"]
    expect(link, rssi=bed.adapter.controller.RSSI)
    check("interval" not in link, f"no parameters were ever reported, but: {link}")


@case("notification")
async def notification(bed: Testbed) -> None:
    """A notification that is longer than a PDU; modified and removed."""
    daemon, phone, _ = await bed.served()
    posted = Notification(0x01020304, title="Ευρυδίκη ☎️", message="Are you coming on Saturday? 🎂 " * 20)
    event = await daemon.passes_on(phone, posted)
    expect(event, change="added", app="Messages", title=posted.title, message=posted.message, adapter=bed.adapter.name, phone=phone.address)

    phone.ancs.modify(posted.uid, message="Saturday is off.")
    changed = await daemon.event("notification", since=event, uid=posted.uid, change="modified")
    expect(changed, message="Saturday is off.")
    phone.ancs.remove(posted.uid)
    await daemon.event("notification", since=changed, uid=posted.uid, change="removed")
