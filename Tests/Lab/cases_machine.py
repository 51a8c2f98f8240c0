# SPDX-License-Identifier: GPL-3.0-or-later
"""What a board does to a daemon: the adapter goes, the radio is blocked, the process is killed."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
from pathlib import Path

from harness import Failure, Lab, case, check, eventually

RFKILL_BLUETOOTH, RFKILL_CHANGE = 2, 2


@case("unplugged")
async def unplugged(lab: Lab) -> None:
    """The adapter is pulled out and put back: the same daemon serves the same phone again."""
    from radio import Adapter

    daemon, phone, subscribed = await lab.served()
    lab.adapter.unplug()
    gone = await daemon.event("disconnected", since=subscribed)
    await eventually(lambda: not phone.connected, "the phone did not notice")
    await asyncio.sleep(0.5)
    check(daemon.running, f"ancsd ended with its adapter: {daemon.ending}")
    lab.adapter = await Adapter.plug(lab.air, lab.ADDRESS)
    await daemon.event("ready", since=gone)
    await phone.come()
    again = await daemon.event("subscribed", since=gone)
    await phone.notifications.post(lab.note(uid=4, title="plugged in again"))
    await daemon.event("notification", since=again, uid=4, title="plugged in again")
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("old-controller")
async def old_controller(lab: Lab) -> None:
    """A controller of Bluetooth 4.2, which has no extended advertising, serves as well."""
    from radio import Adapter

    lab.adapter.unplug()
    lab.adapter = await Adapter.plug(lab.air, lab.ADDRESS, extended=False)
    daemon, phone, subscribed = await lab.served()
    await phone.leave()
    last = await daemon.event("disconnected", since=subscribed)
    await phone.come()
    await daemon.event("subscribed", since=last)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("two-adapters")
async def two_adapters(lab: Lab) -> None:
    """One daemon serves a phone on each of two adapters; one is unplugged, the other serves on."""
    from radio import Adapter

    second = await Adapter.plug(lab.air, "F0:F1:F2:F3:F4:F6")
    lab.also(second)
    daemon = await lab.ancsd("--io", "none", f"--{second.name}")
    await daemon.event("ready", adapter=lab.adapter.name)
    await daemon.event("ready", adapter=second.name)
    phones = {
        lab.adapter: await lab.phone(),
        second: await lab.phone(address="C4:66:77:88:99:AA", name="Second"),
    }
    for adapter, phone in phones.items():
        phone.only = adapter.address
        await phone.come()
        await daemon.event("subscribed", adapter=adapter.name, phone=phone.address)
    second.unplug()
    gone = await daemon.event("disconnected", adapter=second.name)
    await phones[lab.adapter].notifications.post(lab.note(uid=1, title="still served"))
    await daemon.event("notification", since=gone, adapter=lab.adapter.name, title="still served")
    daemon.none("disconnected", adapter=lab.adapter.name)


@case("not-there-yet")
async def not_there_yet(lab: Lab) -> None:
    """An adapter that is not there yet is waited for, and a line says so."""
    from radio import Adapter

    lab.adapter.unplug()
    daemon = await lab.ancsd("--io", "none", ready=False)
    await eventually(
        lambda: lab.adapter.name in daemon.log, "no line says that the adapter is waited for"
    )
    check(daemon.running, f"ancsd did not wait: {daemon.ending}")
    daemon.none("ready")
    lab.adapter = await Adapter.plug(lab.air, lab.ADDRESS)
    await daemon.event("ready")


def rfkill(block: bool) -> None:
    """Blocks or unblocks every Bluetooth radio, as the switch on a laptop does."""
    event = struct.pack("<IBBBB", 0, RFKILL_BLUETOOTH, 3, int(block), 0)  # 3: change all of a type
    fd = os.open("/dev/rfkill", os.O_WRONLY)
    try:
        os.write(fd, event)
    finally:
        os.close(fd)


@case("rfkill")
async def blocked(lab: Lab) -> None:
    """The radio is blocked and unblocked: said in a line, and the phone is served again."""
    check(Path("/dev/rfkill").exists(), "there is no /dev/rfkill here (kernel module rfkill)")
    daemon, phone, subscribed = await lab.served()
    try:
        rfkill(True)
        lost = await daemon.event("disconnected", since=subscribed)
        await eventually(
            lambda: "rfkill" in daemon.log or "blocked" in daemon.log,
            "no line says that the radio is blocked",
        )
    finally:
        rfkill(False)
    # On 6.1 the controller goes on advertising without its host, and drops who comes meanwhile.
    await daemon.event("ready", since=lost, within=15)
    await phone.leave()
    await phone.come()
    await daemon.event("subscribed", since=lost)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("killed")
async def killed(lab: Lab) -> None:
    """kill -9 in the middle of a session, and a start: the phone comes back without pairing."""
    daemon, phone, _ = await lab.served()
    phone.notifications.fragment = 1  # so that a long answer is under way when the end comes
    await phone.notifications.post(lab.note(uid=1, message="x" * 900))
    await eventually(lambda: phone.notifications.seen.commands, "no attributes were asked for")
    await daemon.kill()
    since = daemon.now
    await phone.dropped()  # the kernel drops a link that nobody holds after 4 s
    phone.notifications.fragment = 0
    await daemon.start()
    await daemon.event("ready", since=since)
    await phone.come()
    again = await daemon.event("subscribed", since=since)
    await daemon.event("notification", since=again.index - 1, uid=1, message="x" * 900)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("no-bluetoothd")
async def no_bluetoothd(lab: Lab) -> None:
    """A phone is served with no bluetoothd and no message bus anywhere."""
    from daemon import processes

    daemon, _, _ = await lab.served()
    check(not processes("bluetoothd"), "a bluetoothd runs on this machine")
    pid = daemon.pid
    fds = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    # Whose socket a descriptor leads to is not in /proc: look for the library and the bus's name.
    maps = Path(f"/proc/{pid}/maps").read_text()
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    check("dbus" not in maps and "dbus" not in " ".join(fds), "ancsd has a D-Bus library loaded")
    check(
        b"DBUS" not in environment or lab.adapter.index > 0,
        "a message bus is in ancsd's environment",
    )


@case("bluetoothd-starts")
async def bluetoothd_starts(lab: Lab) -> None:
    """bluetoothd is started beside ancsd: one line says so; once it is gone, ancsd serves on."""
    daemon, phone, subscribed = await lab.served()
    lines = len(daemon.log.splitlines())
    bluetoothd = await start_bluetoothd(lab)
    await eventually(
        lambda: "bluetoothd" in "\n".join(daemon.log.splitlines()[lines:]),
        "no line says that bluetoothd runs",
        within=8,
    )
    check(daemon.running, f"ancsd ended: {daemon.ending}")
    bluetoothd.terminate()
    await asyncio.to_thread(bluetoothd.wait, 8)
    said = [line for line in daemon.log.splitlines()[lines:] if "bluetoothd" in line]
    check(len(said) <= 2, f"{len(said)} lines speak of bluetoothd")
    since = daemon.now
    if phone.connected:
        await phone.leave()
    await phone.come(within=15)
    await daemon.event("subscribed", since=subscribed if since == daemon.now else since, within=15)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("bluetoothd-runs")
async def bluetoothd_runs(lab: Lab) -> None:
    """bluetoothd runs already: ancsd says so and what to do about it, and leaves."""
    bluetoothd = await start_bluetoothd(lab)
    daemon = await lab.ancsd("--io", "none", ready=False)
    status = await daemon.ended()
    check(status == 69, f"ancsd ended with {daemon.ending}, not with 69 (unavailable)")
    said = daemon.log.splitlines()[1:]  # the first is its command line
    check(len(said) == 1 and "bluetoothd" in said[0], f"it is not said in one line: {said}")
    check("systemctl disable" in said[0], f"no word of what to do about it: {said}")
    check(bluetoothd.poll() is None, "bluetoothd did not run at all")


@case("silent-phone")
async def silent_phone(lab: Lab) -> None:
    """A phone goes without having said a byte: ancsd lives on, even where the kernel has a bug.

    Linux 6.1.192 runs into a BUG when the socket of such a link is closed, so ancsd leaves it open,
    and its own end would come to the same: there it is frozen instead.
    """
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    phone.mute = True
    await phone.connect()
    connected = await daemon.event("connected")
    await phone.leave()
    await daemon.event("disconnected", since=connected)
    phone.mute = False
    await phone.come()
    await daemon.event("subscribed", since=connected)
    if "left open" in daemon.log:
        daemon.freeze()


BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_type="signal"/><allow eavesdrop="true"/></policy></busconfig>"""


def start(lab: Lab, program: str, arguments: list[str], bus: Path) -> subprocess.Popen[bytes]:
    """A program of the unpacked bluez, or the machine's own, with a message bus of this case."""
    found = next(
        (p for p in (lab.bluez / "usr" / program, Path("/usr") / program) if p.exists()), None
    )
    if found is None:
        raise Failure(f"{program} is neither unpacked in {lab.bluez} nor installed")
    libraries = [str(p) for p in lab.bluez.glob("usr/lib/*-linux-gnu")] + [
        str(p) for p in lab.bluez.glob("lib/*-linux-gnu")
    ]
    environment = os.environ | {
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus}", "LD_LIBRARY_PATH": ":".join(libraries)
    }  # fmt: skip
    with (lab.out / f"{found.name}.log").open("wb") as log:
        process = subprocess.Popen([found, *arguments], env=environment, stdout=log, stderr=log)

    async def end() -> None:
        if process.poll() is None:
            process.kill()
            await asyncio.to_thread(process.wait, 5)

    lab.closing.append(end)
    return process


async def start_bluetoothd(lab: Lab) -> subprocess.Popen[bytes]:
    return start(lab, "libexec/bluetooth/bluetoothd", ["-n"], await start_bus(lab))


async def start_bus(lab: Lab) -> Path:
    path = lab.work / "bus"
    configuration = lab.work / "bus.conf"
    configuration.write_text(BUS.format(path=path))
    start(
        lab, "bin/dbus-daemon", [f"--config-file={configuration}", "--nofork", "--nopidfile"], path
    )
    await eventually(path.exists, "the message bus for bluetoothd did not start")
    return path


@case("doctor")
async def doctor(lab: Lab) -> None:
    """`ancsd doctor` says what is there and what keeps it from working, and changes nothing."""
    found, status = await examine(lab)
    check(found["daemon"]["verdict"] == "warning", f"without a daemon: {found['daemon']}")
    for name in ("kernel", "permission", "adapter", "bluetoothd", "state"):
        check(found[name]["verdict"] == "ok", f"{name}: {found[name]}")
    check(found["crypto"]["verdict"] != "problem", f"crypto: {found['crypto']}")
    check(status == 0, f"its status is {status}")
    daemon, phone, subscribed = await lab.served()
    found, status = await examine(lab)
    for name in ("daemon", "crypto"):
        check(found[name]["verdict"] == "ok", f"while served, {name}: {found[name]}")
    check(status == 0 and phone.connected, f"beside a session: status {status}")
    daemon.none("disconnected", since=subscribed)
    await daemon.stop()
    try:
        rfkill(True)
        found, status = await examine(lab)
    finally:
        rfkill(False)
    check(found["radio"]["verdict"] == "problem", f"blocked: {found['radio']}")
    check(found["radio"]["command"] == "rfkill unblock bluetooth", f"{found['radio']}")
    check(status == 69, f"blocked, its status is {status}")
    lab.adapter.unplug()
    found, status = await examine(lab)
    check(found["adapter"]["verdict"] == "problem", f"without an adapter: {found['adapter']}")
    check(status == 69, f"without an adapter its status is {status}")


async def examine(lab: Lab) -> tuple[dict[str, dict[str, str]], int]:
    """What doctor finds, the last finding of each check, and its exit status."""
    process = await asyncio.create_subprocess_exec(
        str(lab.binary), "doctor", "--format", "json", "--state-dir", str(lab.state),
        "--socket", str(lab.work / "control.sock"), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), 10)
    findings = [json.loads(line) for line in out.splitlines()]
    return {finding["check"]: finding for finding in findings}, process.returncode or 0
