# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: that of Tests/Lab, on RootCanal."""

import itertools

from Harness.process import Daemon
from Lab import testbed

from .air import Air
from .bridge import BridgedAdapter
from .presets import PRESETS


class Testbed(testbed.Testbed):
    """A case's own RootCanal. It has no adapter before the case says which one, by `use`."""

    SECONDS = 90.0
    JOBS = 3  # most of their time is the kernel's time-outs
    numbers = itertools.count(1)

    adapter: BridgedAdapter

    async def open(self) -> None:
        # The kernel looks for a link's listener by the adapter's address.
        number = next(self.numbers)
        self.ADDRESS, self.SECOND_ADDRESS = (f"F0:F1:F2:{kind}:{number >> 8:02X}:{number & 0xFF:02X}" for kind in ("F3", "F4"))

    async def use(self, preset: str = "modern") -> None:
        """Starts RootCanal, and plugs in an adapter of this kind."""
        self.preset = PRESETS[preset]
        self.air = await self.start(Air(self.preset.configuration, self.out / "rootcanal"))
        await self.air.open()
        self.adapter = await self.plug()

    def new_adapter(self, address: str) -> BridgedAdapter:
        return BridgedAdapter(self.air, address, self.preset, self.out / "hci")

    async def daemon(self, *options: str, ready: bool = True) -> Daemon:
        daemon = await super().daemon(*options, ready=False)
        if ready:
            await daemon.event("ready", within=30)  # each command takes its time in the guest
        return daemon
