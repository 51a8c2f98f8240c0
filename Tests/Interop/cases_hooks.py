# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that the daemon runs, and what it remembers over a short break."""

import asyncio
import json
import os
import signal
from pathlib import Path

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Process, run

from .testbed import NO_SELF, Testbed


def script(bed: Testbed, name: str, body: str) -> Path:
    path = bed.work / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@case("hooks")
async def hooks(bed: Testbed) -> None:
    """A program for each of 100 notifications, next to one that hangs: none is lost, and all end."""
    told = bed.work / "told"
    # A line that short is appended at once.
    lamp = script(bed, "lamp", f'read -r event; echo "$ANCSD_UID $ANCSD_TITLE" >>{told}; ls /proc/self/fd | wc -l >>{told}.fds')
    hung = script(bed, "hung", "trap '' TERM; sleep 600")
    copy = script(bed, "copy", f"cat >{bed.work}/copy.json; echo copied")
    daemon, phone, _ = await bed.served(
        "--exec", f"notification={lamp}", "--exec", f"subscribed={hung}", "--exec",
        f"subscribed={copy}", "--exec-timeout", "3", "--exec-jobs", "8",
    )  # fmt: skip
    phone.ancs.post(*(Notification(uid, title=f"t {uid}") for uid in range(1, 101)))
    await eventually(lambda: told.exists() and len(told.read_text().splitlines()) == 100, "not every notification had its program", 20)
    check(set(told.read_text().splitlines()) == {f"{uid} t {uid}" for uid in range(1, 101)}, "a program got another event")
    # Standard input, output and error, and the directory that is listed.
    check(set(Path(f"{told}.fds").read_text().split()) == {"4"}, "a program inherited a descriptor")
    event = json.loads((bed.work / "copy.json").read_text())
    check(event["event"] == "subscribed", f"the program got {event}")
    await eventually(lambda: "ran longer than 3 s" in daemon.log, "it does not report that a program hangs", within=10)
    check("copy: copied" in daemon.log, "what a program prints is not in the log")


@case("settings")
async def settings(bed: Testbed) -> None:
    """A file sets options, hooks and rules; SIGHUP applies a changed one while the phone is served, and refuses an
    invalid one; `config` reports all errors, and what is in force."""
    told = bed.work / "told"
    lamp = script(bed, "lamp", f'echo "$ANCSD_TITLE" >>{told}')
    file = bed.work / "ancsd.toml"
    file.write_text(f"""
grace = 60
[[hook]]
event = "notification"
run = "{lamp}"
[[rule]]
title = "^Mum$"
urgent = true
[[rule]]
app = "com.spam.*"
show = false
""")
    daemon, phone, _ = await bed.served("--config", str(file))
    await daemon.passes_on(phone, Notification(1, app_id="com.spam.a", title="spam"), Notification(2, title="good"))
    daemon.none("notification", uid=1)
    shown = await bed.client(daemon, "config", "show", "--format", "text")
    check(f"grace = 60  # {file}:2" in shown.out, f"config show printed {shown.out}")
    full = await run("/bin/sh", "-c", '"$0" config show --socket "$1" >/dev/full', bed.binary, daemon.socket)
    check(full.status == 73, f"config show to a full disk: {full}")
    why = (await bed.client(daemon, "rules", "explain", "1", "--text")).expect(0).out
    check("undecided “1”: its title was not fetched" in why and "counts “2”: hide" in why, f"rules explain printed {why!r}")

    file.write_text("[[rule]]\nurgent = true\n")
    daemon.send_signal(signal.SIGHUP)
    await eventually(lambda: "settings were read again" in daemon.log, "it does not say so")
    event = await daemon.passes_on(phone, Notification(3, app_id="com.spam.a", title="spam"))
    check(event.get("urgent") is True, f"the new rule does not count: {event}")

    file.write_text("[[rule]]\nurgnet = true\nnmae = 1\n")
    daemon.send_signal(signal.SIGHUP)
    await eventually(lambda: "keeping the old settings" in daemon.log, "a wrong file is taken")
    event = await daemon.passes_on(phone, Notification(4))
    check(event.get("urgent") is True, f"the old rule does not count any more: {event}")
    check(told.read_text().split() == ["good"], f"programs were run for {told.read_text()}")
    checked = await bed.client(daemon, "config", "check", str(file))
    check(checked.status == 78 and len(checked.err.splitlines()) == 2, f"config check: {checked}")
    check("did you mean urgent?" in checked.err, f"config check: {checked.err}")


@case("hooks-unreaped")
async def hooks_unreaped(bed: Testbed) -> None:
    """Started with SIGCHLD ignored, so that exit statuses would be discarded, it runs programs and exits as usual."""
    told = bed.work / "told"
    lamp = script(bed, "lamp", f"echo $ANCSD_UID >>{told}")
    bed.runner = ["bash", "-c", 'trap "" CHLD; exec "$@"', "bash"]
    daemon, phone, _ = await bed.served("--exec", f"notification={lamp}")
    phone.ancs.post(*map(Notification, range(1, 4)))
    await eventually(lambda: told.exists() and len(told.read_text().splitlines()) == 3, "no program was run", within=20)
    await daemon.stop()
    check("not started" not in daemon.log, daemon.log)


@case("log", native=NO_SELF)
async def log(bed: Testbed) -> None:
    """A history is kept if the settings ask for it: by a separate process, without texts, only for its owner."""
    file = bed.work / "ancsd.toml"
    kept = bed.work / "history" / "log.db"
    kept.parent.mkdir()
    file.write_text(f"[log]\nfile = '{kept}'\n")
    daemon, phone, _ = await bed.served("--config", str(file))
    await daemon.passes_on(phone, Notification(1, title="secret title"), Notification(2, app_id="com.slack", title="other"))

    async def entries(*words: str) -> list[dict]:
        # While the daemon runs, it says where the file is.
        place = ["--socket", daemon.socket] if daemon.running else ["--file", kept]
        return (await bed.run("log", *place, "--json", *words)).objects

    async def there() -> bool:
        return any(entry.get("uid") == 2 for entry in await entries())

    for _ in range(60):
        if kept.exists() and await there():
            break
        await asyncio.sleep(0.25)
    found = await entries("--app", "com.slack")
    check([entry["uid"] for entry in found] == [2], f"log printed {found}")
    check(kept.stat().st_mode & 0o777 == 0o600, f"its mode is {kept.stat().st_mode:o}")
    check(all("title" not in entry for entry in await entries()), "titles are kept")
    (await bed.run("log", "--file", str(bed.work / "nothing"))).expect(66)
    # What follows ends with its reader, though nothing arrives.
    read, write = os.pipe()
    follower = Process([bed.binary, "log", "--follow", "--socket", str(daemon.socket)], bed.out / "follower")
    await bed.start(follower, out=write)
    os.close(write)
    check(os.read(read, 1) != b"", "nothing was printed")
    await asyncio.sleep(0.5)
    os.close(read)
    check(await follower.ended() == 0 and not follower.log, f"it ended with {follower.ending}: {follower.log}")
    # The history outlives the daemon, and the next daemon appends to it.
    await daemon.stop()
    before = await entries()
    check([entry["event"] for entry in before].count("disconnected") == 1, f"the end is not kept: {before}")
