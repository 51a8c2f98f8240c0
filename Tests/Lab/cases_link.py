# SPDX-License-Identifier: GPL-3.0-or-later
"""The link itself: its connection parameters, and how it is on the air."""

from __future__ import annotations

import asyncio
from typing import Any

from harness import Lab, case, check, eventually

#: In the controller's units, 1.25 ms: what is asked for while there is work, and without any.
FAST, CALM = (12, 24), (120, 132)


def asked(lab: Lab) -> list[tuple[int, int]]:
    """The intervals that the phone was asked for so far."""
    return [
        (update.connection_interval_min, update.connection_interval_max)
        for update in lab.adapter.controller.updates
    ]


async def link(daemon: Any) -> dict[str, Any]:
    """The one link as `status` has it."""
    links = (await daemon.call("status"))["links"]
    check(len(links) == 1, f"there are {len(links)} links")
    return dict(links[0])


@case("tuned")
async def tuned(lab: Lab) -> None:
    """A short interval once subscribed, a long one with latency when idle, short for a burst."""
    daemon, phone, _ = await lab.served()
    await eventually(lambda: asked(lab) == [FAST], f"not asked for {FAST}")
    fast = await link(daemon)
    check(fast.get("rssi") == lab.adapter.controller.RSSI, f"rssi is {fast.get('rssi')}")
    expected = {"interval": 30, "latency": 0, "timeout": 6000}
    seen = {key: fast.get(key) for key in expected}
    check(seen == expected, f"the link is {seen}, not {expected}")

    await eventually(lambda: asked(lab) == [FAST, CALM], "never calm", within=14)
    await eventually(
        lambda: phone.connection.parameters.peripheral_latency == 4, "the phone knows no latency"
    )
    calm = await link(daemon)
    check((calm["interval"], calm["latency"]) == (165, 4), f"idle, the link is {calm}")

    await asyncio.gather(*(phone.notifications.post(lab.note(uid=uid)) for uid in range(12)))
    await eventually(lambda: asked(lab) == [FAST, CALM, FAST], "a burst changed nothing")
    await daemon.event("notification", uid=11)


@case("tuning-refused")
async def refused(lab: Lab) -> None:
    """A phone that keeps its parameters is asked every five seconds only, and served none the worse."""
    lab.adapter.controller.update_status = 0x20  # Unsupported LL Parameter Value
    daemon, phone, subscribed = await lab.served()
    await eventually(lambda: CALM in asked(lab), "never calm", within=14)
    check(asked(lab) == [FAST, FAST, CALM], f"the phone was asked for {asked(lab)}")
    await phone.notifications.post(lab.note(uid=5))
    await daemon.event("notification", since=subscribed, uid=5)
    check((await link(daemon))["interval"] != 30, "status has parameters that were refused")


@case("not-tuned")
async def not_tuned(lab: Lab) -> None:
    """With --no-tune the phone is asked for nothing, and no raw socket is there."""
    daemon, phone, subscribed = await lab.served("--no-tune")
    await asyncio.gather(*(phone.notifications.post(lab.note(uid=uid)) for uid in range(12)))
    await daemon.event("notification", since=subscribed, uid=11)
    await asyncio.sleep(1)
    check(not asked(lab), f"the phone was asked for {asked(lab)}")
    seen = await link(daemon)
    check(seen.get("rssi") == lab.adapter.controller.RSSI, f"rssi is {seen.get('rssi')}")
    check("interval" not in seen, f"nobody told of parameters: {seen}")
