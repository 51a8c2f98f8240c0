# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd trace` on the kernel's own monitor channel, beside a daemon that serves a phone, and btmon.

The captures are left in the case's folder: scripts/test holds them against tshark and btmon.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import struct
from pathlib import Path
from typing import Any

from harness import Failure, Lab, case, check, eventually

NOBODY = 65534
ACL_DATA = (4, 5)  # of the monitor's kinds


class Tool:
    """A tool of ancsd's, run beside the daemon; what it prints is kept in the case's folder."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.output = lab.out / name
        self.errors = lab.out / f"{name}.errors"
        self.process: asyncio.subprocess.Process | None = None

    @classmethod
    async def start(
        cls, lab: Lab, name: str, *arguments: str, user: int | None = None,
        program: Path | str | None = None,
    ) -> Tool:  # fmt: skip
        tool = cls(lab, name)
        with tool.output.open("wb") as output, tool.errors.open("wb") as errors:
            tool.process = await asyncio.create_subprocess_exec(
                str(program or lab.binary), *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=output,
                stderr=errors, user=user,
            )  # fmt: skip
        lab.closing.append(tool.kill)
        return tool

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def interrupt(self) -> None:
        """Ctrl-C; what it was tracing is whole then."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        status = await self.ended()
        check(status == 130, f"after SIGINT it ended with {status}, not with 130: {self.said}")

    async def ended(self, within: float = 15) -> int:
        assert self.process is not None
        try:
            return await asyncio.wait_for(self.process.wait(), within)
        except TimeoutError:
            raise Failure(f"ancsd did not end in {within} s") from None

    @property
    def text(self) -> str:
        return self.output.read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def said(self) -> str:
        return self.errors.read_text().strip()


async def decoded(lab: Lab, file: Path, *options: str) -> list[dict[str, Any]]:
    """What `ancsd decode` makes of a capture, without a word of complaint."""
    tool = await Tool.start(
        lab, f"{file.name}.decoded", "decode", "--format", "json", *options, str(file)
    )
    status = await tool.ended(30)
    check(status == 0 and not tool.said, f"decode of {file.name} ended with {status}: {tool.said}")
    return tool.lines


async def begun(tool: Tool) -> None:
    """Once the kernel has told of its adapters, whatever comes is seen."""
    await eventually(lambda: tool.output.stat().st_size, f"{tool.output.name} shows nothing")


@case("trace", seconds=90)
async def trace(lab: Lab) -> None:
    """A whole session traced live, with every filter, and written; agrees with `run --btsnoop`."""
    written, own = lab.out / "trace.btsnoop", lab.out / "run.btsnoop"
    address = "C4:11:22:33:44:55"
    everything = await Tool.start(
        lab, "all", "trace", "--format", "text", "--write", str(written)
    )
    filtered = {
        name: await Tool.start(lab, name, "trace", "--format", kind, *options)
        for name, kind, options in (
            ("att", "json", ["--att"]), ("ancs", "text", ["--ancs"]), ("ams", "text", ["--ams"]),
            ("phone", "json", ["--phone", address]),
            ("stranger", "json", ["--phone", "C4:00:00:00:00:01"]),
        )
    }  # fmt: skip
    await begun(everything)
    if (program := btmon(lab)) is not None:
        await Tool.start(lab, "btmon", "-w", str(lab.out / "btmon.btsnoop"), program=program)
    daemon, phone, subscribed = await lab.served("--btsnoop", str(own))
    note = lab.note(uid=7, title="Traced", message="down to each attribute", category=4)
    await phone.notifications.post(note)
    await daemon.event("notification", since=subscribed, uid=7)
    await daemon.event("media")
    await phone.media.play(2)
    await daemon.event_where(
        "media", lambda e: e["track"]["title"] == "andata", since=subscribed, wanted="its track"
    )
    # What the daemon sends while the phone leaves may never come to the controller.
    await daemon.event("time")
    await asyncio.sleep(1)
    await phone.leave()
    await daemon.event("disconnected", since=subscribed)
    await daemon.stop()
    await asyncio.sleep(0.5)
    for tool in (everything, *filtered.values()):
        await tool.interrupt()
        check(not tool.said, f"{tool.output.name}: {tool.said}")

    # The trace may have begun before the kernel had read the address, which only Index Info has then.
    for text in (
        "New Index: ", f"Index Info: {lab.ADDRESS}", "ancsd", "Connection Complete", "SMP: Pairing",
        f"MGMT Open: {lab.binary.name[:15]} (MGMT)", "Notification Source", "Data Source",
        "Entity Update", "Disconnection Complete", f"[{lab.adapter.name}]",
    ):  # fmt: skip
        check(text in everything.text, f"the trace has no {text}")
    for text in ("Title: Traced", "Message: down to each attribute", "Category: social"):
        check(text in filtered["ancs"].text, f"trace --ancs has no {text!r}")
    check("AMS Update" not in filtered["ancs"].text, "trace --ancs shows AMS")
    check("andata" in filtered["ams"].text, "trace --ams has no title of a track")
    check("Traced" not in filtered["ams"].text, "trace --ams shows ANCS")
    check(not filtered["stranger"].text, "trace --phone shows another phone")
    check(
        all(line["layer"] == "att" for line in filtered["att"].lines), "trace --att shows not ATT"
    )
    # A trace that began a moment later counts packets from another one on.
    live = uncounted(filtered["att"].lines)
    shown = [line for line in filtered["phone"].lines if line["layer"] == "att"]
    check(uncounted(shown) == live, "trace --phone shows other PDUs than there were")

    att = [line for line in await decoded(lab, written) if line["layer"] == "att"]
    check(uncounted(att) == live, "decode shows other PDUs than the trace showed live")
    check(not [line for line in att if "problem" in line], "a PDU is malformed")
    if (lab.out / "btmon.btsnoop").exists():
        theirs, mine = data(lab.out / "btmon.btsnoop"), data(written)
        check(mine == theirs, "btmon has written other data, or of other times")
    ours = await decoded(lab, own, "--att")
    for way in ("tx", "rx"):
        # What crosses on its way is in another order on the socket than on the controller.
        mine, theirs = ([pdu(line) for line in file if line["direction"] == way]
                        for file in (ours, att))  # fmt: skip
        wrong = [pair for pair in zip(mine, theirs) if pair[0] != pair[1]]
        check(
            len(mine) == len(theirs) and not wrong,
            f"run --btsnoop has other PDUs ({len(mine)} {way}, {len(theirs)} traced): {wrong[:1]}",
        )


def btmon(lab: Lab) -> str | None:
    """Where btmon is, if it is anywhere."""
    return shutil.which("btmon") or shutil.which("btmon", path=str(lab.bluez / "usr/bin"))


def data(file: Path) -> list[tuple[int, int, int, bytes]]:
    """ACL data in a btsnoop file: time, adapter and kind, drops, packet. The file must be whole."""
    content = file.read_bytes()
    check(content[:16] == b"btsnoop\0" + struct.pack(">II", 1, 2001), f"{file.name}: no btsnoop")
    found, place = [], 16
    while place < len(content):
        check(place + 24 <= len(content), f"{file.name} is cut in a record's head")
        original, length, flags, drops, time = struct.unpack_from(">IIIIq", content, place)
        packet = content[place + 24 : place + 24 + length]
        check(len(packet) == length == original, f"{file.name} is cut in a record")
        if flags & 0xFFFF in ACL_DATA:
            found.append((time, flags, drops, packet))
        place += 24 + length
    return found


def uncounted(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "frame"} for line in lines]


def pdu(line: dict[str, Any]) -> dict[str, Any]:
    """A PDU without when and on which link it was."""
    there = ("frame", "time", "connection", "phone", "adapter", "cid")
    return {key: value for key, value in line.items() if key not in there}


@case("trace-not-allowed")
async def not_allowed(lab: Lab) -> None:
    """Whoever may not trace is told so, and what to do."""
    os.chmod(lab.work, 0o755)
    tool = await Tool.start(lab, "nobody", "trace", user=NOBODY)
    status = await tool.ended()
    check(status == 77, f"without CAP_NET_RAW trace ended with {status}: {tool.said}")
    check("CAP_NET_RAW" in tool.said and "\n" not in tool.said, f"it says {tool.said!r}")


@case("trace-late", seconds=90)
async def late(lab: Lab) -> None:
    """A trace that begins later: whose the link is the kernel says, and what is on it the daemon."""
    daemon, phone, subscribed = await lab.served()
    await daemon.event("media")
    written = lab.out / "late.btsnoop"
    knowing = await Tool.start(
        lab, "knowing", "trace", "--ancs", "--format", "json", "--socket", str(daemon.socket)
    )
    alone = await Tool.start(
        lab, "alone", "trace", "--phone", phone.address, "--format", "json", "--write",
        str(written), "--socket", "/nonexistent",
    )  # fmt: skip
    for tool, names in (
        (knowing, "its attributes have the names that the daemon knows"),
        (alone, "its attributes have no names until a discovery goes by"),
    ):
        said = f"{phone.address}: it was up before; {names}"
        await eventually(lambda: said in tool.said, f"{tool.output.name} does not say: {said}", 15)
    await phone.notifications.post(lab.note(uid=8, title="Late"))
    event = await daemon.event("notification", since=subscribed, uid=8)
    await asyncio.sleep(0.5)
    for tool in (knowing, alone):
        await tool.interrupt()
    names = {line.get("attribute") for line in knowing.lines}
    check(
        {"Notification Source", "Control Point", "Data Source"} <= names, f"names are {names}"
    )
    titles = [line["decoded"].get("ancs_answer", {}).get("title") for line in knowing.lines
              if "decoded" in line]  # fmt: skip
    check(event["title"] in titles, f"the titles in the trace are {titles}")
    check(
        {line.get("phone") for line in alone.lines} == {phone.address}, "others' links are shown"
    )
    check(
        not [line for line in alone.lines if "uuid" in line], "attributes have names from nowhere"
    )
    later = await Tool.start(lab, "later", "decode", "--att", str(written))
    check(await later.ended(30) == 0, f"decode failed: {later.said}")
    check(later.said.count("was up before the capture began") == 1, f"it says {later.said!r}")
