# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: an adapter of its own, phones and peripherals in its air, the kernel's log."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from Harness import testbed
from Harness.case import Failure, settled
from Harness.process import Daemon, Event

from .kernel import KernelLog
from .phone import Io, Phone
from .radio import Air, SimpleAdapter
from .sensor import Sensor
from .vhci import Adapter


class Testbed(testbed.Testbed):
    """A case's adapter, which no other case has used, and its phones and peripherals."""

    SECONDS = 45.0
    JOBS = 1  # rfkill and bluetoothd concern all adapters
    ADDRESS, SECOND_ADDRESS = "F0:F1:F2:F3:F4:F5", "F0:F1:F2:F3:F4:F6"
    #: Where the lab has unpacked bluetoothd and a message bus.
    BLUEZ = Path(os.environ.get("BLUEZ", "/nonexistent"))

    kernel = KernelLog()

    async def open(self) -> None:
        self.air = Air()
        self.adapter = await self.plug()

    async def plug(self, address: str = "") -> Adapter:
        """Plugs in an adapter, and waits until the kernel has set it up.

        If the guest gets no processor for two seconds, the kernel gives up a command and loses the adapter permanently.
        """
        for _ in range(3):
            adapter = self.new_adapter(address or self.ADDRESS)
            self.cleanups.append(adapter.unplug)
            with contextlib.suppress(Failure, TimeoutError):
                return await adapter.plug()
            adapter.unplug()
        raise Failure("the kernel does not set an adapter up: see its log")

    def new_adapter(self, address: str) -> Adapter:
        return SimpleAdapter(self.air, address)

    async def plug_again(self) -> None:
        """Plugs the adapter in again, which was unplugged, under its old name."""
        name = self.adapter.name
        self.adapter = await self.plug()
        # Its index is free once nothing in the kernel refers to the old device any more.
        while self.adapter.name != name:
            self.adapter.unplug()
            await asyncio.sleep(0.1)
            self.adapter = await self.plug()

    async def phone(self, **traits: Any) -> Phone:
        return await Phone(await self.air.attach("phone"), **traits).start()

    async def second_phone(self) -> Phone:
        return await self.phone(address="C4:66:77:88:99:AA", name="Second")

    async def sensor(self, io: Io = Io.NONE) -> Sensor:
        """A peripheral in the air."""
        return await Sensor(await self.air.attach("sensor"), self.adapter, io).start()

    async def daemon(self, *options: str, ready: bool = True) -> Daemon:
        """Starts a daemon that serves the adapter."""
        daemon = await self.start_daemon(f"--{self.adapter.name}", *options)
        if ready:
            await daemon.event("ready")
        return daemon

    async def served(self, *options: str, **traits: Any) -> tuple[Daemon, Phone, Event]:
        """A daemon, a phone that has paired, and the `subscribed` event: where most cases begin."""
        daemon = await self.daemon("--io", "none", *options)
        phone = await self.phone(**traits)
        await phone.connect()
        return daemon, phone, await daemon.event("subscribed")

    async def set_up(self, phone: Phone) -> None:
        """Waits until the daemon has requested all that it wants from the phone at first."""
        await settled(lambda: list(phone.server.asked.values()), quiet=2)

    async def close(self) -> None:
        await super().close()
        self.kernel.check(self.out / "kernel")
