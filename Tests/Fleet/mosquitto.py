# SPDX-License-Identifier: GPL-3.0-or-later
"""mosquitto on private ports: with TLS, passwords and ACLs; it can be killed and restarted."""

import asyncio
import contextlib
import itertools
import random
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from Harness.case import Failure, Skipped, patient
from Harness.process import Process


def program(name: str) -> str:
    """The path of one of mosquitto's programs."""
    found = shutil.which(name)
    if found is None:
        raise Skipped(f"{name} is not installed: scripts/setup --tests")
    return found


#: Ports below those that Linux gives to clients: one of them could get a broker's port while that is down.
PORTS = itertools.cycle(random.sample(range(10000, 32000), 10000))


def free_port() -> int:
    """An unused port of the loopback."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port := next(PORTS)))
            return port


class OnLoopback:
    """Something that listens on a port of the loopback for MQTT."""

    port: int

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"


class Mosquitto(OnLoopback, Process):
    """A broker. It keeps its port after a restart."""

    def __init__(
        self, work: Path, directory: Path, *settings: str, users: Mapping[str, str] = {}, acl: str = "",
        tls: Path | None = None,
    ) -> None:
        """`users` has passwords by name; without any, everybody may connect. `tls` is an Authority's folder."""
        self.port = free_port()
        self.tls_port = free_port() if tls else 0
        lines = [
            "per_listener_settings false", f"allow_anonymous {'false' if users else 'true'}",
            f"listener {self.port} 127.0.0.1", "log_type all", "log_dest stderr",
            "connection_messages true", "user root", *settings,
        ]
        if tls:
            lines += [f"listener {self.tls_port} 127.0.0.1", f"cafile {tls}/ca.pem", f"certfile {tls}/broker.pem",
                      f"keyfile {tls}/broker.key"]
        if users:
            passwords = work / "passwords"
            passwords.write_text("")
            for name, password in users.items():
                subprocess.run([program("mosquitto_passwd"), "-b", passwords, name, password], check=True,
                               capture_output=True)
            lines.append(f"password_file {passwords}")
        if acl:
            (work / "acl").write_text(acl)
            lines.append(f"acl_file {work}/acl")
        settings_file = work / "mosquitto.conf"
        settings_file.write_text("\n".join(lines) + "\n")
        super().__init__([program("mosquitto"), "-c", settings_file], directory)

    async def up(self) -> Self:
        """Starts it, and waits until it listens."""
        await self.start()
        deadline = asyncio.get_running_loop().time() + patient(5)
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return self
            except OSError:
                if not self.running or asyncio.get_running_loop().time() > deadline:
                    raise Failure(f"the broker does not listen: {self.log[-300:]}") from None
                await asyncio.sleep(0.02)
