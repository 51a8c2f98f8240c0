#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the symbols of the functions that a program calls: those of a start, then those of normal operation. scripts/order
says what for. The arguments are ancsd or ancsd-mqtt with its symbols, and the file to write."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench import runs  # noqa: E402
from Bench.runs import INSTRUCTIONS  # noqa: E402
from Fleet.certificates import Authority  # noqa: E402
from Fleet.mosquitto import Mosquitto  # noqa: E402
from Fleet.watcher import Watcher  # noqa: E402
from Harness.case import eventually  # noqa: E402
from Harness.process import PIPE, Daemon, Process, VirtualPhone  # noqa: E402

#: Notifications in the session.
COUNT = 50
#: The timeout for a start under valgrind, in seconds.
PATIENCE = 60


def functions(profile: Path) -> set[str]:
    """The functions in a profile. A recursive one occurs several times, with a number; one without a name has its address."""
    names = re.findall(r"^c?fn=\(\d+\) (?!0x|\(below)(\S+)$", profile.read_text(errors="replace"), re.MULTILINE)
    return {re.sub(r"'\d+$", "", name) for name in names}


def of_daemon(binary: Path, work: Path) -> list[set[str]]:
    """The daemon's functions: to be ready, and for a session."""
    ancsd = runs.ancsd(binary, work)
    with runs.ready(ancsd, work, INSTRUCTIONS):
        pass
    start = functions(work / "tool")
    runs.run(ancsd, work, COUNT, tool=INSTRUCTIONS, clients=1)
    return [start, functions(work / "tool")]


async def of_bridge(binary: Path, work: Path) -> list[set[str]]:
    """The bridge's functions: to connect, with an idle phone; for notifications, requests and a reconnection; the same over TLS."""
    tls = Authority(work / "tls").certify("broker", "127.0.0.1").parent
    broker = await Mosquitto(work, work / "broker", tls=tls).up()
    phone = await VirtualPhone(binary.with_name("ancsd"), work / "phone", work / "phone.log").start(PIPE)
    daemon = await Daemon(
        [binary.with_name("ancsd"), "run", "--att", f"unix:{work}/phone", "--state-dir", work / "state", "--format", "json"],
        work / "daemon", work / "control").start()
    watcher = await Watcher(broker.port).start()

    async def played(url: str, works: bool, settings: str = "") -> set[str]:
        profile = work / "profile"
        file = work / "mqtt.toml"
        file.write_text(f'[mqtt]\nurl = "{url}"\nboard = "b"\n{settings}')
        since = watcher.now
        command = [binary, "--config", file, "--socket", work / "control", "--state-dir", work / "bridge"]
        bridge = await Process(INSTRUCTIONS.wrap([str(word) for word in command], profile), work / "bridge.log").start()
        await watcher.message("ancsd/b/phone/iphone/counts", since=since, within=PATIENCE)
        if works:
            await phone.do("burst", count=COUNT, title="Mum", message="Saturday?")
            await eventually(lambda: len(watcher.of("ancsd/b/phone/iphone/event/notification", since)) >= COUNT,
                             "not all notifications were told", PATIENCE)
            for request in ("media.get", "notifications.list", "clear"):
                await watcher.ask(f"ancsd/b/phone/iphone/request/{request}", within=PATIENCE)
            await watcher.ask("ancsd/b/request/media.command", {"command": "toggle"}, within=PATIENCE)
            await broker.down()
            await asyncio.sleep(3)
            since = watcher.now
            await broker.up()
            await watcher.message("ancsd/b/phone/iphone/counts", since=since, within=PATIENCE)
        # What is published soon after, and the ping of an idle connection.
        await asyncio.sleep(35)
        await bridge.close()
        return functions(profile)

    try:
        return [await played(broker.url, False), await played(broker.url, True),
                await played(f"mqtts://127.0.0.1:{broker.tls_port}", True, f'ca-file = "{tls}/ca.pem"\n')]
    finally:
        watcher.close()
        for process in (daemon, phone, broker):
            await process.close()


def main() -> None:
    binary, order = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        is_bridge = binary.name == "ancsd-mqtt"
        parts = asyncio.run(of_bridge(binary, work)) if is_bridge else of_daemon(binary, work)
    names: list[str] = []
    for part in parts:
        names += sorted(part - set(names))
    order.write_text("".join(f"{name}\n" for name in names))
    print(f"{order.name}: {len(parts[0])} functions of a start, {len(names) - len(parts[0])} more")


if __name__ == "__main__":
    main()
