# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bond is for: coming back. And what happens when its two halves no longer match."""

import json
from pathlib import Path

from Harness.ancs import Notification
from Harness.case import case, check
from Harness.process import Daemon, Event

from . import kernel
from .phone import Phone
from .testbed import Testbed


@case("private-address")
async def private_address(bed: Testbed) -> None:
    """A phone with changing private addresses is the same phone, also after a restart."""
    daemon, phone, subscribed = await bed.served(private=True)
    name = subscribed.get("phone")
    check(name == phone.address, f"the phone is called {name}, not {phone.address}")
    for after in ("its return", "a restart"):
        await phone.disconnect()
        since = daemon.now
        if after == "a restart":
            await daemon.stop()
            await daemon.start()
            await daemon.event("ready", since=since)
        await phone.new_address()
        await phone.connect()
        connected = await daemon.event("connected", since=since)
        check(connected.get("bonded") is True, f"not recognised after {after}: {connected}")
        name = connected.get("phone")
        check(name == phone.address, f"after {after} it is called {name}")
        await daemon.event("subscribed", since=connected)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    check(len(await daemon.listed("phones")) == 1, "one phone is listed as several")


async def until_stale(daemon: Daemon, phone: Phone, since: int | Event) -> Event:
    """Connects again and again, as phones do, until ancsd says that the bond no longer holds."""
    for _ in range(8):  # three within a minute, each short, which takes more of them in a guest that is held up
        await phone.connect()
        await phone.give_up()
        if daemon.find("stale", since) is not None:
            break
    stale = await daemon.event("stale", since=since, within=2)
    check(stale.get("what") and stale.get("remedy"), f"stale says too little: {stale}")
    daemon.none("subscribed", since=since)
    return stale


@case("phone-forgot")
async def phone_forgot(bed: Testbed) -> None:
    """The phone forgets the bond: ancsd says so, and once pairing is open they pair again."""
    daemon, phone, subscribed = await bed.served()
    await phone.disconnect()
    last = await daemon.event("disconnected", since=subscribed)
    await phone.forget()
    stale = await until_stale(daemon, phone, last)
    check(phone.pairings == 1, "the phone paired again although pairing is not open")
    await daemon.call("pairing.open", seconds=30)
    opened = daemon.now
    await phone.connect()
    if kernel.cannot_pair_anew():
        failed = await daemon.event("pairing-failed", since=opened)
        check("tap the board again" in failed["reason"], f"it fails otherwise: {failed}")
        await phone.dropped()
        await phone.connect()
    await daemon.event("subscribed", since=stale)
    check(phone.pairings == 2, f"the phone paired {phone.pairings} times")


def places_of(secret: bytes, pid: int) -> list[str]:
    """Where a process has these bytes in its memory: in either order, or written as hexadecimal digits."""
    orders = (secret, secret[::-1])
    forms = [form for key in orders for form in (key, key.hex().encode(), key.hex().upper().encode())]
    places = []
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, _, _, _, *name = line.split(maxsplit=5)
            if not rights.startswith("rw"):
                continue
            start, end = (int(address, 16) for address in span.split("-"))
            memory.seek(start)
            held = memory.read(end - start)
            for form in forms:
                at = held.find(form)
                while at >= 0:
                    places.append(f"{name[0] if name else 'unnamed'}+{at:#x}, {len(form)} bytes")
                    at = held.find(form, at + 1)
    return places


async def forget_and_search(bed: Testbed, daemon: Daemon) -> None:
    """Has the daemon forget its phone, and looks for the phone's keys in the daemon's memory before and after."""
    bond = json.loads(next(bed.state.rglob("*.bond.json")).read_text())
    # Both end with the key itself (struct mgmt_ltk_info, struct mgmt_irk_info).
    entries = {"Long Term Key": bond["long_term_keys"][0], "Identity Resolving Key": bond["identity_resolving_key"]}
    keys = {name: bytes.fromhex(entry)[-16:] for name, entry in entries.items()}
    for name, key in keys.items():
        check(places_of(key, daemon.pid), f"the search is wrong: no {name} of a phone that is bonded")
    since = daemon.now
    await daemon.call("phones.forget", phone=bond["phone"].split("/")[0])
    await daemon.event("disconnected", since=since)
    left = {name: places for name, key in keys.items() if (places := places_of(key, daemon.pid))}
    check(not left, f"keys are left in memory: {left}")


@case("forgotten-key")
async def forgotten_key(bed: Testbed) -> None:
    """Once a phone that has just paired is forgotten, its keys are nowhere in the daemon's memory."""
    daemon, _, _ = await bed.served(private=True)
    await forget_and_search(bed, daemon)


@case("forgotten-key-loaded")
async def forgotten_key_loaded(bed: Testbed) -> None:
    """The same for keys that were read from the disk, which leave their copies elsewhere."""
    daemon, phone, subscribed = await bed.served(private=True)
    await phone.disconnect()
    since = await daemon.event("disconnected", since=subscribed)
    await daemon.stop()
    await daemon.start()
    await phone.connect()
    await daemon.event("subscribed", since=since)
    await forget_and_search(bed, daemon)


@case("forty-phones")
async def forty_phones(bed: Testbed) -> None:
    """The kernel gets the key of the phone that was here last, though all bonds' keys are longer than its usual packet."""
    daemon, phone, subscribed = await bed.served(private=True)
    await phone.disconnect()
    await daemon.event("disconnected", since=subscribed)
    await daemon.stop()
    kept = next(bed.state.rglob("*.bond.json"))
    bond = kept.read_text()
    address = json.loads(bond)["phone"].split("/")[0]
    for number in range(40):
        text, name = bond, kept.name
        other = f"C0:FF:EE:00:00:{number:02X}"
        # In names of files, in the bond, and as the kernel has it in each key.
        for form in (lambda a: a.replace(":", "").lower(), str, lambda a: bytes.fromhex(a.replace(":", ""))[::-1].hex()):
            text, name = text.replace(form(address), form(other)), name.replace(form(address), form(other))
        kept.with_name(name).write_text(text)
    await daemon.start()
    ready = await daemon.event("ready", since=daemon.now)
    await phone.connect()
    await daemon.event("subscribed", since=ready)
    check(len(await daemon.listed("phones")) == 41, "bonds are missing")
    check(phone.pairings == 1, "the phone had to pair again")


@case("two-phones")
async def two_phones(bed: Testbed) -> None:
    """Two bonded phones come and go, each under its own name, with its own notifications."""
    daemon, first, subscribed = await bed.served("--pairable")
    second = await bed.second_phone()
    await first.disconnect()
    await daemon.event("disconnected", since=subscribed)
    await second.connect()
    await daemon.event("subscribed", since=subscribed, phone=second.address)
    await first.connect()
    both = await daemon.event("subscribed", since=subscribed, phone=first.address)
    posted = {second: "from the second", first: "from the first"}
    for phone, title in posted.items():
        phone.ancs.post(Notification(1, title=title))
    for phone, title in posted.items():
        since = both.index - 1
        await daemon.event("notification", since=since, uid=1, phone=phone.address, title=title)
    check(first.pairings == second.pairings == 1, "a phone had to pair again")
