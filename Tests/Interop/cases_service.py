# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon as a service manager's: sd_notify(3), the watchdog, and what its children must not inherit."""

from __future__ import annotations

import socket
from pathlib import Path

from Harness.case import case, check, eventually
from Harness.testbed import check_served

from .testbed import Testbed


class Manager:
    """A service manager's socket; `told` has the datagrams received so far."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.received: list[str] = []

    @property
    def told(self) -> list[str]:
        try:
            while True:
                self.received.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            return self.received


@case("service-manager")
async def service_manager(bed: Testbed) -> None:
    """READY comes when clients are accepted, STATUS with each wait, STOPPING at the end; by a path and a name."""

    async def one(part: Testbed, kind: str) -> None:
        name = str(part.work / "notify")
        manager = Manager(name if kind == "path" else f"@{name}")
        part.cleanups.append(manager.socket.close)
        phone = part.phone()
        daemon = await part.daemon(phone, environment={"NOTIFY_SOCKET": manager.address})
        await eventually(lambda: "READY=1" in manager.told, "it was never ready")
        await daemon.call("status")
        await daemon.event("subscribed")
        await check_served(daemon, phone, 1)
        await eventually(
            lambda: any("all is well" in line for line in manager.told), f"the status: {manager.told}"
        )
        check("WATCHDOG=1" not in manager.told, "nobody requested a watchdog")
        await daemon.stop()
        check(manager.told[-1] == "STOPPING=1", f"the last it told is {manager.told[-1]!r}")

    await bed.every(["path", "abstract"], one)


@case("service-watchdog")
async def watchdog(bed: Testbed) -> None:
    """A watchdog is notified twice within its time, but not another process's."""
    for owner, wanted in ((None, True), ("1", False)):
        manager = Manager(f"@{bed.work}{owner}")
        bed.cleanups.append(manager.socket.close)
        environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "500000"}
        if owner:
            environment["WATCHDOG_PID"] = owner
        daemon = await bed.daemon(bed.phone(), environment=environment)
        await daemon.event("subscribed")
        await daemon.settled("media", quiet=1)
        heard = manager.told.count("WATCHDOG=1")
        check((heard >= 4) == wanted, f"WATCHDOG_PID={owner}: it was heard {heard} times in a second")
        await daemon.stop()


@case("service-frozen")
async def frozen(bed: Testbed) -> None:
    """A service manager that does not read holds nothing up."""
    manager = Manager(str(bed.work / "notify"))
    bed.cleanups.append(manager.socket.close)
    environment = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "2000"}
    phone = bed.phone()
    daemon = await bed.daemon(phone, environment=environment)
    await daemon.event("subscribed")
    for uid in range(1, 4):
        await check_served(daemon, phone, uid)
    Path(manager.address).unlink()
    await check_served(daemon, phone, 9)
    await daemon.stop()
