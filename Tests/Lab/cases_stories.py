# SPDX-License-Identifier: GPL-3.0-or-later
"""The stories of Tests/Vectors/stories.json on a real kernel.

Tests/WorldTests/StoryTests.swift plays the same stories on Tests/VirtualKernel. Both must have the same events.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from Harness.case import Failure, Skipped, case, check
from Harness.process import Daemon

from . import kernel, mgmt
from .cases_machine import start_bluetoothd
from .phone import Phone
from .testbed import Testbed
from .vhci import block, switch

FILE = json.loads((Path(__file__).resolve().parent.parent / "Vectors" / "stories.json").read_text())
#: The events that are compared, and which of their fields.
FIELDS: dict[str, list[str]] = FILE["fields"]
#: Seconds until an event must have come, and for which none may follow the last one.
LIMIT, QUIET = 15, 0.3


def told(event: Mapping[str, Any]) -> str | None:
    """An event as stories have it: its name and the fields that are compared; None if it is not."""
    if (fields := FIELDS.get(event["event"])) is None:
        return None
    words = {True: "true", False: "false"}
    return " ".join(
        [event["event"], *(f"{name}={words.get(event[name], event[name])}" for name in fields)]
    )


class Teller:
    """Plays a story."""

    def __init__(self, bed: Testbed, story: dict[str, Any]) -> None:
        self.bed = bed
        self.story = story
        self.seen = 0  # how many of the daemon's events were compared, or skipped
        self.connecting: asyncio.Task[None] | None = None

    async def tell(self) -> None:
        if self.story["name"] == "phone-forgot" and kernel.cannot_pair_anew():
            raise Skipped("this kernel has the bug “pairing again”; the case phone-forgot shows what happens there")
        self.phone: Phone = await self.bed.phone(private=self.story.get("private", False))
        # Before it encrypts, the board has always accepted it. And it has sent something: Linux 6.1.192
        # crashes when the socket of a link is closed on which the phone never did.
        self.phone.encrypts_after, self.phone.speaks_first = 0.3, True
        for act, *items in self.story["scenes"]:
            await self.act(act)
            for item in items:
                group = [item] if isinstance(item, str) else item  # whose events come in either order
                found = [await self.event() for _ in group]
                check(all(map(fnmatchcase, sorted(found), sorted(group))), f"{act}: {found}, not {group}")
        await asyncio.sleep(QUIET)
        if (event := self.next_event()) is not None:
            raise Failure(f"after the end: {event}")
        end = await self.end()
        check(end == self.story["end"], f"at the end: {end}, not {self.story['end']}")

    async def event(self) -> str:
        """The next event that stories compare, which must come soon."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LIMIT):
                while (event := self.next_event()) is None:
                    self.daemon.changed.clear()
                    await self.daemon.changed.wait()
                return event
        return "nothing"

    def next_event(self) -> str | None:
        """The same, if it has come."""
        for event in self.daemon.events[self.seen:]:
            self.seen += 1
            if (words := told(event)) is not None:
                return words
        return None

    async def end(self) -> list[str]:
        """How things stand."""
        facts = {
            "connected": self.phone.connected,
            "encrypted": self.phone.encrypted,
            "phone is bonded": await self.phone.bonded(),
            "board is bonded": await self.daemon.listed("phones"),
        }
        keys = [
            "authenticated key" if authenticated else "unauthenticated key"
            for address, authenticated in mgmt.keys(self.bed.adapter.index) if address == self.phone.address
        ]
        return [fact for fact, holds in facts.items() if holds] + keys

    @property
    def shown(self) -> int:
        """The passkey that the board shows."""
        *_, asked = self.daemon.since(0, "pairing")
        return int(asked["passkey"])

    async def act(self, act: str) -> None:
        """What somebody does."""
        bed = self.bed
        if act in ("phone leaves", "phone is lost") and self.connecting is not None:
            await self.connecting
        match act:
            case "daemon starts" if bed.processes:
                await self.daemon.start()
            case "daemon starts":
                self.daemon: Daemon = await bed.daemon("--io", self.story.get("io", "none"), ready=False)
            case "daemon stops":
                await self.daemon.stop()
            case "board accepts":
                await self.daemon.call("pairing.respond", accept=True)
            case "board declines":
                await self.daemon.call("pairing.respond", accept=False)
            case "board opens pairing":
                await self.daemon.call("pairing.open", seconds=60)
            case "board forgets phone":
                await self.daemon.call("phones.forget", phone=self.phone.address)
            case "phone connects":
                await self.phone.disconnect()
                self.phone.user.reset()
                self.connecting = bed.spawn(self.phone.connect())
            case "phone leaves":
                await self.phone.disconnect()
            case "phone is lost":
                await bed.air.separate(self.phone.antenna.controller, bed.adapter.controller)
            case "phone refuses":
                self.phone.cancels = True
            case "phone agrees":
                self.phone.cancels = False
            case "phone waits to be asked":
                self.phone.encrypts_after = 60
            case "phone types the number":
                self.phone.user.typed.set_result(self.shown)
            case "phone types another number":
                self.phone.user.typed.set_result((self.shown + 1) % 1_000_000)
            case "phone forgets board":
                await self.phone.forget()
            case "phone has another key":
                self.phone.spoil_key()
            case "adapter is unplugged":
                bed.adapter.unplug()
            case "adapter is plugged in":
                await bed.plug_again()
            case "radio is blocked":
                await block(True)
                bed.cleanups.append(lambda: switch(False))
            case "radio is unblocked":
                await block(False)
            case "adapter is powered off":
                mgmt.send(bed.adapter.index, mgmt.SET_POWERED, b"\0")
            case "bluetoothd starts":
                self.bluetoothd = await start_bluetoothd(bed)
            case "bluetoothd ends":
                await self.bluetoothd.close()
            case _:
                raise Failure(f"nobody can do this: {act}")


def register(story: dict[str, Any]) -> None:
    @case(f"story-{story['name']}", about=story["about"])
    async def tell(bed: Testbed) -> None:
        await Teller(bed, story).tell()


for story in FILE["stories"]:
    register(story)
