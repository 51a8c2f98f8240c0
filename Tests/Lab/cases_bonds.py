# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bond is for: coming back. And what happens when its two halves no longer match."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from harness import Lab, case, check, eventually

if TYPE_CHECKING:
    from daemon import Ancsd, Event
    from phone import Phone


@case("restart")
async def restart(lab: Lab) -> None:
    """The daemon ends and starts again: the phone comes back without pairing."""
    daemon, phone, subscribed = await lab.served()
    # What is worth remembering is asked for once the phone is served.
    server = phone.services.server
    await eventually(lambda: server.hash_reads, "the Database Hash was never read")
    await asyncio.sleep(0.3)
    await daemon.stop()
    await phone.dropped()
    since = daemon.now
    await daemon.start()
    await daemon.event("ready", since=since)
    await phone.come()
    connected = await daemon.event("connected", since=since)
    check(connected.get("bonded") is True, f"the phone is not known any more: {connected}")
    check(connected.get("phone") == phone.address, f"connected names {connected.get('phone')}")
    again = await daemon.event("subscribed", since=connected)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    check(
        again["requests"] < subscribed["requests"],
        f"{again['requests']} requests with known handles, {subscribed['requests']} without",
    )
    await phone.notifications.post(lab.note(uid=2, title="after the restart"))
    await daemon.event("notification", since=again, uid=2, title="after the restart")


@case("returns", seconds=75)
async def returns(lab: Lab) -> None:
    """The phone leaves and returns ten times, and is served each time."""
    daemon, phone, last = await lab.served()
    for turn in range(1, 11):
        await phone.leave()
        last = await daemon.event("disconnected", since=last)
        await phone.come()
        last = await daemon.event("subscribed", since=last)
        await phone.notifications.post(lab.note(uid=turn, title=f"turn {turn}"))
        last = await daemon.event("notification", since=last, uid=turn, title=f"turn {turn}")
        await phone.notifications.remove(turn)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    daemon.none("error")
    bond = json.loads(next(lab.state.rglob("*.bond.json")).read_text())
    check(bond["last_seen"] > bond["first_seen"], f"it was not seen since it paired: {bond}")


@case("private-address")
async def private_address(lab: Lab) -> None:
    """A phone that hides behind changing addresses is the same phone, also after a restart."""
    daemon, phone, subscribed = await lab.served(private=True)
    check(
        subscribed.get("phone") == phone.address,
        f"the phone is called {subscribed.get('phone')}, not {phone.address}",
    )
    for after in ("its return", "a restart"):
        await phone.leave()
        since = daemon.now
        if after == "a restart":
            await daemon.stop()
            await daemon.start()
            await daemon.event("ready", since=since)
        old = phone.device.random_address
        check(await phone.new_address() != old, "the phone has the same private address")
        await phone.come()
        connected = await daemon.event("connected", since=since)
        check(connected.get("bonded") is True, f"not recognised after {after}: {connected}")
        check(
            connected.get("phone") == phone.address,
            f"after {after} it is called {connected.get('phone')}",
        )
        await daemon.event("subscribed", since=connected)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    check(len(await daemon.call("phones.list")) == 1, "one phone is listed as more")


async def until_stale(daemon: Ancsd, phone: Phone, since: int | Event) -> Event:
    """Comes again and again, as phones do, until ancsd says that the bond no longer holds."""
    for _ in range(4):
        await phone.come()
        await phone.give_up()
        if daemon.find("stale", since, {}) is not None:
            break
    stale = await daemon.event("stale", since=since, within=2)
    check(stale.get("what") and stale.get("remedy"), f"stale says too little: {stale}")
    daemon.none("subscribed", since=since)
    return stale


@case("phone-forgot")
async def phone_forgot(lab: Lab) -> None:
    """The phone forgets the bond: ancsd says what is wrong, and once opened they pair anew."""
    daemon, phone, subscribed = await lab.served()
    await phone.leave()
    last = await daemon.event("disconnected", since=subscribed)
    await phone.forget()
    stale = await until_stale(daemon, phone, last)
    check(phone.pairings == 1, "the phone paired anew although pairing is not open")
    await daemon.call("pairing.open", seconds=30)
    await phone.come()
    again = await daemon.event("subscribed", since=stale)
    check(phone.pairings == 2, f"the phone paired {phone.pairings} times")
    check(len(await daemon.call("phones.list")) == 1, "the phone is listed twice")
    await phone.leave()
    last = await daemon.event("disconnected", since=again)
    await phone.come()
    await daemon.event("subscribed", since=last)
    check(phone.pairings == 2, "the new bond does not hold")


@case("board-forgot")
async def board_forgot(lab: Lab) -> None:
    """ancsd forgets a phone that still has its key: the person at the phone is told what to do."""
    daemon, phone, _ = await lab.served()
    await daemon.call("phones.forget", phone=phone.address)
    check(await daemon.call("phones.list") == [], "a forgotten phone is listed")
    await phone.give_up()
    stale = await until_stale(daemon, phone, daemon.now)
    check(phone.failed_encryption, "the phone's key was taken although the bond is gone")
    check("forget" in stale["remedy"].lower(), f"the remedy does not say it: {stale}")
    await phone.forget()
    await phone.come()
    await daemon.event("subscribed", since=stale)


@case("keys-differ")
async def keys_differ(lab: Lab) -> None:
    """Both have a key but not the same: said as stale, and nothing is served."""
    daemon, phone, subscribed = await lab.served()
    await phone.leave()
    last = await daemon.event("disconnected", since=subscribed)
    await phone.spoil_key()
    # Linux 6.1.192 dies when the socket of a link on which the phone never said a word is closed.
    phone.speaks_first = True
    await until_stale(daemon, phone, last)
    check(daemon.running, "ancsd ended")


@case("two-phones")
async def two_phones(lab: Lab) -> None:
    """Two bonded phones come and go, each under its own name, with its own notifications."""
    daemon, first, subscribed = await lab.served("--pairable")
    second = await lab.phone(address="C4:66:77:88:99:AA", name="Second")
    await first.leave()
    await daemon.event("disconnected", since=subscribed)
    await second.come()
    await daemon.event("subscribed", since=subscribed, phone=second.address)
    await first.come()
    both = await daemon.event("subscribed", since=subscribed, phone=first.address)
    await second.notifications.post(lab.note(uid=1, title="from the second"))
    await first.notifications.post(lab.note(uid=1, title="from the first"))
    await daemon.event(
        "notification", since=both.index - 1, uid=1, phone=second.address, title="from the second"
    )
    await daemon.event(
        "notification", since=both.index - 1, uid=1, phone=first.address, title="from the first"
    )
    check(first.pairings == second.pairings == 1, "a phone had to pair again")
