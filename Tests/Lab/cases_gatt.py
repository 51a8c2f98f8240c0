# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` as the central of a peripheral with the odd database, over a real kernel."""

import asyncio
import json
import os

from Harness.case import case, check, eventually
from Harness.odd_device import LONG_VALUE, check_tree
from Harness.process import Process
from Interop.prompt import Prompt

from .phone import Io
from .sensor import ADDRESS, NAME
from .testbed import Testbed


@case("gatt-central", seconds=90)
async def central(bed: Testbed) -> None:
    """`ancsd gatt` finds a peripheral, connects to it, discovers, reads, writes and subscribes."""
    sensor = await bed.sensor()
    server = sensor.server
    adapter = f"--{bed.adapter.name}"
    scan = ("gatt", adapter, "-n", "1", "scan", "--format", "json")
    found = (await bed.run(*scan, within=20)).expect(0).objects
    last = [e for e in found if e["address"] == ADDRESS][-1]
    check(last["type"] == "random" and last["connectable"], f"the scan says {last}")
    check(last.get("name") == NAME, f"the scan says {last}")
    check("180F" in json.dumps(last["advertised"]), f"the scan says {last}")

    check_tree((await bed.gatt(sensor, "tree")).expect(0).objects)
    long = (await bed.gatt(sensor, "read", "0x0023", "--print", "hex")).expect(0).out.strip()
    check(long == LONG_VALUE.hex(), f"the long value is {long}")
    (await bed.gatt(sensor, "write", "0x0023", LONG_VALUE.hex()[2:])).expect(0)
    check(server.long == LONG_VALUE[1:], "the long value was not written")

    words = ("gatt", *sensor.gatt_options, "subscribe", "2A6E", "-n", "2", "--print", "hex")
    process = await bed.start(Process([bed.binary, *words], bed.out / "subscribe"))
    await eventually(
        lambda: sensor.connection and server.subscribed(sensor.connection, server.temperature),
        "no subscription", 15,
    )
    for value in (b"\x66\x08", b"\x00\x00"):
        sensor.notify(server.temperature.handle, value)
    outcome = (await process.outcome(10)).expect(0)
    check(outcome.out == "6608\n0000\n", f"it printed {outcome.out!r}")
    # It ends its links itself; the kernel alone would keep them for seconds.
    await eventually(lambda: sensor.connection is None, "the link is still up", 1)

    absent = ("--connect", "D4:00:00:00:00:01/random", "--timeout", "2", "tree")
    (await bed.run("gatt", adapter, *absent, within=20)).expect(75)


@case("gatt-security", seconds=90)
async def security(bed: Testbed) -> None:
    """`--security medium` pairs, encrypts with that key from then on, and pairs again after `unpair`."""
    sensor = await bed.sensor()
    sensor.server.trusts = lambda bearer: bearer.encryption != 0
    paired = ("--security", "medium", "read", "0x0211", "--print", "hex")
    refused = (await bed.gatt(sensor, "read", "0x0211")).expect(1)
    check("Insufficient Authentication (0x05)" in refused.err, refused.err)
    check("--security medium" in refused.err, f"there is no remedy: {refused.err}")
    for _ in range(2):
        check((await bed.gatt(sensor, *paired)).expect(0).out == "2a\n", "it printed something else")
    check(sensor.pairings == [True], f"Secure Connections in the pairings: {sensor.pairings}")

    sensor.forget()
    lost = (await bed.gatt(sensor, *paired)).expect(1)
    check("unpair" in lost.err, f"there is no remedy: {lost.err}")
    (await bed.gatt(sensor, "unpair")).expect(0)
    sensor.secure = False
    check((await bed.gatt(sensor, *paired)).expect(0).out == "2a\n", "it printed something else")
    check(sensor.pairings == [True, False], f"Secure Connections in the pairings: {sensor.pairings}")


@case("gatt-passkey")
async def passkey(bed: Testbed) -> None:
    """`--security high` asks on the terminal for the six digits that the peripheral shows."""
    sensor = await bed.sensor(Io.DISPLAY)
    sensor.server.trusts = lambda bearer: bool(bearer.authenticated)
    options = (*sensor.gatt_options, "--security", "high", "--print", "hex")
    process = Process([bed.binary, "gatt", *options, "read", "0x0211"], bed.out / "read")
    user, terminal = os.openpty()
    await bed.start(process, stdin=terminal)
    os.close(terminal)
    digits = await asyncio.wait_for(sensor.user.shown, 15)
    await eventually(lambda: "six digits" in process.log, "it does not ask for six digits", 15)
    os.write(user, f"{digits:06}\n".encode())
    outcome = (await process.outcome(20)).expect(0)
    os.close(user)
    check(outcome.out == "2a\n", f"it printed {outcome.out!r}")


@case("gatt-passkey-prompt")
async def passkey_prompt(bed: Testbed) -> None:
    """At the prompt, the line after a question that nobody asks any more is a command."""
    sensor = await bed.sensor(Io.DISPLAY)
    shell = Prompt(bed.binary, "gatt", *sensor.gatt_options, "--security", "high")
    await shell.shows("six digits")
    if sensor.connection:
        await sensor.connection.disconnect()
    await shell.shows("[not connected]> ")
    shell.type("mtu\r")
    await shell.shows("gatt: not connected", "[not connected]> ")
    shell.type("quit\r")
    check(await shell.end() == 0, f"the status is {shell.status}")
