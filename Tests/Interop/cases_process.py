# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon as a process: how it ends, what it prints, what it keeps on disk, what it costs when idle."""

import asyncio
import json
import os
import signal
import sqlite3
import struct
from pathlib import Path

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Daemon, clean
from Harness.testbed import check_served

from .peers import ignore
from .prompt import Prompt
from .testbed import Testbed


async def restart(daemon: Daemon) -> None:
    since = daemon.now
    await daemon.start()
    await daemon.event("subscribed", since=since)


@case("signals")
async def signals(bed: Testbed) -> None:
    """SIGTERM ends it cleanly with 143 at any moment, and it dies of SIGINT; the control socket is removed."""

    async def one(part: Testbed, moment: str) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            phone = part.phone(listen=moment != "no phone")
            if moment == "mute phone":
                phone.intercept = ignore
            daemon = await part.daemon(phone)
            await daemon.event("ready")
            if moment == "mute phone":
                await phone.connected()
            elif moment == "serving":
                await daemon.event("subscribed")
            elif moment == "busy":
                await daemon.event("subscribed")
                phone.ancs.post(*map(Notification, range(1, 301)))
                await daemon.event("notification", uid=2)
            daemon.send_signal(number)
            found = await daemon.ended(5)
            check(found == clean(number), f"after {number.name} it ended with {found}")
            check(not daemon.socket.exists(), "the control socket is left behind")

    await bed.every(["no phone", "mute phone", "serving", "busy"], one)


@case("terminal-closed")
async def terminal_closed(bed: Testbed) -> None:
    """A closing terminal ends the daemon and `forward`; they do not take it for a request to read their settings again."""

    async def one(part: Testbed, what: str) -> None:
        socket, printed, file = part.work / "socket", part.work / "printed", part.work / "settings.toml"
        file.write_text('[[forward]]\nto = "json://127.0.0.1:9/board"\n')
        command = {"run": ["--virtual-phone", "--state-dir", part.state], "forward": ["forward", "--config", file]}[what]
        words = [part.binary, *command, "--socket", socket]
        running = Prompt(Path("/bin/sh"), "-c", f'exec "$@" >{printed} 2>&1', "sh", *map(str, words))
        await eventually(lambda: printed.exists() and printed.stat().st_size > 0, "it prints nothing")
        status = await running.hang_up()
        check(status == 143, f"it ended with {status}: {printed.read_text()}")
        check(not socket.exists(), "the control socket is left behind")

    await bed.every(["run", "forward"], one)


@case("privileges", native="qemu-user does not know PR_SET_DUMPABLE")
async def privileges(bed: Testbed) -> None:
    """Once its sockets are open it has no capability left, whoever started it, and nobody can look into it."""
    phone = bed.phone()
    daemon = await bed.daemon(phone, environment={"SWIFT_BACKTRACE": "enable=yes"})
    await daemon.event("subscribed")
    await check_served(daemon, phone, 1)
    held = procfs.privileges(daemon.pid)
    check(held["NoNewPrivs"] == 1 and held["core"] == 0, f"it holds {held}")
    check(not any(held[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")), f"it holds {held}")
    crashes = sum(1 << number - 1 for number in (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV))
    check(not held["SigCgt"] & crashes, "a crash would print its memory")
    if os.geteuid() == 0:
        check(held["CapBnd"] == 0, f"it could gain {held['CapBnd']:x}")


@case("one-thread", alone=True, native="qemu-user has a thread of its own, which wakes up")
async def one_thread(bed: Testbed) -> None:
    """One thread while it serves, and no wake-up in five idle seconds."""
    daemon, phone, since = await bed.served()
    phone.ams.play(0, playing=False)
    phone.ancs.post(*(Notification(n, message="x" * 900) for n in range(1, 101)))
    most = 0
    while daemon.find("notification", since, uid=100) is None:
        most = max(most, procfs.status(daemon.pid)["Threads"])
        await asyncio.sleep(0.005)
    check(most <= 1, f"{most} threads while notifications come")
    await daemon.settled("media", quiet=1)
    before = procfs.wake_ups(daemon.pid)
    await asyncio.sleep(5)
    woke = procfs.wake_ups(daemon.pid) - before
    check(woke == 0, f"it woke up {woke} times in five idle seconds")
    threads = procfs.status(daemon.pid)["Threads"]
    check(threads == 1, f"{threads} threads when idle")


@case("two-daemons")
async def two(bed: Testbed) -> None:
    """A second daemon on the same control socket is refused; a socket left behind is no obstacle."""
    daemon, phone, _ = await bed.served()
    outcome = await bed.client(
        daemon, *bed.phone().gatt_options, "--state-dir", bed.work / "other", "--format", "json"
    )
    check(outcome.status in (69, 75), f"a second daemon ended with {outcome.status}")
    check(len(outcome.err.strip().splitlines()) == 1, f"it printed {outcome.err!r}")
    check(isinstance(await daemon.call("status"), dict), "the first one has lost its socket")
    await daemon.kill()
    check(daemon.socket.exists(), "a killed daemon removed its socket")
    await restart(daemon)
    await check_served(daemon, phone, 1)


@case("large-files", seconds=180)
async def large_files(bed: Testbed) -> None:
    """Captures of more than 2 GiB and histories of more than 4 GiB, which 32 bits do not count, are read to their ends."""
    capture, record = bed.work / "large.btsnoop", 1 << 18
    # Most of both is holes.
    with capture.open("wb") as file:
        file.write(b"btsnoop\0" + struct.pack(">II", 1, 2001))
        for number in range((1 << 31) // record + 1):
            file.seek(16 + number * record)
            file.write(struct.pack(">IIIIQ", record - 24, record - 24, 0x50000, 0, 0xE0_3AB4_4A67_6000))
        file.seek(end := 16 + (number + 1) * record)
        file.write(b"cut off")
    decoded = (await bed.run("decode", capture, within=120)).expect(0)
    check(f"truncated at byte {end}" in decoded.err, f"decode reported {decoded.err!r}")

    history, first = bed.work / "log.db", 1 << 40
    base = sqlite3.connect(history, isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute(
        "CREATE TABLE event (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, life TEXT NOT NULL, seq INTEGER NOT NULL, "
        "app_id TEXT NOT NULL, app TEXT NOT NULL, line TEXT NOT NULL)"
    )
    base.close()
    # The header's number of pages: new ones come after them (sqlite.org/fileformat2.html).
    with history.open("r+b") as file:
        file.seek(28)
        file.write(struct.pack(">I", pages := (1 << 32) // 4096 + 1))
        file.truncate(pages * 4096)
    base = sqlite3.connect(history, isolation_level=None)
    for seq in range(first, first + 3):
        line = json.dumps({"event": "battery", "seq": seq, "time": "2039-01-01T00:00:00.000Z", "level": 1})
        base.execute(
            "INSERT INTO event (time, life, seq, app_id, app, line) VALUES (?, 'a', ?, '', '', ?)",
            (2_177_452_800_000, seq, line + " " * 5_000),
        )
    base.close()
    check(history.stat().st_size > pages * 4096, "the events are not behind the holes")
    found = (await bed.run("log", "--file", history, "--json", "--since", "2038-12-31T00:00Z")).expect(0).objects
    check([event["seq"] for event in found] == [*range(first, first + 3)], f"log printed {found}")
