# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` on the odd device: subscriptions, the link itself, the prompt, and commands from a pipe."""

import asyncio
import signal

from Harness import att
from Harness.case import case, check, eventually, expect, patient

from .link import Link
from .peers import ignore, pass_through
from .prompt import Prompt
from .testbed import Testbed


@case("gatt-subscribe")
async def subscribe(bed: Testbed) -> None:
    """Notifications until there are enough, a signal or a time-out; then the subscription is removed."""
    device = bed.device()
    temperature = device.server.temperature
    process = await bed.start_gatt(device, "subscribe", "2A6E", "-n", "3")
    await process.event("subscribed")
    for value in (b"\x00\x00", b"\x66\x08", b"\x00\x80", b"\x01\x00"):
        device.link.notify(temperature.handle, value)
    ended = (await process.outcome()).expect(0)
    values = list(process.since(0, "notification"))
    check(not ended.err, f"it says {ended.err!r}")
    check([v["value"] for v in values] == ["0000", "6608", "0080"], f"it printed {values}")
    expect(values[1], decoded={"temperature": 21.5})
    writes = [p[1:] for p in device.link.received if p[0] == att.WRITE]
    check(writes == [b"\x35\0\1\0", b"\x35\0\0\0"], f"the configuration was written as {writes}")

    process = await bed.start_gatt(device, "subscribe", "0x0092")
    await process.event("subscribed")
    await process.stop(signal.SIGINT)
    check(not process.log, f"after SIGINT it says {process.log!r}")
    last = [p[1:] for p in device.link.received if p[0] == att.WRITE][-1]
    check(last == b"\x93\0\0\0", f"the configuration remains: {last.hex()}")

    # The time begins with the program, and an emulated one is slow to subscribe.
    timed = ("subscribe", "0x0092", "--timeout", str(patient(1)))
    (await bed.gatt(device, *timed)).expect(0)
    (await bed.gatt(device, *timed, "-n", "1")).expect(75)

    process = await bed.start_gatt(device, "subscribe", "2A6E")
    await process.event("subscribed")
    device.disconnect()
    ended = (await process.outcome()).expect(69)
    check("the device ended it" in ended.err, f"it says {ended.err!r}")


@case("gatt-link")
async def link(bed: Testbed) -> None:
    """The MTU, no device, and a wrong command line, each with its exit status."""
    device = bed.device(100)
    for offered, agreed in ((517, 100), (64, 64), (23, 23)):
        found = (await bed.gatt(device, "mtu", "--mtu", str(offered))).expect(0).objects
        check(found == [{"event": "mtu", "mtu": agreed}], f"offered {offered}: {found}")

    # A device without MTU exchange has the minimum MTU.
    device.intercept = lambda _link, pdu: (
        [att.error(pdu[0], 0, att.REQUEST_NOT_SUPPORTED)] if pdu[0] == att.MTU_REQUEST else None
    )
    found = (await bed.gatt(device, "mtu")).expect(0).objects
    check(found[0]["mtu"] == 23, f"{found}")
    device.intercept = pass_through

    where = f"unix:{bed.work / 'nowhere'}"
    nobody = (await bed.run("gatt", "--att", where, "tree")).expect(69)
    check("nobody listens there" in nobody.err, f"{nobody.err!r}")
    (await bed.run("gatt", "tree")).expect(64)


@case("gatt-prompt")
async def prompt(bed: Testbed) -> None:
    """The prompt: completion, history, values above the line that is typed, Ctrl-C and Ctrl-D."""
    device = bed.device()
    shell = Prompt(bed.binary, "gatt", *device.gatt_options)
    here = f"[{device.path}]> "
    away = "[not connected]> "
    await shell.shows("the MTU is 185", here)
    await edit(shell, here)
    shell.type("subscribe 2A6E\r")
    await shell.shows("subscribed to notifications of 0x0031 Temperature (2A6E)", here)
    shell.type("read 0x00")
    await shell.shows("read 0x00")
    device.link.notify(device.server.temperature.handle, b"\x66\x08")
    await shell.shows("0x0031 Temperature (2A6E): 66 08  Temperature: 21.5 °C\n" + here + "read 0x00")
    shell.type("92\r")
    await shell.shows("0x0092 Battery Level (2A19): 57  Battery: 87 %", here)
    shell.type("half a line\x03")
    await shell.shows("^C", here)
    shell.type("\x1b")  # ESC alone must not make it wait for the rest of a key
    device.link.notify(device.server.temperature.handle, b"\x00\x00")
    await shell.shows("Temperature: 0 °C")
    await asyncio.sleep(0.2)  # what comes right after an ESC belongs to the same key
    shell.type("write 0x0023 text:\"a  b\"\r")
    await shell.shows("wrote 4 bytes to 0x0023")
    check(device.server.long == b"a  b", f"the device has {device.server.long!r}")
    shell.type("dance\r")
    await shell.shows("unknown command")
    shell.type("help wri\t\t")
    await shell.shows("write          write-command")
    shell.type("\r")
    await shell.shows("write 0x002A 0102ff", here)
    device.link.notify(0x0221, b"\x05")  # without a subscription on this link
    await shell.shows("0x0221 Battery Level (2A19): 05  Battery: 5 %", here)
    # Ctrl-C ends the wait for a silent device, and with it the link.
    device.intercept = ignore
    shell.type("read 0x0003\r")
    await eventually(lambda: device.link.unanswered, "it does not read")
    shell.type("\x03")
    await shell.shows(away)
    device.intercept = pass_through
    shell.type("connect\r")
    await shell.shows("connected to", here)
    device.disconnect()
    await shell.shows("the link was lost: the device ended it", away)
    shell.type("mtu\r")
    await shell.shows("not connected")
    shell.type("\x04")
    check(await shell.end() == 0, f"it ended with {shell.status}")


@case("gatt-prompt-link")
async def prompt_link(bed: Testbed) -> None:
    """The prompt ends a link that does not come about: where --security is refused, and at Ctrl-C, also if it then would."""
    device = bed.device()
    away = "[not connected]> "
    for options in ([], ["--security", "medium"]):
        held: list[Link] = []

        def hold(link: Link, pdu: bytes) -> list[bytes] | None:
            """Leaves the request for the MTU unanswered."""
            if pdu[0] != att.MTU_REQUEST or options:
                return None
            held.append(link)  # noqa: B023
            return []

        device.intercept = hold
        shell = Prompt(bed.binary, "gatt", *device.gatt_options, *options)
        if options:
            await shell.shows("a socket is treated as secure", away)
        else:
            await eventually(lambda: held, "it does not ask for the MTU")  # noqa: B023
            shell.type("\x03")
            await shell.shows(away)
        await device.dropped(device.link, within=5)
        shell.type("mtu\r")
        await shell.shows("not connected", away)
        shell.type("\x04")
        check(await shell.end() == 0, f"it ended with {shell.status}")


async def edit(shell: Prompt, here: str) -> None:
    """Completion, deletion of a line, and history."""
    shell.type("rea\t2A00\r")
    await shell.shows("0x0003 Device Name (2A00)", here)
    shell.type("tree\r")
    await shell.shows("secondary service", here)
    shell.type("read 0x02\t")
    await shell.shows("0x0211 Battery Level")
    await shell.shows("0x0222 Client Characteristic Configuration")
    shell.type("22")
    shell.type("\x15read 2A0\t")
    await shell.shows("2A00 Device Name")
    await shell.shows("2A01 Appearance")
    shell.type("1\r")
    await shell.shows("Appearance: 0x0040", here)
    shell.type("\x1b[A\x1b[A\x1b[A\r")
    await shell.shows("0x0003 Device Name (2A00)", here)


@case("gatt-script")
async def script(bed: Testbed) -> None:
    """Commands from a pipe, one after the other; the exit status is that of the last failure."""
    device = bed.device()
    lines = b"mtu\n# a remark\n\nread 0x0092\nwrite 0x0023 0102\nread 0x0023\nquit\nread 0x0003\n"
    found = (await bed.gatt(device, stdin=lines)).expect(0).objects
    names = [e["event"] for e in found]
    check(names == ["connected", "mtu", "value", "written", "value"], f"it printed {found}")
    check(found[-1]["value"] == "0102", f"{found[-1]}")
    outcome = await bed.gatt(device, stdin=b"read 0x0999\nbogus\nread 0x0092\nread 0x0041")
    outcome.expect(1)
    check(len(outcome.err.splitlines()) == 3, f"it says {outcome.err!r}")
    check([e["event"] for e in outcome.objects] == ["connected", "value"], f"{outcome.out!r}")
    (await bed.gatt(device, stdin=b"bogus\n")).expect(64)
    (await bed.run("gatt", "--att", "unix:/nowhere", stdin=b"mtu\n")).expect(69)
