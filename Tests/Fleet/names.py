# SPDX-License-Identifier: GPL-3.0-or-later
"""How a program resolves names: files of its own in place of the system's, a name server, and the two ends of mDNS."""

import asyncio
import contextlib
import ipaddress
import itertools
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from Harness.case import Skipped

A, AAAA = 1, 28
#: Each server has an address of its own, because resolv.conf(5) names no port.
ADDRESSES = itertools.count(1)


class NameServer(asyncio.DatagramProtocol):
    """Answers for the names in `known`, and says of all others that they do not exist; or says nothing while it is `silent`."""

    def __init__(self) -> None:
        self.known: dict[str, list[str]] = {}
        self.silent = False
        self.asked: list[str] = []
        self.address = f"127.53.{os.getpid() % 250}.{next(ADDRESSES)}"
        self.transport: asyncio.DatagramTransport | None = None

    async def start(self) -> Self:
        try:
            await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, (self.address, 53))
        except PermissionError:
            raise Skipped("port 53 belongs to root") from None
        return self

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, sender: Any) -> None:
        name, place = self.name(data, 12)
        self.asked.append(name)
        if self.silent:
            return
        (kind,) = struct.unpack_from(">H", data, place)
        addresses = [ipaddress.ip_address(text) for text in self.known.get(name, [])]
        records = [address.packed for address in addresses if (A if address.version == 4 else AAAA) == kind]
        answers = b"".join(struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(record)) + record for record in records)
        flags = 0x8180 | (0 if addresses else 3)
        assert self.transport is not None
        self.transport.sendto(data[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0) + data[12:place + 4] + answers, sender)

    @staticmethod
    def name(data: bytes, place: int) -> tuple[str, int]:
        """The question's name, and where its type is."""
        labels = []
        while size := data[place]:
            labels.append(data[place + 1:place + 1 + size].decode())
            place += 1 + size
        return ".".join(labels), place + 1

    def close(self) -> None:
        if self.transport:
            self.transport.close()


class Avahi:
    """The socket of an Avahi daemon, which libnss-mdns asks for names in .local; it knows those in `known`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "avahi-daemon"
        self.known: dict[str, str] = {}
        self.server: asyncio.Server | None = None

    async def start(self) -> Self:
        self.folder.mkdir()
        self.server = await asyncio.start_unix_server(self.serve, self.folder / "socket")
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, name = (await reader.readline()).decode().split()
        address = self.known.get(name) if "IPV6" not in method else None
        writer.write(f"+ 2 0 {name} {address}\n".encode() if address else b"-15 Timeout reached\n")
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.close()

    def close(self) -> None:
        if self.server:
            self.server.close()


class Names:
    """The files by which a program that was started with `command` resolves names; they can change while it runs."""

    def __init__(self, folder: Path, services: str, server: NameServer | None = None, avahi: Avahi | None = None) -> None:
        self.folder = folder / f"names{next(ADDRESSES)}"
        self.folder.mkdir()
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        (self.folder / "nsswitch.conf").write_text(f"hosts: {services}\n")
        (self.folder / "resolv.conf").write_text(f"nameserver {server.address}\n" if server else "")
        self.avahi = avahi

    def command(self, words: Sequence[Any]) -> list[Any]:
        """The same command with these files in place of the system's."""
        mounts = [f"mount --bind {self.folder}/{name} /etc/{name}" for name in ("hosts", "nsswitch.conf", "resolv.conf")]
        mounts.append("mount -t tmpfs tmpfs /run")
        if self.avahi:
            mounts.append(f"ln -s {self.avahi.folder} /run/avahi-daemon")
        own = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
        return ["unshare", *own, "sh", "-ec", "\n".join([*mounts, 'exec "$0" "$@"']), *words]


def mdns() -> dict[str, str]:
    """The environment in which the C library finds libnss-mdns, which `scripts/tools brokers` has unpacked."""
    folders = [Path(folder).parent / "libnss-mdns/lib" for folder in os.environ["PATH"].split(":")]
    if not (found := [library for folder in folders for library in folder.glob("*-linux-gnu")]):
        raise Skipped("libnss-mdns is not there: scripts/tools brokers")
    return {"LD_LIBRARY_PATH": str(found[0])}
