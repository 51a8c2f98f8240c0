# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd trace` on the kernel's monitor channel, beside a daemon that serves a phone, and btmon.

The captures stay in the case's folder: scripts/test compares them with what tshark reads.
"""

import shutil
import signal
from pathlib import Path
from typing import Any

from Harness import btsnoop
from Harness.ancs import Notification
from Harness.case import case, check, eventually, settled
from Harness.process import Outcome, Process
from Harness.profiles import IDEAL

from .testbed import Testbed

NOBODY = 65534
ACL_DATA = (4, 5)  # opcodes of the monitor format

Line = dict[str, Any]


async def start_trace(bed: Testbed, name: str, *options: str, format: str = "json", **how: Any) -> Process:
    command = [bed.binary, "trace", "--format", format, *options]
    return await bed.start(Process(command, bed.out / name), **how)


async def end(*traces: Process) -> list[Outcome]:
    """Ends traces once they show nothing more; they are complete then."""
    await settled(lambda: [trace.output.stat().st_size for trace in traces], quiet=0.5)
    for trace in traces:
        await trace.stop(signal.SIGINT, within=15)
    return [await trace.outcome() for trace in traces]


async def decoded(bed: Testbed, file: Path, *options: str) -> list[Line]:
    """What `ancsd decode` reads in a capture, without complaints."""
    outcome = await bed.run("decode", "--format", "json", *options, file, within=30)
    check(outcome.status == 0 and not outcome.err, f"decode of {file.name}: {outcome.status}, {outcome.err}")
    return outcome.objects


@case("trace", seconds=90)
async def trace(bed: Testbed) -> None:
    """A whole session traced live with every filter, and written; the same as `run --btsnoop`."""
    written, own, btmon_file = (bed.out / f"{name}.btsnoop" for name in ("trace", "run", "btmon"))
    traces = [
        await start_trace(bed, "all", "--write", str(written), format="text"),
        await start_trace(bed, "att", "--att"),
        await start_trace(bed, "ancs", "--ancs", format="text"),
        await start_trace(bed, "ams", "--ams", format="text"),
        await start_trace(bed, "phone", "--phone", "C4:11:22:33:44:55"),
        await start_trace(bed, "stranger", "--phone", "C4:00:00:00:00:01"),
    ]
    # Once a trace shows the kernel's adapters, it misses nothing.
    await eventually(lambda: traces[0].output.stat().st_size, "the trace shows nothing")
    btmon = shutil.which("btmon") or shutil.which("btmon", path=str(bed.BLUEZ / "usr/bin"))
    if btmon is not None:
        await bed.start(Process([btmon, "-w", btmon_file], bed.out / "btmon"))
    await session(bed, "--btsnoop", str(own))
    outcomes = await end(*traces)
    for outcome in outcomes:
        check(not outcome.err, f"`{outcome.command}` says {outcome.err}")
    everything, att, ancs, ams, one_phone, stranger = outcomes
    check_live(bed, everything.out, ancs.out, ams.out)
    check(not stranger.out, "trace --phone shows another phone")
    check(all(line["layer"] == "att" for line in att.objects), "trace --att shows other layers")
    # Traces that started at different moments number packets differently.
    live = unnumbered(att.objects)
    shown = unnumbered(line for line in one_phone.objects if line["layer"] == "att")
    check(shown == live, "trace --phone shows other PDUs than there were")

    traced = [line for line in await decoded(bed, written) if line["layer"] == "att"]
    check(unnumbered(traced) == live, "decode shows other PDUs than the live trace")
    check(not [line for line in traced if "problem" in line], "a PDU is malformed")
    if btmon is not None:
        check(data(written) == data(btmon_file), "btmon has written other data, or at other times")
    check_same_pdus(await decoded(bed, own, "--att"), traced)


async def session(bed: Testbed, *options: str) -> None:
    """A phone with a notification and media comes and goes, and the daemon ends."""
    daemon, phone, subscribed = await bed.served(*options, profile=IDEAL)
    await daemon.passes_on(phone, Notification(7, title="Traced", message="down to each attribute", category=4))
    await daemon.event("media")
    phone.ams.play(2)
    await daemon.event(
        "media", where=lambda e: e["track"]["title"] == "andata", since=subscribed, wanted="its track"
    )
    await daemon.event("time")
    await bed.set_up(phone)
    # What the daemon sends while the phone leaves may never reach the controller.
    capture = Path(options[1])
    await settled(lambda: capture.stat().st_size, quiet=1)
    await phone.disconnect()
    await daemon.event("disconnected", since=subscribed)
    await daemon.stop()


def check_live(bed: Testbed, everything: str, ancs: str, ams: str) -> None:
    """Checks what the traces show as text."""
    # A trace that starts before the kernel has read the address sees it in Index Info only.
    for text in (
        "New Index: ", f"Index Info: {bed.ADDRESS}", bed.NAME, "Connection Complete", "SMP: Pairing",
        f"MGMT Open: {bed.binary.name[:15]} (MGMT)", "Notification Source", "Data Source",
        "Entity Update", "Disconnection Complete", f"[{bed.adapter.name}]",
    ):
        check(text in everything, f"the trace has no {text}")
    for text in ("Title: Traced", "Message: down to each attribute", "Category: social"):
        check(text in ancs, f"trace --ancs has no {text!r}")
    check("AMS Update" not in ancs, "trace --ancs shows AMS")
    check("andata" in ams, "trace --ams has no title of a track")
    check("Traced" not in ams, "trace --ams shows ANCS")


def check_same_pdus(ours: list[Line], traced: list[Line]) -> None:
    """Checks that `run --btsnoop` has the PDUs of the trace, each way; both ways may cross differently."""
    for way in ("tx", "rx"):
        mine, theirs = ([pdu(line) for line in file if line["direction"] == way] for file in (ours, traced))
        wrong = [pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]]
        counts = f"{len(mine)} {way}, {len(theirs)} traced"
        check(len(mine) == len(theirs) and not wrong, f"other PDUs ({counts}): {wrong[:1]}")


def data(file: Path) -> list[btsnoop.Record]:
    """The ACL data in a capture, which must be whole."""
    content = file.read_bytes()
    records = btsnoop.records(content)
    whole = all(len(record.data) == record.original for record in records)
    size = btsnoop.HEAD + sum(btsnoop.RECORD_HEAD + len(record.data) for record in records)
    check(whole and size == len(content), f"{file.name} is cut")
    return [record for record in records if record.opcode in ACL_DATA]


def unnumbered(lines: Any) -> list[Line]:
    return [{key: value for key, value in line.items() if key != "frame"} for line in lines]


def pdu(line: Line) -> Line:
    """A PDU without its time and link."""
    context = ("frame", "time", "connection", "phone", "adapter", "cid")
    return {key: value for key, value in line.items() if key not in context}


@case("trace-late", seconds=90)
async def late(bed: Testbed) -> None:
    """A later trace: the kernel says whose the link is, and the daemon what is on it."""
    daemon, phone, _ = await bed.served(profile=IDEAL)
    await daemon.event("media")
    await bed.set_up(phone)  # a later discovery would give the attributes their names
    written = bed.out / "late.btsnoop"
    knowing = await start_trace(bed, "knowing", "--ancs", "--socket", str(daemon.socket))
    alone = await start_trace(
        bed, "alone", "--phone", phone.address, "--write", str(written), "--socket", "/nonexistent"
    )
    for process, names in (
        (knowing, "its attributes have the names that the daemon knows"),
        (alone, "its attributes have no names until a discovery is seen"),
    ):
        said = f"{phone.address}: it was up before; {names}"
        await eventually(
            lambda process=process, said=said: said in process.log,  # type: ignore[misc]
            f"{process.directory.name} does not say: {said}", 15,
        )
    event = await daemon.passes_on(phone, Notification(8, title="Late"))
    await eventually(lambda: event["title"] in knowing.text, "the title is not in the trace", 15)
    known, unknown = (outcome.objects for outcome in await end(knowing, alone))
    attributes = {line.get("attribute") for line in known}
    check({"Notification Source", "Control Point", "Data Source"} <= attributes, f"names are {attributes}")
    responses = [line["decoded"].get("ancs_response", {}) for line in known if "decoded" in line]
    titles = [response.get("title") for response in responses]
    check(event["title"] in titles, f"the titles in the trace are {titles}")
    phones = {line.get("phone") for line in unknown}
    check(phones == {phone.address}, f"there are links of {phones}")
    check(not [line for line in unknown if "uuid" in line], "attributes have names from nowhere")
    later = await bed.run("decode", "--att", written, within=30)
    check(later.status == 0, f"decode failed: {later.err}")
    check(later.err.count("was up before the capture began") == 1, f"it says {later.err!r}")
