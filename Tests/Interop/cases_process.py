# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon as a process: how it ends, what it prints, what it keeps on disk, what it costs idle."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from cases_setup import serves
from harness import Failure, check, eventually
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd

NASTY = "\x1b[2J\x1b]0;title\x07 \x9b31m \r\n\t\x00\x7f \u0085 \u2028 \u202e end"


def status_fields(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def threads(pid: int) -> int:
    return int(status_fields(pid)["Threads"])


def wake_ups(pid: int) -> int:
    """How often any of its threads slept and woke."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = status_fields(int(task.name))
        total += int(fields["voluntary_ctxt_switches"])
    return total


@case("signals")
async def signals(room: Room) -> None:
    """SIGTERM and SIGINT end it cleanly, with 143 and 130, at any moment; the socket is gone."""

    async def one(part: Room, moment: str) -> None:
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            phone = part.phone(listen=moment != "no phone")
            if moment == "mute phone":
                phone.intercept = lambda _link, _pdu: []
            daemon = await part.ancsd(phone)
            await daemon.event("ready")
            if moment == "mute phone":
                await phone.connected()
            elif moment == "serving":
                await daemon.event("subscribed")
            elif moment == "busy":
                await daemon.event("subscribed")
                await phone.notifications.post_all(part.note(n) for n in range(1, 301))
                await daemon.event("notification", uid=2)
            os.kill(daemon.pid, number)
            found = await daemon.ended(5)
            check(found == status, f"after {number.name} it ended with {found}, not {status}")
            check(not daemon.socket.exists(), "the control socket is left behind")

    await room.every(["no phone", "mute phone", "serving", "busy"], one)


@case("once")
async def once(room: Room) -> None:
    """--once leaves with 0 after the first disconnect."""
    daemon, phone, _ = await room.served("--once")
    await serves(room, daemon, phone, 1)
    phone.hang_up()
    found = await daemon.ended(5)
    check(found == 0, f"it ended with {found}")
    check(daemon.find("disconnected", 0, {}) is not None, "no disconnected event")
    check(len(phone.links) == 1, "it connected again")


@case("text-output")
async def text_output(room: Room) -> None:
    """--format text: what a person wants to read, and no control character of a notification."""
    phone = room.phone()
    daemon = await room.ancsd(phone, format="text")
    await phone.connected()
    await phone.notifies()
    await phone.notifications.post(
        room.note(1, title="Ευρυδίκη ☎️", message="First 🎂", positive="Reply")
    )
    await phone.notifications.post(
        room.note(2, title=NASTY, subtitle=NASTY, message=NASTY, positive=NASTY)
    )
    phone.notifications.apps[NASTY] = NASTY
    await phone.notifications.post(
        room.note(3, app_id=NASTY, title="third", message="line\nline " * 30)
    )
    await eventually(
        lambda: any("Sinnerman" in line for line in daemon.bad_lines), "what plays is not printed"
    )
    await phone.media.set({(2, 2): NASTY, (2, 0): NASTY, (0, 0): NASTY})
    await phone.notifications.post(room.note(4, title="the last one"))
    # Lines that are no JSON: the reader keeps them as they are.
    for _ in range(400):
        if any("the last one" in line for line in daemon.bad_lines):
            break
        await asyncio.sleep(0.02)
    printed = (daemon.directory / "events").read_bytes()
    lines = [line.split(b" ", 1)[1] for line in printed.splitlines(keepends=True) if b" " in line]
    text = b"".join(lines).decode("utf-8")
    daemon.bad_lines.clear()
    for wanted in (
        "Messages",
        "Ευρυδίκη ☎️",
        "First 🎂",
        "Reply",
        "third",
        "the last one",
        "Sinnerman",
    ):
        check(wanted in text, f"the text does not have {wanted!r}: {text[-300:]!r}")
    bad = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    check(not bad, f"a control character came through: {bad[:1]}")
    check("\u202e" not in text, "a mark that turns the text's direction came through")


@case("one-thread", alone=True)
async def one_thread(room: Room) -> None:
    """One thread while it serves, and no wake-up in five idle seconds."""
    daemon, phone, since = await room.served()
    await phone.media.play(0, playing=False)
    await phone.notifications.post_all(room.note(n, message="x" * 900) for n in range(1, 101))
    most = 0
    while daemon.find("notification", since, {"uid": 100}) is None:
        most = max(most, threads(daemon.pid))
        await asyncio.sleep(0.005)
    check(most <= 1, f"{most} threads while notifications come")
    await daemon.settled("media", quiet=1)
    before = wake_ups(daemon.pid)
    await asyncio.sleep(5)
    woke = wake_ups(daemon.pid) - before
    check(woke == 0, f"it woke up {woke} times in five idle seconds")
    check(threads(daemon.pid) == 1, f"{threads(daemon.pid)} threads when idle")


@case("state-kept")
async def state_kept(room: Room) -> None:
    """The state directory is private; a restart finds it again and tells no repetition as news."""
    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    await daemon.stop()
    check(room.state.is_dir(), "there is no state directory")
    check(
        stat.S_IMODE(room.state.stat().st_mode) == 0o700,
        f"its mode is {room.state.stat().st_mode:o}",
    )
    for file in (f for f in room.state.rglob("*") if f.is_file()):
        check(stat.S_IMODE(file.stat().st_mode) == 0o600, f"{file.name}: {file.stat().st_mode:o}")
    left = [f.name for f in room.state.rglob("*") if "tmp" in f.name or f.name.endswith("~")]
    check(not left, f"left behind: {left}")
    await daemon.start()
    await daemon.event("subscribed", since=daemon.now)
    await serves(room, daemon, phone, 2)


@case("state-unusable")
async def state_unusable(room: Room) -> None:
    """State files that are garbage are set aside under another name, said, and never overwritten."""
    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    phone.hang_up()
    await daemon.event("disconnected")
    await daemon.stop()
    files = [f for f in room.state.rglob("*") if f.is_file()]
    if not files:
        room.remark("nothing is kept over a socket")
    for file in files:
        file.write_bytes(b"\xff\0garbage{")
    await daemon.start()
    await daemon.event("subscribed", since=daemon.now)
    await serves(room, daemon, phone, 2)
    await daemon.stop()
    kept = [f.read_bytes() for f in room.state.rglob("*") if f.is_file()]
    check(kept.count(b"\xff\0garbage{") == len(files), "a file that could not be read is gone")
    if files:
        said = [line for line in daemon.log.splitlines() if files[0].name in line]
        check(said, f"the log has no line about {files[0].name}")


@case("state-impossible")
async def state_impossible(room: Room) -> None:
    """A state directory that can't be made or written: one line, or service without it; no crash."""

    async def one(part: Room, what: str) -> None:
        part.state.parent.mkdir(exist_ok=True)
        if what == "a file":
            part.state.write_text("in the way")
        elif what == "full":
            part.state = Path("/dev/full")
        else:
            part.state = Path("/proc/nowhere/state")
        phone = part.phone()
        daemon = await part.ancsd(phone)
        try:
            await daemon.event("subscribed")
        except Failure:
            check(not daemon.running, "it neither serves nor ends")
            check(
                daemon.ending in ("exit status 66", "exit status 73", "exit status 77"),
                daemon.ending,
            )
            said = [line for line in daemon.log.splitlines() if not line.startswith("---")]
            check(len(said) == 1, f"it said {said}")
        else:
            await serves(part, daemon, phone, 1)

    await room.every(["a file", "full", "impossible"], one)


@case("closed-output")
async def closed_output(room: Room) -> None:
    """Whoever reads standard output goes away: it ends, or serves on; it neither crashes nor spins."""
    phone = room.phone()
    read, write = os.pipe()
    process = await asyncio.create_subprocess_exec(
        str(room.binary), "--att", f"unix:{phone.path}", "--state-dir", str(room.state), "--socket",
        str(room.work / "control"), "--format", "json", stdout=write, stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    try:
        await phone.connected()
        await phone.notifies()
        os.close(read)
        for uid in range(1, 6):
            await phone.notifications.post(room.note(uid))
            await asyncio.sleep(0.1)
        if process.returncode is None:
            used = os.sysconf("SC_CLK_TCK")
            stat_before = cpu(process.pid)
            await asyncio.sleep(1)
            spent = (cpu(process.pid) - stat_before) / used
            check(spent < 0.2, f"it spends {spent:.1f} s of CPU a second with nobody to read")
        else:
            code = process.returncode
            crashes = (signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGBUS)
            check(-code not in crashes, f"it crashed: {code}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def cpu(pid: int) -> int:
    """Clock ticks of user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@case("two-daemons")
async def two(room: Room) -> None:
    """A second daemon on the same control socket is refused; a socket left behind is no obstacle."""
    daemon, phone, _ = await room.served()
    other = room.phone()
    outcome = await room.program(
        "--att", f"unix:{other.path}", "--state-dir", str(room.work / "other"),
        "--socket", str(daemon.socket), "--format", "json",
    )  # fmt: skip
    check(outcome.status in (69, 75), f"a second daemon ended with {outcome.status}")
    check(len(outcome.err.strip().splitlines()) == 1, f"it said {outcome.err!r}")
    check(isinstance(await daemon.call("status"), dict), "the first one has lost its socket")
    await daemon.kill()
    check(daemon.socket.exists(), "a killed daemon took its socket away")
    await restarted(daemon)
    await serves(room, daemon, phone, 1)


async def restarted(daemon: Ancsd) -> None:
    since = daemon.now
    await daemon.start()
    await daemon.event("subscribed", since=since)


@case("state-full-disk")
async def full_disk(room: Room) -> None:
    """The disk is full: it serves on, and what was saved before is still there, whole."""
    room.state.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(room.state))
    if os.geteuid() != 0 or await run_quietly(*mount) != 0:
        room.remark("not shown: a small file system can't be mounted here")
        return
    try:
        daemon, phone, _ = await room.served()
        await serves(room, daemon, phone, 1)
        phone.hang_up()
        await daemon.event("disconnected")
        await daemon.stop()
        saved = {f: f.read_bytes() for f in room.state.rglob("*") if f.is_file()}
        ballast = room.state / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(b"\0" * 512):
                pass
        await restarted(daemon)
        await serves(room, daemon, phone, 2)
        phone.hang_up()
        await daemon.event("subscribed", since=daemon.now)
        await serves(room, daemon, phone, 3)
        await daemon.stop()
        for file, before in saved.items():
            check(file.exists(), f"{file.name} is gone")
            now = file.read_bytes()
            check(
                len(now) >= len(before) // 2, f"{file.name} shrank from {len(before)} to {len(now)}"
            )
        ballast.unlink()
        await restarted(daemon)
        await serves(room, daemon, phone, 4)
        await daemon.stop()
    finally:
        await run_quietly("umount", "-l", str(room.state))


async def run_quietly(*command: str) -> int:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()
