# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers without a public address."""

from __future__ import annotations

from Harness.ancs import Notification
from Harness.case import case, check

from .testbed import Testbed


def is_static(address: str) -> bool:
    """Whether a random address is static (Core Specification Vol 6 Part B, 1.3.2.1)."""
    return int(address[:2], 16) >> 6 == 3


@case("address-static", seconds=150)
async def static_address(bed: Testbed) -> None:
    """--address static on a controller without a public one: the phone comes back after a restart too."""
    await bed.use("dongle")
    daemon = await bed.daemon("--io", "none", "--address", "static")
    ready = await daemon.event("ready")
    check(is_static(ready["address"]), f"ready names {ready['address']}")
    phone = await bed.phone()
    await phone.connect(within=20)
    last = await daemon.event("subscribed", within=20)
    for turn in ("its return", "a restart"):
        await phone.disconnect()
        since = daemon.now
        if turn == "a restart":
            await daemon.stop()
            await daemon.start()
            again = await daemon.event("ready", since=since)
            check(again["address"] == ready["address"], f"after a restart: {again}")
        await phone.connect(within=20)
        connected = await daemon.event("connected", since=since, within=20)
        check(connected["bonded"] is True, f"after {turn}: {connected}")
        last = await daemon.event("subscribed", since=connected, within=20)
        phone.ancs.post(Notification(len(turn), title=turn))
        await daemon.event("notification", since=last, title=turn)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    stored = [str(path) for path in bed.state_files()]
    check(not [path for path in stored if "00:00:00:00:00:00" in path or "000000000000" in path], f"{stored}")
