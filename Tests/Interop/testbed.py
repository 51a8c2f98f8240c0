# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: phones and devices on sockets."""

from pathlib import Path
from typing import Any

from Harness import testbed
from Harness.case import check
from Harness.process import Daemon, Event, VirtualPhone
from Harness.profiles import IPHONE, Profile
from Harness.services import MTU

from .peers import OddDevice, Phone, SocketPeer

# Why a case does not run under qemu-user.
NO_VFORK = "qemu-user makes a fork of vfork, so that a program that is not there has been started"
NO_SELF = "qemu-user does not start the program again by /proc/self/exe: without binfmt_misc the kernel refuses it"


class Testbed(testbed.Testbed):
    """A case's phones and devices on sockets."""

    def __init__(self, binary: Path, out: Path) -> None:
        super().__init__(binary, out)
        self.peers: list[SocketPeer] = []

    def add(self, peer: Any, listen: bool) -> Any:
        self.peers.append(peer)
        self.cleanups.append(peer.close)
        return peer.listen() if listen else peer

    def phone(self, mtu: int = MTU, listen: bool = True, profile: Profile = IPHONE) -> Phone:
        return self.add(Phone(self.work / f"peer{len(self.peers)}", mtu, profile), listen)

    def device(self, mtu: int = MTU) -> OddDevice:
        return self.add(OddDevice(self.work / f"peer{len(self.peers)}", mtu), listen=True)

    async def virtual_phone(self, *options: str) -> VirtualPhone:
        """Starts `ancsd phone`."""
        return await self.start(
            VirtualPhone(self.binary, self.work / "phone", self.out / "phone", *options)
        )

    async def daemon(
        self, phone: Phone | VirtualPhone, *options: str, format: str = "json", **how: Any
    ) -> Daemon:
        """Starts a daemon that serves the phone."""
        return await self.start_daemon("--att", f"unix:{phone.path}", *options, format=format, **how)

    async def served(
        self, *options: str, mtu: int = MTU, profile: Profile = IPHONE, within: float = 8
    ) -> tuple[Daemon, Phone, Event]:
        """A phone, a daemon and its `subscribed` event: where most cases begin."""
        phone = self.phone(mtu, profile=profile)
        daemon = await self.daemon(phone, *options)
        return daemon, phone, await daemon.event("subscribed", within=within)

    def check(self) -> None:
        super().check()
        for peer in self.peers:
            check(not peer.violations, "; ".join(peer.violations[:1]))
