# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers whose commands are lost or refused, that fail, are exchanged for another, or lack an address."""

import asyncio
import time
from typing import Any

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Daemon, Event
from Lab import kernel
from Lab.phone import Phone
from Lab.vhci import blocked

from .bridge import Fault
from .presets import COMMAND_DISALLOWED, LE_CONNECTION_UPDATE, UNSUPPORTED_REMOTE_FEATURE
from .testbed import Testbed

RESET = 0x0C03
LE_SET_PARAMETERS, LE_SET_EXTENDED_PARAMETERS = 0x2006, 0x2036
#: Seconds of the fast pace while bonded phones are awaited, then comes the slow one.
FAST_PACE = 30


async def gone(daemon: Daemon, phone: Phone, since: Event) -> Event:
    """The phone leaves, so that the board is on the air for it alone."""
    await phone.disconnect()
    return await daemon.event("disconnected", since=since)


async def check_returns(daemon: Daemon, phone: Phone, since: Event, within: float) -> None:
    """Checks that the phone finds the board, and is served."""
    await phone.connect(within)
    again = await daemon.event("subscribed", since=since, within=30)
    phone.ancs.post(Notification(900, title="served again"))
    await daemon.event("notification", since=again, uid=900, title="served again")
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


async def slow_pace_fails(bed: Testbed, preset: str, opcode: int, **how: int) -> tuple[Daemon, Event]:
    """The first two commands for the slow pace fail: the board is back on the air in seconds.

    Returns the daemon, and its last event before that."""
    await bed.use(preset)
    daemon, phone, subscribed = await bed.served()
    last = await gone(daemon, phone, subscribed)
    await asyncio.sleep(FAST_PACE - 10)
    fault = bed.adapter.spoil(Fault(opcode, times=2, **how))
    await eventually(lambda: fault.struck, "the pace did not change", within=30)
    await eventually(lambda: fault.struck == 2, "it was not tried again", within=30)
    await check_returns(daemon, phone, last, within=30)
    return daemon, last


@case("fault-slow-pace-lost", seconds=150)
async def slow_pace_lost(bed: Testbed) -> None:
    """The commands for the slow pace get lost: tried again until the board is on the air."""
    daemon, last = await slow_pace_fails(bed, "modern", LE_SET_EXTENDED_PARAMETERS)
    if not kernel.reports_lost_commands():
        return daemon.none("error")
    error = await daemon.event("error", since=last)
    check("refused to pair" not in error["message"], f"the error is about pairing: {error}")


@case("fault-slow-pace-refused", seconds=150)
async def slow_pace_refused(bed: Testbed) -> None:
    """A controller without extended advertising refuses them: it is tried otherwise, without an error."""
    daemon, _ = await slow_pace_fails(bed, "plain", LE_SET_PARAMETERS, status=COMMAND_DISALLOWED)
    daemon.none("error")


@case("fault-hardware-error", seconds=120)
async def hardware_error(bed: Testbed) -> None:
    """A hardware error, with a phone and without: the first recovery succeeds."""
    await bed.use("modern")
    daemon, phone, subscribed = await bed.served()
    ready = await recovers(bed, daemon, await gone(daemon, phone, subscribed))
    await check_returns(daemon, phone, ready, within=10)
    ready = await recovers(bed, daemon, ready)
    await daemon.event("disconnected", since=subscribed)
    await phone.dropped(within=10)
    await check_returns(daemon, phone, ready, within=10)


async def recovers(bed: Testbed, daemon: Daemon, since: Event) -> Event:
    """The controller fails. The kernel resets it, and the daemon's own set-up does so once more."""
    resets, errors = bed.adapter.commands.count(RESET), sum(1 for _ in daemon.since(0, "error"))
    began = time.monotonic()
    bed.adapter.fail()
    ready = await daemon.event("ready", since=since, within=20)
    bed.remark(f"set up again after {time.monotonic() - began:.1f} s")
    resets = bed.adapter.commands.count(RESET) - resets
    check(resets <= 2, f"the controller was reset {resets} times")
    errors = sum(1 for _ in daemon.since(0, "error")) - errors
    check(errors <= 1, f"{errors} errors were reported")
    return ready


async def eventually_says(daemon: Daemon, member: str, value: Any, within: float = 30) -> None:
    """Waits until status says this of the one adapter."""
    await daemon.answer(
        "status", lambda status: [adapter.get(member) for adapter in status["adapters"]] == [value], f"{member} {value}", within
    )


@case("fault-vanished-blocked", seconds=150, alone=True)
async def vanished_blocked(bed: Testbed) -> None:
    """An adapter is pulled out while it is blocked: noticed, and another one that takes its name has bonds of its own."""
    await bed.use("modern")
    daemon, phone, subscribed = await bed.served()
    name = bed.adapter.name
    async with blocked():
        lost = await daemon.event("disconnected", since=subscribed)
        bed.adapter.unplug()
        await eventually_says(daemon, "wait", "no-adapter")
    bed.adapter = await bed.plug(bed.SECOND_ADDRESS)
    check(bed.adapter.name == name, f"the other adapter is {bed.adapter.name}, not {name}")
    ready = await daemon.event("ready", since=lost, within=30)
    check(ready["address"] == bed.SECOND_ADDRESS, f"it is ready as {ready}")
    await phone.disconnect()
    await phone.forget()
    await phone.connect(within=20)
    await daemon.event("paired", since=ready)
    await daemon.event("subscribed", since=ready)


@case("fault-update-drops", seconds=120)
async def update_drops(bed: Testbed) -> None:
    """Links that end with Instant Passed once they were updated: after two, the phone is not asked any more."""
    await bed.use("modern")
    bed.adapter.end = 0x28
    daemon, phone, last = await bed.served()
    for _ in range(2):
        await eventually(lambda: phone.steady_after is not None, "no parameters were asked for", within=10)
        last = await gone(daemon, phone, last)
        await phone.connect(within=20)
        last = await daemon.event("subscribed", since=last)
    asked = bed.adapter.commands.count(LE_CONNECTION_UPDATE)
    await asyncio.sleep(8)
    check(bed.adapter.commands.count(LE_CONNECTION_UPDATE) == asked, "the phone was asked again")
    check(phone.steady_after is None and phone.connected, f"the link has {phone.connection.parameters}")
    links = (await daemon.call("status"))["links"]
    check(links[0].get("parameters_pause", 0) > 23 * 3600, f"status says {links}")


@case("fault-update-refused", seconds=120)
async def update_refused(bed: Testbed) -> None:
    """A controller of Bluetooth 4.0 can't ask for parameters: L2CAP does, and the link has 6 s, now and later; where the
    kernel would not survive that, status says so, and the kernel asks for another interval."""
    await cannot_update(bed, "old", COMMAND_DISALLOWED)


@case("fault-update-unsupported", seconds=120)
async def update_unsupported(bed: Testbed) -> None:
    """The same with one that accepts to ask, and then has no procedure for it."""
    await cannot_update(bed, "noparam", UNSUPPORTED_REMOTE_FEATURE)


async def cannot_update(bed: Testbed, preset: str, status: int) -> None:
    await bed.use(preset)
    daemon, phone, subscribed = await bed.served()
    for turn in ("at first", "later"):
        if kernel.survives_packets_of_others():
            await eventually(
                lambda: phone.steady_after is not None, lambda: f"{turn} the link has {phone.connection.parameters}"
            )
            check(phone.steady_after <= 5, f"{turn} the link had 6 s only {phone.steady_after:.1f} s after its encryption")
            adapter = (await daemon.call("status"))["adapters"][0]
            check(adapter.get("parameters_refused") is None, f"status says {adapter}")
        elif turn == "at first":
            await eventually_says(daemon, "parameters_refused", status, within=10)
        else:
            await eventually(
                lambda: 45 <= phone.connection.parameters.connection_interval <= 60,
                f"the interval is {phone.connection.parameters.connection_interval} ms, not one that was asked for",
            )
        if turn == "at first":
            last = await gone(daemon, phone, subscribed)
            await check_returns(daemon, phone, last, within=20)
    await daemon.passes_on(phone, *(Notification(uid, message="a long text " * 60) for uid in range(1, 20)), within=20)


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
