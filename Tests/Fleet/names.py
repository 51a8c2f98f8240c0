# SPDX-License-Identifier: GPL-3.0-or-later
"""How a program resolves names: files of its own in place of the system's, and a name server."""

import asyncio
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from Harness.case import Skipped

#: Each server has an address of its own, because resolv.conf(5) names no port.
ADDRESSES = itertools.count(1)


class SilentServer(asyncio.DatagramProtocol):
    """A name server that answers nothing; `asked` is how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.address = f"127.53.{os.getpid() % 250}.{next(ADDRESSES)}"

    async def start(self) -> Self:
        try:
            self.transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, (self.address, 53))
        except PermissionError:
            raise Skipped("port 53 belongs to root") from None
        return self

    def datagram_received(self, data: bytes, sender: Any) -> None:
        self.asked += 1


class Names:
    """The files by which a program that was started with `command` resolves names; they can change while it runs."""

    def __init__(self, folder: Path, services: str, server: SilentServer | None = None) -> None:
        self.folder = folder / f"names{next(ADDRESSES)}"
        self.folder.mkdir()
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        (self.folder / "nsswitch.conf").write_text(f"hosts: {services}\n")
        (self.folder / "resolv.conf").write_text(f"nameserver {server.address}\n" if server else "")

    def command(self, words: Sequence[Any]) -> list[Any]:
        """The same command with these files in place of the system's."""
        mounts = [f"mount --bind {self.folder}/{name} /etc/{name}" for name in ("hosts", "nsswitch.conf", "resolv.conf")]
        mounts.append("mount -t tmpfs tmpfs /run")
        own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
        return ["unshare", *own, "sh", "-ec", "\n".join([*mounts, 'exec "$0" "$@"']), *words]
