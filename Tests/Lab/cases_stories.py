# SPDX-License-Identifier: GPL-3.0-or-later
"""The stories of Tests/Vectors/stories.json on a real kernel.

Tests/WorldTests/StoryTests.swift plays the same stories on Tests/VirtualKernel. Both must have the same events.
"""

import asyncio
import contextlib
from fnmatch import fnmatchcase

from Harness.case import Failure, Skipped, case, check
from Harness.process import Daemon

from . import kernel, mgmt
from .cases_machine import start_bluetoothd
from .phone import Phone
from .stories import STORIES, Story, told
from .testbed import Testbed
from .vhci import block, switch

#: Seconds until an event must have come, and for which none may follow the last one.
LIMIT, QUIET = 15, 0.3


class Teller:
    """Plays a story. The acts are its methods, with a _ for each space."""

    def __init__(self, bed: Testbed, story: Story) -> None:
        self.bed = bed
        self.story = story
        self.seen = 0  # how many of the daemon's events were compared, or skipped
        self.connecting: asyncio.Task[None] | None = None

    async def tell(self) -> None:
        if self.story.name == "phone-forgot" and kernel.cannot_pair_anew():
            raise Skipped("this kernel has the bug “pairing again”; the case phone-forgot shows what happens there")
        self.phone: Phone = await self.bed.phone(private=self.story.private)
        # Before it encrypts, the board has always accepted it. And it has sent something: Linux 6.1.192
        # crashes when the socket of a link is closed on which the phone never did.
        self.phone.encrypts_after, self.phone.speaks_first = 0.3, True
        for scene in self.story.scenes:
            await getattr(self, scene.act.replace(" ", "_"))()
            for group in scene.groups:
                found = [await self.event() for _ in group]
                check(all(map(fnmatchcase, sorted(found), sorted(group))), f"{scene.act}: {found}, not {group}")
        await asyncio.sleep(QUIET)
        if (event := self.next_event()) is not None:
            raise Failure(f"after the end: {event}")
        end = await self.end()
        check(end == self.story.end, f"at the end: {end}, not {self.story.end}")

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

    # The board

    async def daemon_starts(self) -> None:
        if self.bed.processes:
            await self.daemon.start()
        else:
            self.daemon: Daemon = await self.bed.daemon("--io", self.story.io, ready=False)

    async def daemon_stops(self) -> None:
        await self.daemon.stop()

    async def board_accepts(self) -> None:
        await self.daemon.call("pairing.respond", accept=True)

    async def board_declines(self) -> None:
        await self.daemon.call("pairing.respond", accept=False)

    async def board_opens_pairing(self) -> None:
        await self.daemon.call("pairing.open", seconds=60)

    async def board_forgets_phone(self) -> None:
        await self.daemon.call("phones.forget", phone=self.phone.address)

    # The phone and its user

    async def phone_connects(self) -> None:
        await self.phone.disconnect()
        self.phone.user.reset()
        self.connecting = self.bed.spawn(self.phone.connect())

    async def phone_leaves(self) -> None:
        if self.connecting is not None:
            await self.connecting
        await self.phone.disconnect()

    async def phone_is_lost(self) -> None:
        if self.connecting is not None:
            await self.connecting
        await self.bed.air.separate(self.phone.antenna.controller, self.bed.adapter.controller)

    async def phone_refuses(self) -> None:
        self.phone.cancels = True

    async def phone_agrees(self) -> None:
        self.phone.cancels = False

    async def phone_waits_to_be_asked(self) -> None:
        self.phone.encrypts_after = 60

    async def phone_types_the_number(self) -> None:
        self.phone.user.typed.set_result(self.shown)

    async def phone_types_another_number(self) -> None:
        self.phone.user.typed.set_result((self.shown + 1) % 1_000_000)

    @property
    def shown(self) -> int:
        """The passkey that the board shows."""
        *_, asked = self.daemon.since(0, "pairing")
        return int(asked["passkey"])

    async def phone_forgets_board(self) -> None:
        await self.phone.forget()

    async def phone_has_another_key(self) -> None:
        self.phone.spoil_key()

    # The adapter

    async def adapter_is_unplugged(self) -> None:
        self.bed.adapter.unplug()

    async def adapter_is_plugged_in(self) -> None:
        await self.bed.plug_again()

    async def radio_is_blocked(self) -> None:
        await block(True)
        self.bed.cleanups.append(lambda: switch(False))

    async def radio_is_unblocked(self) -> None:
        await block(False)

    async def adapter_is_powered_off(self) -> None:
        mgmt.send(self.bed.adapter.index, mgmt.SET_POWERED, b"\0")

    async def bluetoothd_starts(self) -> None:
        self.bluetoothd = await start_bluetoothd(self.bed)

    async def bluetoothd_ends(self) -> None:
        await self.bluetoothd.close()


def register(story: Story) -> None:
    @case(story.case)
    async def tell(bed: Testbed) -> None:
        await Teller(bed, story).tell()


for story in STORIES:
    register(story)
