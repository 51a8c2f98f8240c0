# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of the daemon's output stop reading or exit while a phone causes many lines."""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import struct

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.control import ControlClient
from Harness.process import Process

from .cases_hooks import script
from .link import Link
from .peers import Phone
from .testbed import Testbed

#: A notification to no handle that the daemon knows, which it logs at `info`.
UNASKED = b"\x1b\xf0\xff unasked "


def full_pipe() -> tuple[int, int]:
    """A pipe without room that nobody reads: its reading end, and the writing one, which blocks."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"." * 4096)
    os.set_blocking(write, True)
    return read, write


async def start(bed: Testbed, phone: Phone, *options: str, out: int) -> Process:
    """Starts a daemon with this standard output."""
    place = ["--state-dir", bed.state, "--socket", bed.socket(), "--format", "json"]
    return await bed.start(Process([*bed.runner, bed.binary, *phone.gatt_options, *place, *options], bed.out), out=out)


async def flood(link: Link, count: int) -> None:
    for number in range(count):
        link.send(UNASKED + struct.pack("<I", number))
        if number % 100 == 99:
            await asyncio.sleep(0)


@case("stuck-outputs")
async def stuck(bed: Testbed) -> None:
    """Standard output and error that nobody reads: phone and clients are served, and SIGTERM ends it."""
    phone = bed.phone()
    read, write = full_pipe()
    bed.runner = ["sh", "-c", 'exec "$@" 2>&1', "sh"]
    process = await start(bed, phone, "-v", "-v", out=write)
    await phone.subscribed()
    await flood(phone.link, 2000)
    client = await ControlClient.connect(bed.socket())
    await client.call("subscribe", events=["notification"])
    phone.ancs.post(Notification(7, message="x" * 900))
    await client.event("notification", uid=7)
    check(isinstance(await client.call("status"), dict), "no status")
    client.close()
    await process.stop(within=5)
    os.close(read)
    os.close(write)


@case("reader-gone")
async def gone(bed: Testbed) -> None:
    """The reader of standard output goes away: the daemon says so and ends with a failure."""
    phone = bed.phone()
    read, write = os.pipe()
    process = await start(bed, phone, out=write)
    os.close(write)
    await phone.subscribed()
    os.close(read)
    phone.ancs.post(Notification(1))
    status = await process.ended(5)
    check(status == 73, f"it ended with {status}")
    lines = process.log.splitlines()
    check(len(lines) == 1 and "standard output" in lines[0], f"it said {lines}")


@case("second-signal")
async def second(bed: Testbed) -> None:
    """A second signal ends it at once, while the first still waits for a program that runs."""
    running = bed.work / "running"
    hung = script(bed, "hung", f"trap '' TERM; echo $$ >{running}; exec sleep 60")
    daemon, _, _ = await bed.served("--exec", f"subscribed={hung}")
    await eventually(lambda: running.exists() and running.read_text(), "the program does not run")
    daemon.send_signal(signal.SIGINT)
    await daemon.event("disconnected")
    daemon.send_signal(signal.SIGTERM)
    status = await daemon.ended(5)
    check(status == 128 + signal.SIGTERM, f"it ended with {status}")
    # After one signal it ends no earlier than its programs, which SIGKILL ends if necessary.
    program = int(running.read_text())
    check(procfs.runs(program), "it has ended by the first signal")
    os.kill(program, signal.SIGKILL)


@case("stuck-clients")
async def stuck_clients(bed: Testbed) -> None:
    """A client whose standard output is stuck is ended by the first signal."""
    daemon, phone, _ = await bed.served()
    await daemon.passes_on(phone, *(Notification(uid, title=f"n {uid}", message="x" * 500) for uid in range(1, 201)), within=20)
    for arguments in (["list"], ["watch"]):
        read, write = full_pipe()
        process = await bed.start(Process([bed.binary, *arguments, "--socket", daemon.socket], bed.out / arguments[0]), out=write)
        await asyncio.sleep(0.5)
        phone.ancs.post(Notification(300, title="one more"))
        await asyncio.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        status = await process.ended(5)
        check(status in (-signal.SIGTERM, 128 + signal.SIGTERM), f"SIGTERM ended {arguments} with {status}")
        phone.ancs.remove(300)
        for number in (read, write):
            os.close(number)


@case("read-late")
async def read_late(bed: Testbed) -> None:
    """If events are unread when it ends, it says so and fails."""
    phone = bed.phone()
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    process = await start(bed, phone, "--once", out=write)
    os.close(write)
    await phone.subscribed()
    phone.ancs.post(*(Notification(uid, message="x" * 900) for uid in range(1, 21)))
    await eventually(lambda: phone.ancs.fetches(20), "not all of them are fetched")
    phone.disconnect()
    status = await process.ended(10)
    os.close(read)
    check(status == 73, f"it ended with {status}")
    check("were not read" in process.log, f"it does not say so: {process.log}")


@case("batches")
async def batches(bed: Testbed) -> None:
    """A batch's answers come as one; if they are too long together, there is an error for those, and no connection is lost."""
    daemon, phone, _ = await bed.served()
    control = await ControlClient.connect(daemon.socket)
    control.send(b'[{"jsonrpc":"2.0","id":24,"method":"media.get"},{"jsonrpc":"2.0","method":"status"}]\n')
    answers = await control.response()
    check([answer.get("id") for answer in answers] == [24], f"a batch got {answers}")
    # Of calls without an id there is no response, not even an empty array.
    control.send(b'[{"jsonrpc":"2.0","method":"status"},{"jsonrpc":"2.0","method":"media.get"}]\n')
    check(isinstance(await control.call("status"), dict), "a batch of calls without an id got a response")
    control.close()
    await daemon.passes_on(phone, *(Notification(uid, message="x" * 1000) for uid in range(1, 401)), within=30)
    reader, writer = await asyncio.open_unix_connection(daemon.socket, limit=1 << 22)
    batch = [{"jsonrpc": "2.0", "id": number, "method": "notifications.list"} for number in range(64)]
    writer.write(json.dumps(batch).encode() + b"\n")
    answers = json.loads(await asyncio.wait_for(reader.readline(), 20))
    check({answer["id"] for answer in answers} == set(range(64)), f"{len(answers)} answers")
    failed = [answer["error"]["message"] for answer in answers if "error" in answer]
    check(0 < len(failed) < 64 and "one by one" in failed[0], f"{len(failed)} failed: {failed[:1]}")
    writer.close()
