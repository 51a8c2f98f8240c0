# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: an adapter in one air, a phone in another, and the weather between them."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from bumble.core import BaseBumbleError

from Harness.case import PATIENCE, Failure
from Lab.phone import Phone
from RootCanal.air import Air
from RootCanal.testbed import Testbed as Base

from .weather import Weather


#: How often RootCanal looks at its timers, in ms: every 10 ms would take half a processor of the guest's.
PERIOD = "25"
#: After so many seconds it initiates again: RootCanal waits for ever for a LE_CONNECT_COMPLETE that was lost, where a controller
#: gives up after six events (Core Specification Vol 6 Part B, 4.5.2).
INITIATING = 5


class Testbed(Base):
    SECONDS = 150.0
    JOBS = 1  # one takes both processors of the guest

    #: How long each phone took from the end of a blackout in which its link was lost to its next subscription.
    returns: list[float] = []
    airs = 0

    async def open(self) -> None:
        self.seed = int(self.out.name.partition("-")[2].partition(".")[0])
        self.weather = Weather(self.seed, self.out / "weather")
        await self.use()
        self.far = await self.start(Air(self.preset.configuration, self.out / "far", self.ports()))
        await self.far.open()
        for air in (self.air, self.far):
            await air.tell("set_timer_period", PERIOD)
        port = await self.weather.open(self.far.link_port)
        self.cleanups.append(self.weather.close)
        await self.air.tell("add_remote", "127.0.0.1", str(port), "LOW_ENERGY")
        await asyncio.wait_for(self.weather.joined, 20)

    def ports(self) -> int:
        self.airs += 1
        return super().ports() + 20 * self.airs

    async def phone(self, **traits: Any) -> Phone:
        return await Phone(await self.far.attach("phone"), **traits).start()

    @classmethod
    def summary(cls) -> str:
        """What all cases together have shown."""
        if not cls.returns:
            return ""
        median, worst = statistics.median(cls.returns), max(cls.returns)
        return f"{len(cls.returns)} returns; from the phone's return to its subscription: median {median:.2f} s, longest {worst:.1f} s"


class Life:
    """A phone in its user's pocket: it connects whenever it can."""

    def __init__(self, phone: Phone, weather: Weather) -> None:
        self.phone = phone
        self.weather = weather
        self.links = 1

    async def live(self) -> None:
        while True:
            if not self.phone.connected:
                try:
                    await self.phone.connect(within=INITIATING / PATIENCE)
                except (Failure, BaseBumbleError, TimeoutError, OSError, asyncio.CancelledError):
                    # Out of range, or the link ended as it began.
                    if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                        raise
            await asyncio.sleep(0.05)

    async def watch(self) -> None:
        """Follows each link from its beginning to its end."""
        while True:
            await self.until(lambda: not self.phone.connected)
            lost, sessions = time.monotonic(), self.phone.ancs.sessions
            await self.until(lambda: self.phone.connected)
            self.links += 1
            await self.until(lambda: not self.phone.connected or self.phone.ancs.sessions > sessions)
            if self.phone.ancs.sessions > sessions:
                Testbed.returns.append(time.monotonic() - max(lost, self.weather.began))

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.02)
