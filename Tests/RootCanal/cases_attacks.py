# SPDX-License-Identifier: GPL-3.0-or-later
"""BLESA and BLERP (docs/security.md): a device in a bonded phone's name, without its key, in each state of a link."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from Harness.ancs import Notification
from Harness.case import Failure, answered, case, check, eventually
from Harness.process import Daemon, Event, EventProcess
from Lab import kernel
from Lab.phone import Io, Phone

from .attacker import Attacker, Way
from .testbed import Testbed


class Moment(Enum):
    """When the attacker comes."""

    AWAY = "while the phone is away"
    ASKED = "and the phone returns once the board waits for the encryption that it has asked for"
    SPARED = "and the phone returns while the board waits without asking, because too many links in its name were in vain"
    BEGINNING = "while the phone has not encrypted yet"
    SERVED = "while the phone is served"
    LEAVING = "as the phone leaves"
    PAIRING = "while another phone pairs"


@dataclass(frozen=True)
class Attack:
    moment: Moment
    way: Way
    io: Io = Io.NONE
    opened: bool = False  # whether pairing is open
    consents: bool | None = None  # what the board's user answers; None: nobody is asked, or answers
    succeeds: bool = False

    def __str__(self) -> str:
        io = f" with IO capability {self.io.name}" if self.way in (Way.PAIRS, Way.OBEYS) else ""
        return f"a device that {self.way.value}{io} {self.moment.value}, pairing {'open' if self.opened else 'closed'}"


#: The last of each list shows that the attacker would get through.
JUST_WORKS = [
    Attack(Moment.LEAVING, Way.INVENTS),
    Attack(Moment.ASKED, Way.IGNORES),
    Attack(Moment.SERVED, Way.IGNORES, opened=True),
    Attack(Moment.AWAY, Way.PAIRS),
    Attack(Moment.BEGINNING, Way.IGNORES, opened=True),
    Attack(Moment.SPARED, Way.IGNORES),
    Attack(Moment.AWAY, Way.PAIRS, opened=True, succeeds=True),
]
NUMBERS = [
    Attack(Moment.ASKED, Way.OBEYS),
    Attack(Moment.SERVED, Way.PAIRS, opened=True),
    Attack(Moment.AWAY, Way.PAIRS, opened=True, consents=True),
    Attack(Moment.AWAY, Way.PAIRS, Io.KEYBOARD_DISPLAY, opened=True, consents=False),
    Attack(Moment.PAIRING, Way.PAIRS, opened=True),
    Attack(Moment.AWAY, Way.STEALS, succeeds=True),
]
#: The seconds for which the board waits for encryption until it asks for it.
PAUSE = 2
#: Events that only a device with the key may cause.
NEWS = {"paired", "subscribed", "authorization", "incoming", "notification", "media", "battery", "time", "services-changed"}
#: Those that run a hook.
HEARD = ["battery", "media", "notification"]


def forged(told: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the attacker has said."""
    return [event for event in told if "evil" in str(event) or event.get("level") == Attacker.BATTERY]


class Scene:
    """A board with a bonded phone, everybody who listens to it, and the attacker."""

    def __init__(self, bed: Testbed, daemon: Daemon, phone: Phone, watch: EventProcess, attacker: Attacker) -> None:
        self.bed, self.daemon, self.phone, self.watch, self.attacker = bed, daemon, phone, watch, attacker
        self.heard = phone.device.random_address  # a private address of the phone
        self.kept = self.bonds()
        self.news = 0

    @property
    def told(self) -> Path:
        """What the hooks and the rule have got."""
        return self.bed.work / "told"

    def bonds(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.bed.state.rglob("*.bond.json")}

    async def leaves(self) -> None:
        """The phone goes away, and will come back with another address."""
        since = self.daemon.now
        await self.phone.disconnect()
        await self.daemon.event("disconnected", since=since)
        self.heard = self.phone.device.random_address
        await self.phone.new_address()

    async def returns(self) -> None:
        """The phone comes back, is served with its old key, and has news."""
        since = self.daemon.now
        await self.phone.connect(within=20)
        await self.daemon.event("subscribed", since=since, within=20)
        check(self.phone.pairings == 1, "the phone had to pair again")
        self.news += 1
        await self.daemon.passes_on(self.phone, Notification(self.news, title=f"number {self.news}"), within=20)

    async def unproven(self) -> int:
        return int((await self.daemon.call("status"))["totals"]["unproven"])

    async def counts(self, wanted: int) -> None:
        """Waits until this many links are counted as unproven."""
        counted = await answered(self.unproven, lambda counted: counted >= wanted, "not all are counted as unproven", 10)
        check(counted == wanted, f"status counts {counted} links as unproven, not {wanted}")

    async def history(self) -> list[Any]:
        return (await self.bed.client(self.daemon, "log", "--json", within=20)).objects

    async def play(self, attack: Attack) -> None:
        try:
            await self.perform(attack)
        except Failure as failure:
            raise Failure(f"{attack}: {failure}") from None

    async def perform(self, attack: Attack) -> None:
        daemon, attacker, moment = self.daemon, self.attacker, attack.moment
        served = moment in (Moment.SERVED, Moment.LEAVING)
        if self.phone.connected and not served:
            await self.leaves()
        if served and not self.phone.connected:
            await self.returns()
        if attack.opened:
            await daemon.call("pairing.open", seconds=120)
        since, unproven = daemon.now, await self.unproven()
        if moment is Moment.BEGINNING:
            self.phone.encrypts_after = 4
            self.bed.spawn(self.phone.connect(within=20))
            await daemon.event("connected", since=since, within=20)
            unproven += 1  # the phone's own link, which gives way
        if moment is Moment.PAIRING:
            other = await self.bed.second_phone()
            pairing = self.bed.spawn(other.connect(within=20))
            asked = await daemon.event("pairing", since=since, within=20)
        came = daemon.now
        attacking = self.bed.spawn(attacker.attack(self.bed.ADDRESS, attack.way, attack.io, self.heard))
        if moment is Moment.LEAVING:
            await asyncio.sleep(1)
            check(not attacker.links, "the board could be connected to beside its only phone")
            await self.leaves()
        await eventually(lambda: attacker.links, "the attacker never had a link", within=10)
        if moment is not Moment.SERVED:
            connected = await daemon.event("connected", since=came, phone=self.phone.address)
            check(connected["bonded"] and not connected["encrypted"], f"it is not taken for the phone: {connected}")
        if attack.consents is not None:
            await daemon.event("pairing", since=came, phone=self.phone.address)
            await daemon.call("pairing.respond", accept=attack.consents)
        if attack.way in (Way.PAIRS, Way.OBEYS):
            await eventually(lambda: attacker.answered or not attacker.connected, "pairing was not refused", within=10)
        if attack.succeeds:
            return await self.check_success(attack, came)
        if moment in (Moment.ASKED, Moment.SPARED):
            await asyncio.sleep(PAUSE + 1)
        if moment is Moment.ASKED:
            await eventually(lambda: attacker.asked, "the board did not ask it to encrypt")
        if moment is Moment.SPARED:
            check(not attacker.asked, "the board asked it to encrypt")
        await asyncio.sleep(1)
        self.check_untouched(attack, came)
        if moment is Moment.PAIRING:
            await daemon.call("pairing.respond", accept=True, phone=asked["phone"])
            await daemon.event("paired", since=came, phone=other.address)
            await pairing
            await other.disconnect()
        if moment in (Moment.ASKED, Moment.SPARED):
            await self.returns()
        await attacker.disconnect()
        await attacking
        if moment is Moment.BEGINNING:
            await self.phone.disconnect()
            self.phone.encrypts_after = 0
        if attack.opened:
            await daemon.call("pairing.close")
        await self.counts(unproven + 1)
        self.check_bonds()

    def check_untouched(self, attack: Attack, since: int) -> None:
        """Checks that the attack has had no effect so far."""
        forbidden = {"paired", "subscribed"} if attack.moment is Moment.SERVED else NEWS
        if not attack.opened:
            forbidden = forbidden | {"pairing"}  # nobody at the board is asked
        for event in self.daemon.since(since):
            check(event.name not in forbidden, f"told: {event}")
        check(self.attacker.ancs.sessions == 0 and not self.attacker.ancs.commands, "the board requested something from it")
        # Pairing is complete on its side before the board looks at the key.
        check(attack.consents or not self.attacker.was_encrypted, "its link was encrypted")
        self.check_bonds()

    def check_bonds(self) -> None:
        check(self.kept.items() <= self.bonds().items(), "the bond's file has changed")

    async def check_silence(self) -> None:
        """Checks that nobody has heard of any attack."""
        said = {"events": self.daemon.events, "watch": self.watch.events}
        for _ in range(40):
            said["log"] = [Event(0, entry) for entry in await self.history()]
            if any(entry.get("uid") == self.news for entry in said["log"]):
                break
            await asyncio.sleep(0.5)
        for name, events in said.items():
            check(any(event.get("uid") == self.news for event in events), f"{name} did not tell of the phone's news")
            check(not forged(events), f"{name} told {forged(events)[:1]}")
        told = self.told.read_text()
        check(f"number {self.news}" in told and "evil" not in told, f"the hooks were told {told}")

    async def check_success(self, attack: Attack, since: int) -> None:
        """Checks that what the attacker says would be noticed everywhere."""
        await self.daemon.event("notification", since=since, uid=Attacker.NEWS.uid, within=20)
        await self.watch.event("notification", uid=Attacker.NEWS.uid)
        await eventually(lambda: "evil" in self.told.read_text(), "the hooks were not told")
        paired = self.daemon.find("paired", since) is not None
        check(paired == (attack.way is Way.PAIRS), "it paired" if paired else "it did not pair")
        kept = self.kept.items() <= self.bonds().items()
        check(kept != paired, "the bond was not replaced" if paired else "the bond has changed")


async def walk(bed: Testbed, io: str, attacks: list[Attack]) -> None:
    await bed.use("modern")
    lamp, file = bed.work / "lamp", bed.work / "ancsd.toml"
    lamp.write_text(f"#!/bin/sh\ncat >>{bed.work / 'told'}\n")
    lamp.chmod(0o755)
    hooks = "".join(f'[[hook]]\nevent = "{name}"\nrun = "{lamp}"\n' for name in HEARD)
    file.write_text(f'[log]\ntexts = true\n{hooks}[[rule]]\nrun = "{lamp}"\n')
    daemon = await bed.daemon("--io", io, "--config", str(file), "--quirk", f"encrypt-pause={PAUSE}")
    watch = await bed.start(EventProcess([bed.binary, "watch", "--json", "--socket", daemon.socket], bed.out / "watch"))
    phone = await bed.phone(private=True)
    connecting = bed.spawn(phone.connect(within=20))
    if io == "yesno":
        await daemon.event("pairing", method="confirm", within=20)
        await daemon.call("pairing.respond", accept=True)
    await daemon.event("subscribed", within=20)
    await connecting
    scene = Scene(bed, daemon, phone, watch, Attacker(await bed.air.attach("attacker"), phone))
    await scene.attacker.start()
    for attack in attacks:
        if attack.succeeds:
            await scene.check_silence()
        if attack.way is Way.PAIRS and attack.succeeds and kernel.cannot_pair_anew():
            break  # the attacker can't either
        await scene.play(attack)


@case("attack-just-works", seconds=150)
async def just_works(bed: Testbed) -> None:
    """A device with a bonded phone's address changes nothing and is told nothing; while pairing is open, it can replace
    a bond by Just Works."""
    await walk(bed, "none", JUST_WORKS)


@case("attack-numbers", seconds=150)
async def numbers(bed: Testbed) -> None:
    """It can't replace a bond with a number either, even if somebody at the board lets it pair without one."""
    await walk(bed, "yesno", NUMBERS)
