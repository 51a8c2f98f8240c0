# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd gatt` as the central of a peripheral with an odd database, over a real kernel."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import Failure, Lab, case, check, eventually
from odd_tree import check_tree

if TYPE_CHECKING:
    from sensor import Sensor

ADDRESS = "D4:11:22:33:44:55"


@dataclass(frozen=True)
class Outcome:
    words: str
    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def expect(self, status: int) -> Outcome:
        what = f"`gatt {self.words}` ended with {self.status}, not {status}: "
        check(self.status == status, what + (self.err or self.out))
        return self


async def sensor(lab: Lab, io: int = 3) -> Sensor:
    """A peripheral on the air, by default one that can show and take nothing."""
    from phone import Io
    from sensor import Sensor

    return await Sensor(lab.air, ADDRESS, Io(io)).start()


async def start(lab: Lab, *words: str, stdin: int = asyncio.subprocess.DEVNULL) -> Any:
    return await asyncio.create_subprocess_exec(
        str(lab.binary), "gatt", f"--{lab.adapter.name}", *words, stdin=stdin,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def end(process: Any, words: tuple[str, ...], within: float) -> Outcome:
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Failure(f"`gatt {' '.join(words)}` did not end in {within} s") from None
    return Outcome(" ".join(words), process.returncode, out.decode(), err.decode())


async def gatt(lab: Lab, *words: str, within: float = 20) -> Outcome:
    """Runs it to its end."""
    return await end(await start(lab, *words), words, within)


@case("gatt-central", seconds=90)
async def central(lab: Lab) -> None:
    """`ancsd gatt` finds a peripheral, connects to it, and discovers, reads, writes and subscribes."""
    from oddity import LONG_VALUE
    from sensor import NAME

    peer = await sensor(lab)
    found = (await gatt(lab, "-n", "1", "scan", "--format", "json")).expect(0).events
    last = [e for e in found if e["address"] == ADDRESS][-1]
    check(last["type"] == "random" and last["connectable"], f"the scan says {last}")
    check(last.get("name") == NAME, f"the scan says {last}")
    check("180F" in json.dumps(last["advertised"]), f"the scan says {last}")

    at = ("--connect", peer.address)
    check_tree((await gatt(lab, *at, "tree")).expect(0).events)
    long = (await gatt(lab, *at, "read", "0x0023", "--print", "hex")).expect(0).out.strip()
    check(long == LONG_VALUE.hex(), f"the long value is {long}")
    (await gatt(lab, *at, "write", "0x0023", LONG_VALUE.hex()[2:])).expect(0)
    check(peer.server.long == LONG_VALUE[1:], "the long value was not written")
    (await gatt(lab, *at, "write-command", "0x0041", "01")).expect(0)
    check(peer.server.alerts == [b"\x01"], f"the device got {peer.server.alerts}")

    words = (*at, "subscribe", "2A6E", "-n", "2", "--print", "hex")
    run = await start(lab, *words)
    await eventually(
        lambda: peer.connection and peer.server.subscribed(peer.connection, peer.server.temperature),
        "it does not subscribe", 15,
    )  # fmt: skip
    for value in (b"\x66\x08", b"\x00\x00"):
        peer.notify(peer.server.temperature, value)
    outcome = (await end(run, words, 10)).expect(0)
    check(outcome.out == "6608\n0000\n", f"it printed {outcome.out!r}")
    # It ends its links at once; the kernel alone would keep them for seconds.
    await eventually(lambda: peer.connection is None, "the link is still up", 1)

    gone = await gatt(lab, "--connect", "D4:00:00:00:00:01/random", "--timeout", "2", "tree")
    gone.expect(75)


@case("gatt-security", seconds=90)
async def security(lab: Lab) -> None:
    """`--security medium` pairs, encrypts by its key from then on, and pairs anew after `unpair`."""
    peer = await sensor(lab)
    peer.server.trusts = lambda bearer: bearer.encryption != 0
    at = ("--connect", peer.address)
    paired = (*at, "--security", "medium", "read", "0x0211", "--print", "hex")
    refused = (await gatt(lab, *at, "read", "0x0211")).expect(1)
    check("Insufficient Authentication (0x05)" in refused.err, refused.err)
    check("--security medium" in refused.err, f"what would help is not said: {refused.err}")
    for _ in range(2):
        check((await gatt(lab, *paired)).expect(0).out == "2a\n", "it printed something else")
    check(peer.pairings == [True], f"the pairings were of Secure Connections: {peer.pairings}")

    peer.forget()
    lost = (await gatt(lab, *paired)).expect(1)
    check("unpair" in lost.err, f"what would help is not said: {lost.err}")
    (await gatt(lab, *at, "unpair")).expect(0)
    peer.secure = False
    check((await gatt(lab, *paired)).expect(0).out == "2a\n", "it printed something else")
    check(peer.pairings == [True, False], f"the pairings were of Secure Connections: {peer.pairings}")


@case("gatt-passkey")
async def passkey(lab: Lab) -> None:
    """`--security high` asks on the terminal for the six digits that the peripheral shows."""
    from phone import Io

    peer = await sensor(lab, Io.DISPLAY)
    peer.server.trusts = lambda bearer: bool(bearer.authenticated)
    words = ("--connect", peer.address, "--security", "high", "read", "0x0211", "--print", "hex")
    person, terminal = os.openpty()
    run = await start(lab, *words, stdin=terminal)
    os.close(terminal)
    digits = await asyncio.wait_for(peer.person.shown, 15)
    await asyncio.sleep(0.5)
    os.write(person, f"{digits:06}\n".encode())
    outcome = (await end(run, words, 20)).expect(0)
    os.close(person)
    check(outcome.out == "2a\n", f"it printed {outcome.out!r}")
    check("six digits" in outcome.err, f"it asked {outcome.err!r}")
