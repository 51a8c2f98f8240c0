# SPDX-License-Identifier: GPL-3.0-or-later
"""Retained messages: the states of the board and its phones, and the will."""

from __future__ import annotations

import asyncio
import json
import signal

from Harness.ancs import Notification, call
from Harness.case import case, check, expect
from Harness.process import run

from .testbed import PHONE, Testbed


@case("mqtt-states")
async def states(bed: Testbed) -> None:
    """Each state is retained, has QoS 1, and matches the daemon's."""
    _, daemon, phone, _, watcher = await bed.watched()
    state = await watcher.message("ancsd/kitchen/state", state="online")
    status = await daemon.call("status")
    expect(state.json, life=status["life"], version=status["version"])
    printed = await run(bed.binary, "--version")
    check(printed.out.split()[1] == status["version"], f"the version is {status['version']}, and --version prints {printed.out}")
    await watcher.message(f"{PHONE}/state", state="online", authorization="unknown")
    await watcher.message(f"{PHONE}/battery", level=80)
    await watcher.message(f"{PHONE}/call", state="idle")
    await watcher.message(f"{PHONE}/counts", total=0)
    services = watcher.last(f"{PHONE}/state").json["services"]
    check(set(services) == {"ancs", "ams", "battery", "time"}, f"the services are {services}")
    board = watcher.last("ancsd/kitchen/board").json
    check({"wait", "why", "pairable"} <= board.keys(), f"the board's state is {board}")
    phone.ancs.post(Notification(1), call(2))
    await watcher.message(f"{PHONE}/counts", total=2)
    categories = watcher.last(f"{PHONE}/counts").json["categories"]
    expect(categories, **{"social": 1, "incoming-call": 1, "email": 0})
    rings = await watcher.message(f"{PHONE}/call", state="ringing")
    expiry = rings.properties.get("MessageExpiryInterval")
    check(expiry is not None and expiry <= 120, f"after kill -9 it would ring for ever: it expires after {expiry} s")
    phone.ancs.remove(2)
    await watcher.message(f"{PHONE}/call", since=watcher.messages.index(watcher.last(f"{PHONE}/call")), state="idle")
    kept = await watcher.retained("ancsd/#")
    wanted = {"ancsd/kitchen/state", "ancsd/kitchen/board",
              *(f"{PHONE}/{name}" for name in ("state", "battery", "media", "call", "counts"))}
    check(set(kept) == wanted, f"retained are {sorted(kept)}")
    for message in watcher.of("ancsd/#"):
        check(message.qos == 1, f"{message.topic} came with QoS {message.qos}")
    check(not any("AA:" in m.payload.decode() or m.topic.count(":") for m in watcher.messages), "an address is in a topic")


@case("mqtt-will")
async def will(bed: Testbed) -> None:
    """A killed bridge is offline by its will; a stopped one publishes that itself, immediately."""
    _, _, _, bridge, watcher = await bed.watched()
    since = watcher.now
    await bridge.stop(signal.SIGTERM)
    await watcher.message("ancsd/kitchen/state", since=since, within=8, state="offline")
    await bridge.start()
    await watcher.message("ancsd/kitchen/state", since=since, state="online")
    since = watcher.now
    await bridge.kill()
    await watcher.message("ancsd/kitchen/state", since=since, within=20, state="offline")
    kept = (await watcher.retained("ancsd/kitchen/state"))["ancsd/kitchen/state"]
    expect(kept.json, state="offline")


@case("mqtt-older-daemon")
async def older_daemon(bed: Testbed) -> None:
    """An older daemon, which does not understand the subscription, is logged as such; the states are published."""
    broker = await bed.mosquitto()
    daemon, _, _ = await bed.served()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        responses, requests = await asyncio.open_unix_connection(str(daemon.socket))

        async def back() -> None:
            while line := await responses.readline():
                writer.write(line)
            writer.close()

        bed.cleanups += [requests.close, asyncio.create_task(back()).cancel]
        while line := await reader.readline():
            if b'"subscribe"' not in line:
                requests.write(line)
                continue
            error = {"code": -32602, "message": "max_age is no parameter"}
            writer.write(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": error}).encode() + b"\n")

    path = bed.work / "older.sock"
    server = await asyncio.start_unix_server(serve, path)
    bed.cleanups.append(server.close)
    bridge = await bed.bridge(path, broker.url)
    await bed.says(bridge, "sends no events: max_age is no parameter", "upgrade ancsd")
    await bed.online(broker)
