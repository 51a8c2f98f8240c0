# SPDX-License-Identifier: GPL-3.0-or-later
"""Other MQTT 5 brokers: ejabberd and RabbitMQ."""

import asyncio

from Harness.ancs import Notification
from Harness.case import case, check, expect
from Harness.process import Process
from Interop.peers import Phone

from .cases_state import uids
from .mosquitto import Ejabberd, RabbitMQ
from .testbed import Testbed
from .watcher import EVENTS, PHONE, Watcher


async def publishes(watcher: Watcher, phone: Phone) -> None:
    """Waits for the states and thirty events."""
    await watcher.message("ancsd/kitchen/state", state="online", within=15)
    await watcher.message(f"{PHONE}/state", state="online")
    await phone.subscribed("ams")
    await watcher.gets(phone, *(Notification(uid) for uid in range(1, 31)), within=15)
    check(uids(watcher) == list(range(1, 31)), f"published: {uids(watcher)}")


async def comes_back(bridge: Process, watcher: Watcher, phone: Phone) -> None:
    """Kills the bridge, whose will is published, and starts it again."""
    since = watcher.now
    await bridge.kill()
    await watcher.message("ancsd/kitchen/state", since=since, within=30, state="offline")
    await bridge.start()
    await watcher.message("ancsd/kitchen/state", since=since, within=15, state="online")
    await asyncio.sleep(0.5)
    await watcher.gets(phone, Notification(31))
    check(bridge.running, "the bridge has ended")


@case("mqtt-ejabberd", seconds=180)
async def ejabberd(bed: Testbed) -> None:
    """With Debian's ejabberd: states, events, requests, the will, and a reconnection."""
    broker = Ejabberd(bed.work, bed.out / "ejabberd")
    bed.processes.append(broker)
    await broker.up()
    password = bed.secret("password", "kitchen\n")
    daemon, phone, _ = await bed.served()
    bridge = await bed.bridge(daemon, broker.url, user="kitchen@localhost", password_file=str(password))
    watcher = await bed.watcher(broker, user="watcher@localhost", password="watcher")
    await publishes(watcher, phone)
    expect(await watcher.ask(f"{PHONE}/request/media.command", {"command": "toggle"}), status="ok")
    kept = await watcher.retained("ancsd/#")
    check("ancsd/kitchen/state" in kept and not [topic for topic in kept if "/event" in topic], f"retained are {sorted(kept)}")
    await comes_back(bridge, watcher, phone)


@case("mqtt-rabbitmq", seconds=180)
async def rabbitmq(bed: Testbed) -> None:
    """With RabbitMQ, which makes `/` of the `.` of a request: states, events, requests, the will, and a reconnection."""
    broker = RabbitMQ(bed.work, bed.out / "rabbitmq")
    bed.processes.append(broker)
    await broker.up()
    # It delivers nothing retained to a subscription with a wildcard.
    watcher = await bed.watcher(broker)
    daemon, phone, _ = await bed.served()
    bridge = await bed.bridge(daemon, broker.url)
    await publishes(watcher, phone)
    for topic in ("ancsd/kitchen", PHONE):
        expect(await watcher.ask(f"{topic}/request/media.command", {"command": "toggle"}), status="ok")
    kept = await watcher.retained("ancsd/kitchen/state", f"{PHONE}/counts", EVENTS)
    check(set(kept) == {"ancsd/kitchen/state", f"{PHONE}/counts"}, f"retained are {sorted(kept)}")
    await comes_back(bridge, watcher, phone)
