# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: an adapter in one air, a phone in another, and the weather between them.

The guest has only what needs its kernel: the adapters and the daemons, by Tests/Lab/guest.py.
"""

import asyncio
import contextlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from bumble.core import BaseBumbleError

from Harness.case import PATIENCE, Failure
from Harness.process import Daemon
from Lab.kernel import KernelLog
from Lab.phone import Phone
from RootCanal.air import Air
from RootCanal.bridge import BridgedAdapter
from RootCanal.testbed import Testbed as Base

from .weather import Weather


#: How often RootCanal looks at its timers, in ms: every 10 ms would take twice the processor's time.
PERIOD = "25"
#: After so many seconds it initiates again: RootCanal waits for ever for a LE_CONNECT_COMPLETE that was lost, where a controller
#: gives up after six events (Core Specification Vol 6 Part B, 4.5.2).
INITIATING = 5
#: What bash does with a port and a command: has the guest run it, whose output is here.
IN_GUEST = 'exec 3<>"/dev/tcp/127.0.0.1/$0"; printf "%q " "$@" >&3; echo >&3; exec cat <&3'


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


class Testbed(Base):
    SECONDS = 150.0
    #: The port of this machine behind which the guest is.
    GUEST = os.environ.get("GUEST", "")
    is_up = False
    JOBS = 20
    #: In how many cases a phone and a board meet at a time, which takes most of the guest's time.
    meetings = asyncio.Semaphore(3)

    kernel = KernelLog("")  # the guest watches its own

    #: How long each phone took from the end of a blackout in which its link was lost to its next subscription.
    returns: list[float] = []

    async def open(self) -> None:
        self.seed = int(self.out.name.partition("-")[2].partition(".")[0])
        await super().open()
        while not self.is_up:
            await self.greet()
        logs = Path("/out", self.out.name)
        run = f'mkdir -p {self.work} && exec "${{@:0}}" 2>>{logs}/log'
        self.runner = ["bash", "-c", IN_GUEST, self.GUEST, "bash", "-c", run]

    async def greet(self) -> None:
        """Waits a while for the guest to be up."""
        with contextlib.suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.GUEST)
            with contextlib.closing(writer):
                writer.write(b"echo\n")
                Testbed.is_up |= bool(await asyncio.wait_for(reader.readline(), 3))
        await asyncio.sleep(0.2)

    def new_adapter(self, address: str) -> BridgedAdapter:
        adapter = super().new_adapter(address)
        adapter.guest = self.GUEST
        return adapter

    async def met(self) -> tuple[Daemon, Life]:
        """A daemon and a phone that have met in fair weather."""
        async with self.meetings:
            await self.raise_weather()
            daemon = await self.daemon("--io", "none")
            phone = Phone(await self.far.attach("phone"))
            life = Life(await phone.start(), self.weather)
            self.spawn(life.live())
            await daemon.event("subscribed", within=20)
        self.spawn(life.watch())
        return daemon, life

    async def raise_weather(self) -> None:
        """The weather, with an air on each side of it."""
        self.weather = Weather(self.seed, self.out / "weather")
        await self.use()
        self.far = await self.start(Air(self.preset.configuration, self.out / "far"))
        await self.far.open()
        for air in (self.air, self.far):
            await air.tell("set_timer_period", PERIOD)
        port = await self.weather.open(self.far.link_port)
        self.cleanups.append(self.weather.close)
        await self.air.tell("add_remote", "127.0.0.1", str(port), "LOW_ENERGY")
        await asyncio.wait_for(self.weather.joined, 20)

    @classmethod
    def summary(cls) -> str:
        """What all cases together have shown."""
        if not cls.returns:
            return ""
        median, worst = statistics.median(cls.returns), max(cls.returns)
        return f"{len(cls.returns)} returns; from the phone's return to its subscription: median {median:.2f} s, longest {worst:.1f} s"
