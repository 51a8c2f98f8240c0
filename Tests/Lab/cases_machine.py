# SPDX-License-Identifier: GPL-3.0-or-later
"""What a board does to a daemon: the adapter goes, the radio is blocked, bluetoothd starts, the process is
killed."""

import os
from pathlib import Path

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import Failure, case, check, eventually
from Harness.process import Process

from .testbed import Testbed
from .vhci import blocked

NOBODY = 65534
CAP_NET_RAW = 1 << 13  # capabilities(7)


@case("two-adapters")
async def two_adapters(bed: Testbed) -> None:
    """One daemon serves a phone on each of two adapters; one is unplugged, the other serves on."""
    second = await bed.plug(bed.SECOND_ADDRESS)
    daemon = await bed.daemon("--io", "none", f"--{second.name}")
    await daemon.event("ready", adapter=bed.adapter.name)
    await daemon.event("ready", adapter=second.name)
    phones = {bed.adapter: await bed.phone(), second: await bed.second_phone()}
    for adapter, phone in phones.items():
        phone.only = adapter.address
        await phone.connect()
        await daemon.event("subscribed", adapter=adapter.name, phone=phone.address)
    second.unplug()
    gone = await daemon.event("disconnected", adapter=second.name)
    phones[bed.adapter].ancs.post(Notification(1, title="still served"))
    await daemon.event("notification", since=gone, adapter=bed.adapter.name, title="still served")
    daemon.none("disconnected", adapter=bed.adapter.name)


@case("killed")
async def killed(bed: Testbed) -> None:
    """kill -9 during a session, and a restart: the phone comes back without pairing."""
    daemon, phone, _ = await bed.served()
    phone.ancs.fragment = 1  # so that a long response is in progress when it is killed
    phone.ancs.post(Notification(1, message="x" * 900))
    await eventually(lambda: phone.ancs.commands, "no attributes were asked for")
    await daemon.kill()
    since = daemon.now
    await phone.dropped()  # the kernel ends a link without a socket after 4 s
    phone.ancs.fragment = 0
    await daemon.start()
    await daemon.event("ready", since=since)
    await phone.connect()
    again = await daemon.event("subscribed", since=since)
    await daemon.event("notification", since=again.index - 1, uid=1, message="x" * 900)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")


@case("bluetoothd-runs")
async def bluetoothd_runs(bed: Testbed) -> None:
    """bluetoothd runs already: ancsd says so and what to do about it, and ends."""
    bluetoothd = await start_bluetoothd(bed)
    daemon = await bed.daemon("--io", "none", ready=False)
    status = await daemon.ended()
    check(status == 69, f"ancsd ended with {daemon.ending}, not with 69 (unavailable)")
    said = daemon.log.splitlines()
    check(len(said) == 1 and "bluetoothd" in said[0], f"it is not one line: {said}")
    check("ancsd doctor" in said[0], f"it does not say what to do: {said}")
    check(bluetoothd.running, "bluetoothd did not run at all")


@case("silent-phone")
async def silent_phone(bed: Testbed) -> None:
    """A phone leaves without having sent anything: ancsd goes on, even on a kernel with a bug.

    Linux 6.1.192 crashes when the socket of such a link is closed, so ancsd leaves it open. Exiting would close it, so
    it is frozen instead.
    """
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    phone.mute = True
    await phone.open_link()
    connected = await daemon.event("connected")
    await phone.disconnect()
    await daemon.event("disconnected", since=connected)
    phone.mute = False
    await phone.connect()
    await daemon.event("subscribed", since=connected)
    if "leaving its socket open" in daemon.log:
        daemon.freeze()


BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_type="signal"/><allow eavesdrop="true"/></policy></busconfig>"""


async def start_bluetoothd(bed: Testbed) -> Process:
    """Starts bluetoothd with a message bus of its own: the unpacked one, or else the machine's."""
    bus, configuration = bed.work / "bus", bed.work / "bus.conf"
    configuration.write_text(BUS.format(path=bus))
    libraries = [*bed.BLUEZ.glob("usr/lib/*-linux-gnu"), *bed.BLUEZ.glob("lib/*-linux-gnu")]
    environment = {
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus}", "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }

    async def start(program: str, *options: str) -> Process:
        for path in (bed.BLUEZ / "usr" / program, Path("/usr") / program):
            if path.exists():
                process = Process([path, *options], bed.out / path.name)
                return await bed.start(process, environment=environment)
        raise Failure(f"{program} is neither unpacked in {bed.BLUEZ} nor installed")

    await start("bin/dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile")
    await eventually(bus.exists, "the message bus for bluetoothd did not start")
    return await start("libexec/bluetooth/bluetoothd", "-n")


@case("own-user", seconds=60)
async def own_user(bed: Testbed) -> None:
    """As a user of its own with two capabilities, of which it keeps one: pairs, and serves a replugged adapter."""
    os.chown(bed.work, NOBODY, NOBODY)
    needed = "+net_admin,+net_raw"
    user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    bed.runner = ["setpriv", *user, "--inh-caps", needed, "--ambient-caps", needed]
    daemon, phone, subscribed = await bed.served()
    held = procfs.privileges(daemon.pid)
    check(held["CapPrm"] == held["CapEff"] == CAP_NET_RAW, f"it holds {held}")
    check(held["CapAmb"] == 0 and held["NoNewPrivs"] == 1 and held["core"] == 0, f"it holds {held}")
    check(held["owner"] == 0, "its memory can be read by its user's other processes")
    await phone.disconnect()
    bed.adapter.unplug()
    gone = await daemon.event("error", since=subscribed)
    await bed.plug_again()
    await daemon.event("ready", since=gone)
    await phone.connect()
    await daemon.event("subscribed", since=gone)
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    # The connection parameters are asked for by raw HCI of the new adapter.
    await eventually(lambda: bed.adapter.controller.updates, "no parameters were asked for")


@case("doctor")
async def doctor(bed: Testbed) -> None:
    """`ancsd doctor` says what works and what does not, and changes nothing."""
    found, status = await examine(bed)
    check(found["daemon"]["verdict"] == "warning", f"without a daemon: {found['daemon']}")
    for name in ("kernel", "permission", "adapter", "state"):
        check(found[name]["verdict"] == "ok", f"{name}: {found[name]}")
    # The machine that runs the lab may have bluez, which the next boot would start.
    check(found["bluetoothd"]["verdict"] != "problem", f"bluetoothd: {found['bluetoothd']}")
    check(found["crypto"]["verdict"] != "problem", f"crypto: {found['crypto']}")
    check(status == 0, f"its status is {status}")
    daemon, phone, subscribed = await bed.served()
    found, status = await examine(bed)
    for name in ("daemon", "crypto"):
        check(found[name]["verdict"] == "ok", f"while served, {name}: {found[name]}")
    check(status == 0 and phone.connected, f"during a session: status {status}")
    daemon.none("disconnected", since=subscribed)
    await daemon.stop()
    async with blocked():
        found, status = await examine(bed)
    check(found["radio"]["verdict"] == "problem", f"blocked: {found['radio']}")
    check(found["radio"]["command"] == "rfkill unblock bluetooth", f"{found['radio']}")
    check(status == 69, f"blocked, its status is {status}")
    bed.adapter.unplug()
    found, status = await examine(bed)
    check(found["adapter"]["verdict"] == "problem", f"without an adapter: {found['adapter']}")
    check(status == 69, f"without an adapter its status is {status}")


@case("report")
async def report(bed: Testbed) -> None:
    """`ancsd report` has the controller's firmware and the last pairing, and none of the names and texts."""
    daemon, phone, _ = await bed.served()
    await daemon.passes_on(phone, Notification(10, title="Zephyrine", message="the quick brown fox"))
    outcome = await bed.run("report", "--state-dir", bed.state, "--socket", daemon.socket)
    text = outcome.out
    check(outcome.status == 0, f"its status is {outcome.status}")
    for words in ("firmware: HCI revision", "LE features: 0x", "## Last pairing and session",
                  "New Long Term Key", "Write Request 0x"):
        check(words in text, f"{words!r} is missing in {text}")
    for secret in ("Zephyrine", "quick brown", phone.address):
        check(secret.lower() not in text.lower(), f"{secret} is in {text}")


async def examine(bed: Testbed) -> tuple[dict[str, dict[str, str]], int]:
    """What doctor finds, by check, and its exit status."""
    options = ("--format", "json", "--state-dir", bed.state, "--socket", bed.socket())
    outcome = await bed.run("doctor", *options)
    return {finding["check"]: finding for finding in outcome.objects}, outcome.status
