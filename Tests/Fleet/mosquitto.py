# SPDX-License-Identifier: GPL-3.0-or-later
"""mosquitto on private ports: with TLS, passwords and ACLs, with and without persistence; it can be killed and restarted."""

import asyncio
import contextlib
import itertools
import random
import shutil
import signal
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


class Broker(OnLoopback, Process):
    """Another project's broker."""

    #: In how many seconds it listens.
    WITHIN = 5.0
    environment: Mapping[str, str] = {}

    async def up(self) -> Self:
        """Starts it, and waits until it listens."""
        await self.start(environment=self.environment)
        deadline = asyncio.get_running_loop().time() + patient(self.WITHIN)
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return self
            except OSError:
                if not self.running or asyncio.get_running_loop().time() > deadline:
                    raise Failure(f"the broker does not listen: {self.log[-300:]}") from None
                await asyncio.sleep(0.02)


class Mosquitto(Broker):
    """A broker. It keeps its port after a restart."""

    def __init__(
        self, work: Path, directory: Path, *settings: str, users: Mapping[str, str] = {}, acl: str = "",
        persistent: bool = False, tls: Path | None = None,
    ) -> None:
        """`users` has passwords by name; without any, everybody may connect. `persistent`: it has a file, to which it
        saves every change. `tls` is an Authority's folder."""
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
        if persistent:
            (work / "persistence").mkdir()
            lines += ["persistence true", f"persistence_location {work}/persistence/",
                      "autosave_interval 1", "autosave_on_changes true"]
        settings_file = work / "mosquitto.conf"
        settings_file.write_text("\n".join(lines) + "\n")
        super().__init__([program("mosquitto"), "-c", settings_file], directory)

    async def stop_cleanly(self) -> None:
        """Ends it as its service does, so that it saves its state."""
        self.send_signal(signal.SIGTERM)
        await self.ended()


class Ejabberd(Broker):
    """Debian's ejabberd, another broker, with two users: kitchen and watcher, whose passwords are their names. It drops root, so
    everybody may write to its folder."""

    SETTINGS = """
hosts: [localhost]
loglevel: info
listen:
  - {{port: {port}, ip: "127.0.0.1", module: mod_mqtt, backlog: 100}}
auth_method: [internal]
modules:
  mod_mqtt: {{}}
"""

    def __init__(self, work: Path, directory: Path) -> None:
        self.port = free_port()
        self.folder = work / "ejabberd"
        self.control = [program("ejabberdctl")]
        for folder in (work, self.folder, self.folder / "spool", self.folder / "logs"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
        (self.folder / "ejabberd.yml").write_text(self.SETTINGS.format(port=self.port))
        (self.folder / "ejabberdctl.cfg").write_text("EJABBERD_BYPASS_WARNINGS=true\nINET_DIST_INTERFACE=127.0.0.1\n")
        for option, value in [("node", f"ancsd{self.port}@localhost"), ("spool", self.folder / "spool"), ("logs", self.folder / "logs"),
                              ("config", self.folder / "ejabberd.yml"), ("ctl-config", self.folder / "ejabberdctl.cfg")]:
            self.control += [f"--{option}", str(value)]
        super().__init__([*self.control, "foreground"], directory)

    async def up(self) -> Self:
        """Starts it, and waits until it has its users."""
        await self.start()
        for user in ("kitchen", "watcher"):
            await self.managed("register", user, "localhost", user)
        return self

    async def managed(self, *words: str) -> None:
        for _ in range(60):
            manager = await asyncio.create_subprocess_exec(
                *self.control, *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT)
            said, _ = await manager.communicate()
            if manager.returncode == 0:
                return
            await asyncio.sleep(1)
        raise Failure(f"ejabberdctl {words[0]}: {said.decode()[-300:]}")

    async def close(self) -> None:
        """Ends it through ejabberdctl, because the started process is a script."""
        if self.running:
            await self.managed("stop")
        await super().close()


class RabbitMQ(Broker):
    """RabbitMQ with its MQTT plugin, to which everybody may connect."""

    FOLDER = Path("/usr/lib/rabbitmq")
    WITHIN = 60.0

    def __init__(self, work: Path, directory: Path) -> None:
        versions = [path.name.partition("-")[2] for path in self.FOLDER.glob("lib/rabbitmq_server-*")]
        if not versions:
            raise Skipped("rabbitmq-server is not installed")
        if [int(number) for number in versions[0].split(".")[:2]] < [3, 13]:
            raise Skipped(f"rabbitmq-server {versions[0]} does not support MQTT 5, as 3.13 does")
        self.port = free_port()
        folder = work / "rabbitmq"
        folder.mkdir()
        (folder / "rabbitmq.conf").write_text(f"listeners.tcp = none\nmqtt.listeners.tcp.default = 127.0.0.1:{self.port}\n")
        (folder / "plugins").write_text("[rabbitmq_mqtt].\n")
        self.environment = {
            "HOME": str(folder), "RABBITMQ_NODENAME": f"ancsd{self.port}@localhost", "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder), "RABBITMQ_LOG_BASE": str(folder), "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(free_port()),
        }
        super().__init__([self.FOLDER / "bin/rabbitmq-server"], directory)

    async def close(self) -> None:
        """Ends it, and the port mapper that it has started."""
        await super().close()
        mapper = self.environment["ERL_EPMD_PORT"]
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(["epmd", "-port", mapper, "-kill"], capture_output=True)
