# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` against a device with an odd database (oddity.py): everything is found, and read and
written as it should be."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import pdus
from gatttool import Prompt, Running, device, events, gatt
from harness import check, eventually
from odd_tree import LONG, check_tree
from room import Room, case

if TYPE_CHECKING:
    from gatttool import Device

MTUS = [23, 64, 185, 517]


@case("gatt-tree")
async def tree(room: Room) -> None:
    """Every service, included service, characteristic and descriptor, at several MTUs, in text and JSON."""

    async def one(part: Room, mtu: int) -> None:
        peer = device(part, mtu)
        outcome = (await gatt(part, peer, "tree", "--format", "json")).expect(0)
        check_tree(events(outcome))
        text = (await gatt(part, peer, "tree", "--format", "text")).expect(0).out
        for line in (
            "service 0x0010–0x005F 6E400001-B5A3-F393-E0A9-E50E24DCCA9E",
            "  0x0012 includes 0x0090–0x0095 Battery (180F)",
            "  0x0030 characteristic 0x0031 Temperature (2A6E): read, notify, indicate",
            "    0x0038 Characteristic User Description (2901)",
            "secondary service 0x0100–0x010F 6E400003-B5A3-F393-E0A9-E50E24DCCA9E",
            "    0xFFFF Client Characteristic Configuration (2902)",
        ):
            check(line in text.splitlines(), f"“{line}” is not in the tree: {text!r}")
        primary = events((await gatt(part, peer, "primary", "--format", "json")).expect(0))
        check(len(primary) == 5, f"{len(primary)} primary services")
        batteries = events((await gatt(part, peer, "primary", "180f")).expect(0))
        check([s["start"] for s in batteries] == [0x90, 0x200], f"the batteries are {batteries}")
        (await gatt(part, peer, "primary", "1805")).expect(1)

    await room.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")


@case("gatt-read")
async def read(room: Room) -> None:
    """Values by handle and by type: long ones whole, every one of a type, round what may not be read."""
    from oddity import LONG_VALUE

    async def one(part: Room, mtu: int) -> None:
        peer = device(part, mtu)
        for words in (["0x0023"], [LONG.lower()]):
            found = events((await gatt(part, peer, "read", *words)).expect(0))
            check(len(found) == 1, f"{len(found)} values")
            check(found[0]["value"] == LONG_VALUE.hex(), f"at MTU {mtu}: {found[0]}")
        levels = await gatt(part, peer, "read", "2A19")
        levels.expect(1)
        values = {v["handle"]: v["value"] for v in events(levels)}
        check(values == {0x92: "57", 0x221: "05"}, f"the levels are {values}")
        check("0x0211: Insufficient Authentication" in levels.err, f"it says {levels.err!r}")
        check(len(levels.err.splitlines()) == 1, f"it says {levels.err!r}")
        several = events((await gatt(part, peer, "read", "0x0038", "0x0031", "2A00")).expect(0))
        check([v["handle"] for v in several] == [0x38, 0x31, 0x03], f"several: {several}")
        check(several[0]["decoded"] == {"text": "Of the “room”"}, f"{several[0]}")
        check(several[1]["decoded"] == {"temperature": 21.5}, f"{several[1]}")
        check(several[2]["name"] == "Device Name", f"{several[2]}")

    await room.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")
    peer = device(room)
    text = (await gatt(room, peer, "read", "0x0003", "--format", "text")).expect(0).out
    check("\x1b" not in text and "“odd ␛[31m one”" in text, f"a name reaches the terminal: {text!r}")
    for words, part in (
        (["0x0999"], "Invalid Handle (0x01)"),
        (["0x0041"], "Read Not Permitted (0x02)"),
        (["1234"], "no attribute of this type"),
    ):
        refused = (await gatt(room, peer, "read", *words)).expect(1)
        check(part in refused.err, f"reading {words}: {refused.err!r}")


@case("gatt-write")
async def write(room: Room) -> None:
    """Requests, long writes, commands; refusals by name; a type that is not one attribute is asked back."""

    async def one(part: Room, mtu: int) -> None:
        peer = device(part, mtu)
        written = events((await gatt(part, peer, "write", "0x0023", "01 02", "ff")).expect(0))
        check(peer.server.long == b"\x01\x02\xff", f"the device has {peer.server.long.hex()}")
        check(written[-1]["answered"] is True, f"{written}")
        value = bytes(range(200)) * 2 + b"end"
        (await gatt(part, peer, "write", "0x0023", value.hex())).expect(0)
        check(peer.server.long == value, f"at MTU {mtu} the device has {peer.server.long.hex()}")
        (await gatt(part, peer, "write-command", "0x0041", "u8:2")).expect(0)
        (await gatt(part, peer, "write-command", "0x0105", "text:hello you")).expect(0)
        check(peer.server.alerts == [b"\x02", b"hello you"], f"commands: {peer.server.alerts}")

    await room.every(MTUS, one, name=lambda mtu: f"mtu-{mtu}")
    peer = device(room)
    uuid = "6E400002-B5A3-F393-E0A9-E50E24DCCA9E"
    (await gatt(room, peer, "write", uuid, "text:by type")).expect(0)
    check(peer.server.long == b"by type", f"the device has {peer.server.long!r}")
    for words, status, part in (
        (["write", uuid, "text:no"], 1, "Application Error 0x80"),
        (["write", "0x0003", "00"], 1, "Write Not Permitted (0x03)"),
        (["write", "2A19", "00"], 64, "0x0092, 0x0211, 0x0221"),
        (["write", "0x0023", "0"], 64, "hexadecimal"),
        (["write", "23", "00"], 64, "neither a handle"),
        (["write-command", "0x0041", "00" * 200], 1, "does not fit into the MTU of 185"),
    ):
        refused = (await gatt(room, peer, *words)).expect(status)
        check(part in refused.err, f"{words}: {refused.err!r}")


@case("gatt-subscribe")
async def subscribe(room: Room) -> None:
    """Notifications and indications until it is enough; the subscription is given back in the end."""
    peer = device(room)
    server = peer.server

    async def send(run: Running, characteristic: Any, values: list[bytes]) -> None:
        await run.event("subscribed")
        for value in values:
            peer.link.notify(characteristic.handle, value)

    run = await Running.start(room, peer, "subscribe", "2A6E", "-n", "3")
    await send(run, server.temperature, [b"\x00\x00", b"\x66\x08", b"\x00\x80", b"\x01\x00"])
    status, err = await run.end()
    values = [e for e in run.seen if e["event"] == "notification"]
    check(status == 0 and not err, f"it ended with {status}: {err!r}")
    check([v["value"] for v in values] == ["0000", "6608", "0080"], f"it printed {values}")
    check(values[1]["decoded"] == {"temperature": 21.5}, f"{values[1]}")
    writes = [p[1:] for p in peer.link.received if p[0] == pdus.WRITE]
    check(writes == [b"\x35\0\1\0", b"\x35\0\0\0"], f"its configuration was written: {writes}")

    run = await Running.start(room, peer, "--indicate", "subscribe", "0x0031", "0x0221", "-n", "2")
    await run.event("subscribed")
    await run.event("subscribed")
    check(peer.subscribed(server.temperature) == 2, "no indications of the temperature")
    peer.link.indicate(server.temperature.handle, b"\x01\x00")
    await run.event("indication")
    peer.link.indicate(server.other_level.handle, b"\x06")
    status, _ = await run.end()
    check(status == 0, f"it ended with {status}")
    await eventually(lambda: peer.links[-1].closed, "the link is still there")
    check(peer.link.confirmations() == 2, f"{peer.link.confirmations()} confirmations")

    run = await Running.start(room, peer, "subscribe", "0x0092")
    await run.event("subscribed")
    for number, status in ((signal.SIGINT, 130),):
        run.process.send_signal(number)
        ended, err = await run.end()
        check(ended == status and not err, f"{number.name}: {ended}, {err!r}")
    last = [p[1:] for p in peer.link.received if p[0] == pdus.WRITE][-1]
    check(last == b"\x93\0\0\0", f"the configuration was left: {last.hex()}")

    quiet = await gatt(room, peer, "subscribe", "0x0092", "--timeout", "0.5")
    quiet.expect(0)
    (await gatt(room, peer, "subscribe", "0x0092", "--timeout", "0.5", "-n", "1")).expect(75)
    for words, part in (
        (["0x0023"], "no Client Characteristic Configuration"),
        (["0x0600"], "no characteristic"),
        (["0x0001"], "no characteristic"),
    ):
        refused = (await gatt(room, peer, "subscribe", *words)).expect(1)
        check(part in refused.err, f"subscribing to {words}: {refused.err!r}")

    run = await Running.start(room, peer, "subscribe", "2A6E")
    await run.event("subscribed")
    peer.hang_up()
    status, err = await run.end()
    check(status == 69 and "the device ended it" in err, f"{status}: {err!r}")


@case("gatt-link")
async def link(room: Room) -> None:
    """The MTU, what the device asks, nobody there, and a wrong command line, each with its status."""
    peer = device(room, 100)
    for offered, agreed in ((517, 100), (64, 64), (23, 23)):
        found = events((await gatt(room, peer, "mtu", "--mtu", str(offered))).expect(0))
        check(found == [{"event": "mtu", "mtu": agreed}], f"offered {offered}: {found}")

    # A device that knows no MTU exchange keeps the least.
    def knows_no_mtu(_link: Any, pdu: bytes) -> list[bytes] | None:
        return [pdus.error(2, 0, 6)] if pdu[0] == pdus.MTU_REQUEST else None

    peer.intercept = knows_no_mtu
    found = events((await gatt(room, peer, "mtu")).expect(0))
    check(found[0]["mtu"] == 23, f"{found}")
    peer.intercept = lambda _link, _pdu: None

    answers: list[bytes] = []

    async def ask(asked: Any) -> None:
        answers.append(await asked.ask(pdus.by_type(pdus.READ_BY_TYPE, 0x2A00)))
        answers.append(await asked.ask(bytes([0x3E, 1])))

    peer.accepts = lambda link: room.spawn(ask(link)) and None
    run = await Running.start(room, peer, "subscribe", "0x0092")
    await run.event("subscribed")
    await eventually(lambda: len(answers) == 2, "the device's requests are not answered")
    check(answers[0][0] == pdus.READ_BY_TYPE_RESPONSE, f"the name: {answers[0].hex(' ')}")
    check(answers[1] == pdus.error(0x3E, 0, 6), f"the unknown: {answers[1].hex(' ')}")
    run.process.send_signal(signal.SIGTERM)
    status, _ = await run.end()
    check(status == 143, f"SIGTERM: {status}")
    peer.accepts = lambda _link: None

    where = f"unix:{room.work / 'nowhere'}"
    nobody = (await room.program("gatt", "--att", where, "tree")).expect(69)
    check("nobody listens there" in nobody.err, f"{nobody.err!r}")
    for words in (["tree"], ["--att", where, "scan"], ["--att", where, "dance"], ["--att", "x", "mtu"]):
        (await room.program("gatt", *words)).expect(64)
    overview = (await room.program("--help")).expect(0).out
    check("gatt" in overview, "the overview does not name it")


@case("gatt-prompt")
async def prompt(room: Room) -> None:
    """The prompt: completion, history, values above the line that is typed, Ctrl-C and Ctrl-D."""
    peer = device(room)
    shell = Prompt(room, peer)
    here = f"[{peer.path}]> "
    await shell.shows("the MTU is 185")
    await shell.shows(here)
    shell.type("rea\t2A0\t")
    await shell.shows("2A0")  # nothing is known of the device yet
    shell.type("0\r")
    await shell.shows("0x0003 Device Name (2A00)")
    await shell.shows(here)
    shell.type("tree\r")
    await shell.shows("secondary service")
    await shell.shows(here)
    shell.type("read 0x02\t")
    await shell.shows("0x0211  0x0221  0x0222")
    shell.type("22")
    shell.type("\x15read 2A0\t")
    await shell.shows("2A00  2A01")
    shell.type("1\r")
    await shell.shows("Appearance: 0x0040")
    await shell.shows(here)
    shell.type("\x1b[A\x1b[A\x1b[A\r")
    await shell.shows("0x0003 Device Name (2A00)")
    await shell.shows(here)
    shell.type("subscribe 2A6E\r")
    await shell.shows("subscribed to notifications of 0x0031 Temperature (2A6E)")
    await shell.shows(here)
    shell.type("read 0x00")
    await shell.shows("read 0x00")
    peer.link.notify(peer.server.temperature.handle, b"\x66\x08")
    await shell.shows("0x0031 Temperature (2A6E): 66 08  Temperature: 21.5 °C\n" + here + "read 0x00")
    shell.type("92\r")
    await shell.shows("0x0092 Battery Level (2A19): 57  Battery: 87 %")
    await shell.shows(here)
    shell.type("half a line\x03")
    await shell.shows("^C")
    await shell.shows(here)
    shell.type("\x1b")  # alone, and nothing waits for what is behind it
    peer.link.notify(peer.server.temperature.handle, b"\x00\x00")
    await shell.shows("Temperature: 0 °C")
    await asyncio.sleep(0.2)  # what follows an ESC at once is one key with it
    shell.type("write 0x0023 text:\"a  b\"\r")
    await shell.shows("0x0023 took 4 bytes")
    check(peer.server.long == b"a  b", f"the device has {peer.server.long!r}")
    shell.type("read 0x0999\r")
    await shell.shows("Invalid Handle (0x01)")
    shell.type("dance\r")
    await shell.shows("unknown command")
    shell.type("char-desc\r")
    await shell.shows("it is written “tree” here")
    await shell.shows(here)
    shell.type("help wri\t\t")
    await shell.shows("write          write-command")
    shell.type("\r")
    await shell.shows("write 0x002A 0102ff")
    await shell.shows(here)
    peer.link.send(b"\x1b\x21\x02\x05")  # what nobody subscribed to on this link
    await shell.shows("0x0221 Battery Level (2A19): 05  Battery: 5 %")
    await shell.shows(here)
    # A device that is silent: Ctrl-C ends the wait, and with it the link.
    peer.intercept = lambda _link, _pdu: []
    shell.type("read 0x0003\r")
    await asyncio.sleep(0.3)
    shell.type("\x03")
    await shell.shows("[not connected]> ")
    peer.intercept = lambda _link, _pdu: None
    shell.type("connect\r")
    await shell.shows("connected to")
    await shell.shows(here)
    peer.hang_up()
    await shell.shows("the link is gone: the device ended it")
    await shell.shows("[not connected]> ")
    shell.type("mtu\r")
    await shell.shows("not connected")
    shell.type("\x04")
    check(await shell.end() == 0, f"it ended with {shell.status}")


@case("gatt-script")
async def script(room: Room) -> None:
    """Commands from a pipe, one after the other; the status is the last failure's."""
    peer = device(room)
    lines = b"mtu\n# a remark\n\nread 0x0092\nwrite 0x0023 0102\nread 0x0023\nquit\nread 0x0003\n"
    found = events((await gatt(room, peer, stdin=lines)).expect(0))
    check(
        [e["event"] for e in found] == ["connected", "mtu", "value", "written", "value"],
        f"it printed {found}",
    )
    check(found[-1]["value"] == "0102", f"{found[-1]}")
    outcome = await gatt(room, peer, stdin=b"read 0x0999\nbogus\nread 0x0092\nread 0x0041")
    outcome.expect(1)
    check(len(outcome.err.splitlines()) == 3, f"it says {outcome.err!r}")
    check([e["event"] for e in events(outcome)] == ["connected", "value"], f"{outcome.out!r}")
    (await gatt(room, peer, stdin=b"bogus\n")).expect(64)
    (await room.program("gatt", "--att", "unix:/nowhere", stdin=b"mtu\n")).expect(69)
