# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd phone --hciN` and the daemon on two adapters of one kernel: both ends are ancsd."""

import asyncio
import os

from Harness.case import case, check
from Harness.process import Process, VirtualPhone

from . import kernel
from .radio import Adapter
from .testbed import Testbed

NOBODY = 65534


class Pair:
    """The daemon on the testbed's adapter, and the virtual phone on another one."""

    def __init__(self, bed: Testbed, adapter: Adapter) -> None:
        self.bed, self.adapter = bed, adapter

    async def phone(self, *options: str) -> VirtualPhone:
        """Starts a phone; the case's phones share their memory."""
        number = sum(isinstance(process, VirtualPhone) for process in self.bed.processes)
        directory = self.bed.out / (f"phone{number}" if number else "phone")
        where = ("--state-dir", self.bed.work / "phone")
        return await self.bed.start(
            VirtualPhone(self.bed.binary, self.adapter.name, directory, *where, *options)
        )

    async def lose(self) -> None:
        """Takes the two out of each other's range: the link times out."""
        await self.bed.air.separate(self.bed.adapter.controller, self.adapter.controller)


async def pair(bed: Testbed) -> Pair:
    return Pair(bed, await bed.plug(bed.SECOND_ADDRESS))


@case("air-return", seconds=150)
async def returning(bed: Testbed) -> None:
    """The phone finds the accessory by its advertisement, pairs, and brings a notification; after a loss it comes back by
    itself, from a private address, and encrypts by its key."""
    ends = await pair(bed)
    daemon = await bed.daemon("--io", "none")
    phone = await ends.phone()
    seen = await phone.event("seen")
    check(seen.get("address") == bed.ADDRESS, f"the phone sees {dict(seen)}")
    check("ancs" in seen["signs"], f"the accessory does not solicit ANCS: {dict(seen)}")
    connected = await daemon.event("connected")
    check(connected.get("bonded") is False, f"the phone is taken for bonded: {dict(connected)}")
    subscribed = await daemon.event("subscribed", within=20)
    await phone.event("paired", address=bed.ADDRESS)
    check(daemon.find("paired")["phone"] == bed.SECOND_ADDRESS, "the bond does not name the identity")
    await phone.do("add", uid=7, title="Mum", message="Saturday?")
    await daemon.event("notification", uid=7, title="Mum", message="Saturday?")
    # Both ends are in one kernel: the phone's own channel must not be taken for a phone of the daemon's.
    links = [dict(event) for event in daemon.since(0, "connected")]
    check(len(links) == 1, f"the daemon has these links: {links}")
    first = ends.adapter.controller.random_address
    check(first.is_resolvable, f"the phone connected from {first}")

    await ends.lose()
    lost = await phone.event("disconnected")
    returned = await daemon.event("connected", since=subscribed, within=20)
    check(returned.get("bonded") is True, f"the phone is unknown: {dict(returned)}")
    encrypted = await phone.event("encrypted", since=lost)
    check(encrypted.get("new") is False, "the phone paired again")
    again = await daemon.event("subscribed", since=returned, within=20)
    await phone.do("add", uid=9, title="again")
    await daemon.event("notification", since=again, uid=9, title="again")
    created = ends.adapter.controller.creations[-1]
    parameters = (
        created.connection_interval_min, created.connection_interval_max, created.max_latency,
        created.supervision_timeout,
    )
    check(parameters == (24, 24, 0, 72), f"the phone asks for {parameters}, not for 30 ms and 720 ms")
    phone.none("paired", since=lost)
    phone.none("violation")

    # A phone that is started again is the same phone, with another private address.
    await phone.stop()
    gone = await daemon.event("disconnected", since=again)
    phone = await ends.phone()
    seen = await phone.event("seen", within=20)
    check(seen.get("bonded") is True, f"the phone has lost its bond: {dict(seen)}")
    await daemon.event("subscribed", since=gone, within=20)
    second = ends.adapter.controller.random_address
    check(second.is_resolvable and second != first, f"the phone connected from {second} again")
    phone.none("paired")

    # It ends the link and comes back by itself; but if it has left, or Bluetooth is off in Control Center, only once its user
    # has it come back.
    for command in ("disconnect", "leave", "control-center"):
        since, before = daemon.now, phone.now
        await phone.do(command)
        gone = await daemon.event("disconnected", since=since)
        if command != "disconnect":
            await asyncio.sleep(5)
            phone.none("connecting", since=before)
            daemon.none("connected", since=gone)
            await phone.do("come-back")
        await daemon.event("subscribed", since=gone, within=20)

    # One that is killed says nothing any more, and is the same phone afterwards; one whose adapter goes says so.
    since = daemon.now
    await phone.kill()
    phone = await ends.phone()
    encrypted = await phone.event("encrypted", within=20)
    check(encrypted.get("new") is False, "the phone paired again")
    await daemon.event("subscribed", since=since, within=20)
    ends.adapter.unplug()
    outcome = (await phone.outcome(10)).expect(69)
    check("gone" in outcome.err or "switched off" in outcome.err, outcome.err)


@case("air-forgotten", seconds=120)
async def forgotten(bed: Testbed) -> None:
    """The phone reports a bond that one side has lost, and both pair again when both agree."""
    ends = await pair(bed)
    daemon = await bed.daemon("--io", "none")
    phone = await ends.phone()
    await daemon.event("subscribed", within=20)
    await phone.event("paired")

    # The board forgets: the phone's key fails, and only its user can help.
    since = daemon.now
    before = phone.now
    await daemon.call("phones.forget", phone=bed.SECOND_ADDRESS)
    rests = await phone.event("resting", since=before, within=20)
    check("no longer has a key" in rests["reason"], f"the phone rests: {dict(rests)}")
    await phone.do("forget")
    await phone.do("connect")
    await phone.event("paired", since=rests, within=20)
    await daemon.event("subscribed", since=since, within=20)

    # The phone forgets: the board takes it again only while pairing is open.
    since = daemon.now
    await phone.do("forget")
    rests = await phone.event("resting", since=phone.find("paired", since=rests))
    await daemon.event("disconnected", since=since)
    await phone.do("connect")
    left = await phone.event("resting", since=rests, within=30)
    phone.none("paired", since=rests)
    opened = daemon.now
    await daemon.call("pairing.open", seconds=30)
    await phone.do("connect")
    if kernel.cannot_pair_anew():
        # The board has removed its key, and asks for another tap.
        await daemon.event("pairing-failed", since=opened, within=20)
        await phone.event("resting", since=left, within=20)
        await phone.do("connect")
    await phone.event("paired", since=left, within=20)
    await daemon.event("subscribed", since=since, within=20)
    # The phone whose key was refused had said nothing before: the daemon holds a channel that some kernels
    # must not close (docs/kernel.md, “Kernel bug: silent links”).
    daemon.freeze()


@case("air-in-use", seconds=60)
async def in_use(bed: Testbed) -> None:
    """On an adapter that the daemon serves, and on none at all, the phone says what is wrong."""
    daemon = await bed.daemon("--io", "none")
    await daemon.event("advertising")
    taken = (await bed.run("phone", f"--{bed.adapter.name}", within=15)).expect(69)
    check("another program" in taken.err and "--hci0" in taken.err, taken.err)
    absent = (await bed.run("phone", "--hci9", within=15)).expect(69)
    check("no such adapter" in absent.err, absent.err)
    refused = await bed.run("phone", f"--{bed.adapter.name}", "--listen", "unix:@x", within=15)
    check("not both" in refused.expect(64).err, refused.err)
    for words in (["--listen", "unix:@x", "--forget"], ["--hci1", "--unencrypted"], []):
        (await bed.run("phone", *words, within=15)).expect(64)
    os.chmod(bed.work, 0o755)
    command = [bed.binary, "phone", f"--{bed.adapter.name}", "--state-dir", bed.work / "nobody"]
    nobody = await bed.start(Process(command, bed.out / "nobody"), user=NOBODY)
    check("root" in (await nobody.outcome(15)).expect(77).err, f"it says {nobody.log!r}")
    await daemon.call("status")
