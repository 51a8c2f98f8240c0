# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: brokers, boards connected to them, and watchers."""

import json
import signal
from pathlib import Path
from typing import Any

from Harness.case import Skipped, eventually
from Harness.process import Daemon, Process, VirtualPhone
from Interop import testbed
from Interop.peers import Phone

from .mosquitto import Mosquitto
from .names import Names
from .relay import Relay
from .scripted import ScriptedBroker
from .watcher import PHONE, Watcher


class Testbed(testbed.Testbed):
    """A case's brokers, bridges and watchers, in addition to its daemons and phones."""

    def __init__(self, binary: Path, out: Path) -> None:
        super().__init__(binary, out)
        self.program = binary.with_name("ancsd-mqtt")
        self.bridges = 0

    async def open(self) -> None:
        if not self.program.exists():
            raise Skipped(f"{self.program} is not there: scripts/build")

    # Brokers

    async def mosquitto(self, *settings: str, **how: Any) -> Mosquitto:
        """Starts a broker."""
        broker = Mosquitto(self.work, self.out / "mosquitto", *settings, **how)
        self.processes.append(broker)
        return await broker.up()

    async def scripted(self, **connack: Any) -> ScriptedBroker:
        """Starts a scripted broker, with these properties in its CONNACK."""
        broker = ScriptedBroker()
        broker.connack = connack
        self.cleanups.append(broker.close)
        return await broker.start()

    async def relay(self, broker: Mosquitto) -> Relay:
        """Starts a relay in front of a broker."""
        relay = await Relay(broker.port).start()
        self.cleanups.append(relay.close)
        return relay

    async def watcher(self, broker: Mosquitto, *filters: str, **how: Any) -> Watcher:
        """Starts a client that sees what is published."""
        watcher = Watcher(broker.port, **how)
        self.cleanups.append(watcher.close)
        return await watcher.start(*filters)

    async def online(self, broker: Mosquitto, *filters: str, **how: Any) -> Watcher:
        """The same, and waits until the phone is online."""
        watcher = await self.watcher(broker, *filters, **how)
        await watcher.message(f"{PHONE}/state", state="online")
        return watcher

    # Boards

    def secret(self, name: str, content: str | bytes, mode: int = 0o600) -> Path:
        """Writes a file with a password or a key, which others can read only if the mode says so."""
        file = self.work / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(mode)
        return file

    def settings(self, url: str, /, board: str = "kitchen", **settings: Any) -> Path:
        """Writes a settings file; `_` in a name becomes `-`."""
        path = self.work / f"{board}{self.bridges}.toml"
        lines = [f"{name.replace('_', '-')} = {json.dumps(value)}"
                 for name, value in {"url": url, "board": board, "response-prefixes": ["watcher", "me"], **settings}.items()]
        path.write_text("\n".join(["[mqtt]", *lines]) + "\n")
        return path

    async def bridge(
        self, daemon: Daemon | Path, url: str, /, names: Names | None = None, state: Path | None = None, **settings: Any,
    ) -> Process:
        """Connects a daemon to a broker; resolves names in the system's way, or in this one."""
        file = self.settings(url, **settings)
        socket = daemon if isinstance(daemon, Path) else daemon.socket
        name = f"bridge{self.bridges}"
        self.bridges += 1
        command = [self.program, "--config", file, "--socket", socket, "--state-dir", state or self.work / name]
        return await self.start(Process(names.command(command) if names else command, self.out / name))

    @property
    def file(self) -> Path:
        """The settings of the first bridge, if it is kitchen's."""
        return self.work / "kitchen0.toml"

    def reload(self, bridge: Process, text: str) -> None:
        """Gives the first bridge other settings."""
        self.file.write_text(text)
        bridge.send_signal(signal.SIGHUP)

    async def says(self, bridge: Process, *words: str, within: float = 20) -> None:
        """Waits until a bridge has logged all these words, ignoring case."""
        await eventually(lambda: all(word.lower() in bridge.log.lower() for word in words),
                         lambda: f"{words} is missing from the log: {bridge.log}", within)

    async def board(self, broker: Mosquitto | Relay, /, **settings: Any) -> tuple[Daemon, Phone, Process]:
        """A phone, a daemon that serves it, and a bridge: the start of most cases."""
        daemon, phone, _ = await self.served()
        return daemon, phone, await self.bridge(daemon, broker.url, **settings)

    async def watched(self) -> tuple[Mosquitto, Daemon, Phone, Process, Watcher]:
        """A broker, such a board, and a watcher, once the phone is online."""
        broker = await self.mosquitto()
        board = await self.board(broker)
        return broker, *board, await self.online(broker)

    async def board_as(self, user: str, password: str, broker: Mosquitto) -> tuple[Daemon, Phone, Process]:
        """The same, with a user and a password for the broker."""
        return await self.board(broker, user=user, password_file=str(self.secret("password", password)))

    async def scripted_board(self, broker: Mosquitto | Relay, /, **settings: Any) -> tuple[Daemon, VirtualPhone, Process]:
        """The same with `ancsd phone`, which obeys commands."""
        phone = await self.virtual_phone()
        daemon = await self.daemon(phone)
        await daemon.event("subscribed")
        return daemon, phone, await self.bridge(daemon, broker.url, **settings)
