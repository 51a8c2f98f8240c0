# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` on the odd device: everything is discovered, read and written as it should be."""

from __future__ import annotations

import asyncio
import signal

from Harness import att
from Harness.case import case, check, eventually, expect, patient
from Harness.odd_device import LONG, LONG_VALUE, check_tree

from .link import Link
from .peers import ignore, pass_through
from .prompt import Prompt
from .testbed import Testbed

MTUS = [23, 64, 185, 517]


@case("gatt-tree")
async def tree(bed: Testbed) -> None:
    """All services, included services, characteristics and descriptors, at several MTUs, in text and JSON."""

    async def one(part: Testbed, mtu: int) -> None:
        device = part.device(mtu)
        check_tree((await part.gatt(device, "tree", "--format", "json")).expect(0).objects)
        text = (await part.gatt(device, "tree", "--format", "text")).expect(0).out
        for line in (
            "service 0x0010–0x005F 6E400001-B5A3-F393-E0A9-E50E24DCCA9E",
            "  0x0012 includes 0x0090–0x0095 Battery (180F)",
            "  0x0030 characteristic 0x0031 Temperature (2A6E): read, notify, indicate",
            "    0x0038 Characteristic User Description (2901)",
            "secondary service 0x0100–0x010F 6E400003-B5A3-F393-E0A9-E50E24DCCA9E",
            "    0xFFFF Client Characteristic Configuration (2902)",
        ):
            check(line in text.splitlines(), f"“{line}” is not in the tree: {text!r}")
        primary = (await part.gatt(device, "primary", "--format", "json")).expect(0).objects
        check(len(primary) == 5, f"{len(primary)} primary services")
        batteries = (await part.gatt(device, "primary", "180f")).expect(0).objects
        check([s["start"] for s in batteries] == [0x90, 0x200], f"the batteries are {batteries}")
        (await part.gatt(device, "primary", "1805")).expect(1)

    await bed.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")


@case("gatt-read")
async def read(bed: Testbed) -> None:
    """Values by handle and by type: long ones whole, all of one type, also if one can't be read."""

    async def one(part: Testbed, mtu: int) -> None:
        device = part.device(mtu)
        for word in ("0x0023", LONG.lower()):
            found = (await part.gatt(device, "read", word)).expect(0).objects
            check([value["value"] for value in found] == [LONG_VALUE.hex()], f"at MTU {mtu}: {found}")
        levels = (await part.gatt(device, "read", "2A19")).expect(1)
        values = {v["handle"]: v["value"] for v in levels.objects}
        check(values == {0x92: "57", 0x221: "05"}, f"the levels are {values}")
        check("0x0211: Insufficient Authentication" in levels.err, f"it says {levels.err!r}")
        check(len(levels.err.splitlines()) == 1, f"it says {levels.err!r}")
        several = (await part.gatt(device, "read", "0x0038", "0x0031", "2A00")).expect(0).objects
        check([v["handle"] for v in several] == [0x38, 0x31, 0x03], f"several: {several}")
        expect(several[0], decoded={"text": "Of the “room”"})
        expect(several[1], decoded={"temperature": 21.5})
        expect(several[2], name="Device Name")

    await bed.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")
    device = bed.device()
    text = (await bed.gatt(device, "read", "0x0003", "--format", "text")).expect(0).out
    check("\x1b" not in text and "“odd ␛[31m one”" in text, f"a name reaches the terminal: {text!r}")
    for word, said in (
        ("0x0999", "Invalid Handle (0x01)"),
        ("0x0041", "Read Not Permitted (0x02)"),
        ("1234", "no attribute of this type"),
    ):
        refused = (await bed.gatt(device, "read", word)).expect(1)
        check(said in refused.err, f"reading {word}: {refused.err!r}")


@case("gatt-write")
async def write(bed: Testbed) -> None:
    """Requests, long writes, commands; refusals by name; a type that several attributes have."""

    async def one(part: Testbed, mtu: int) -> None:
        device = part.device(mtu)
        server = device.server
        written = (await part.gatt(device, "write", "0x0023", "01 02", "ff")).expect(0).objects
        check(server.long == b"\x01\x02\xff", f"the device has {server.long.hex()}")
        check(written[-1]["answered"] is True, f"{written}")
        value = bytes(range(200)) * 2 + b"end"
        (await part.gatt(device, "write", "0x0023", value.hex())).expect(0)
        check(server.long == value, f"at MTU {mtu} the device has {server.long.hex()}")
        (await part.gatt(device, "write-command", "0x0041", "u8:2")).expect(0)
        (await part.gatt(device, "write-command", "0x0105", "text:hello you")).expect(0)
        check(server.alerts == [b"\x02", b"hello you"], f"commands: {server.alerts}")

    await bed.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")
    device = bed.device()
    (await bed.gatt(device, "write", LONG, "text:by type")).expect(0)
    check(device.server.long == b"by type", f"the device has {device.server.long!r}")
    for words, status, said in (
        (["write", LONG, "text:no"], 1, "Application Error 0x80"),
        (["write", "0x0003", "00"], 1, "Write Not Permitted (0x03)"),
        (["write", "2A19", "00"], 64, "0x0092, 0x0211, 0x0221"),
        (["write", "0x0023", "0"], 64, "hexadecimal"),
        (["write", "23", "00"], 64, "neither a handle"),
        (["write-command", "0x0041", "00" * 200], 1, "does not fit into the MTU of 185"),
    ):
        refused = (await bed.gatt(device, *words)).expect(status)
        check(said in refused.err, f"{words}: {refused.err!r}")


@case("gatt-subscribe")
async def subscribe(bed: Testbed) -> None:
    """Notifications and indications until there are enough; then the subscription is removed."""
    device = bed.device()
    server, temperature = device.server, device.server.temperature
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

    process = await bed.start_gatt(device, "--indicate", "subscribe", "0x0031", "0x0221", "-n", "2")
    await process.event("subscribed", since=await process.event("subscribed"))
    check(server.configuration(device.link, temperature) == 2, "no indications of the temperature")
    device.link.indicate(temperature.handle, b"\x01\x00")
    await process.event("indication")
    device.link.indicate(server.other_level.handle, b"\x06")
    (await process.outcome()).expect(0)
    await device.dropped(device.link, within=5)
    check(device.link.confirmations() == 2, f"{device.link.confirmations()} confirmations")

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
    for word, said in (
        ("0x0023", "no Client Characteristic Configuration"),
        ("0x0600", "no characteristic"),
        ("0x0001", "no characteristic"),
    ):
        refused = (await bed.gatt(device, "subscribe", word)).expect(1)
        check(said in refused.err, f"subscribing to {word}: {refused.err!r}")

    process = await bed.start_gatt(device, "subscribe", "2A6E")
    await process.event("subscribed")
    device.disconnect()
    ended = (await process.outcome()).expect(69)
    check("the device ended it" in ended.err, f"it says {ended.err!r}")


@case("gatt-link")
async def link(bed: Testbed) -> None:
    """The MTU, requests from the device, no device, and wrong command lines, each with its exit status."""
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

    responses: list[bytes] = []

    async def ask(link: Link) -> None:
        responses.append(await link.request(att.by_type(att.READ_BY_TYPE, 0x2A00)))
        responses.append(await link.request(bytes([0x3E, 1])))

    device.on_accept = lambda link: bed.spawn(ask(link))
    process = await bed.start_gatt(device, "subscribe", "0x0092")
    await process.event("subscribed")
    await eventually(lambda: len(responses) == 2, "no response to the device's requests")
    check(responses[0][0] == att.READ_BY_TYPE_RESPONSE, f"the name: {responses[0].hex(' ')}")
    check(responses[1] == att.error(0x3E, 0, 6), f"the unknown: {responses[1].hex(' ')}")
    await process.stop(signal.SIGTERM)

    where = f"unix:{bed.work / 'nowhere'}"
    nobody = (await bed.run("gatt", "--att", where, "tree")).expect(69)
    check("nobody listens there" in nobody.err, f"{nobody.err!r}")
    for words in (["tree"], ["--att", where, "scan"], ["--att", where, "dance"], ["--att", "x", "mtu"]):
        (await bed.run("gatt", *words)).expect(64)
    overview = (await bed.run("--help")).expect(0).out
    check("gatt" in overview, "the overview does not name it")


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
    await misuse(shell, here)
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


async def edit(shell: Prompt, here: str) -> None:
    """Completion, deletion of a line, and history."""
    shell.type("rea\t2A0\t")
    await shell.shows("2A0")  # nothing is known about the device yet
    shell.type("0\r")
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


async def misuse(shell: Prompt, here: str) -> None:
    """Refusals, wrong commands, and help."""
    shell.type("read 0x0999\r")
    await shell.shows("Invalid Handle (0x01)")
    shell.type("dance\r")
    await shell.shows("unknown command")
    shell.type("char-desc\r")
    await shell.shows("it is “tree” here", here)
    shell.type("help wri\t\t")
    await shell.shows("write          write-command")
    shell.type("\r")
    await shell.shows("write 0x002A 0102ff", here)


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
