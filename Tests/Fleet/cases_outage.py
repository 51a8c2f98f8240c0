# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers and daemons that go away at any moment: nothing is lost, duplicated, or published too late."""

import asyncio
import json
import os
import signal
import subprocess

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import Skipped, case, check, eventually, settled
from Harness.control import ControlClient

from .cases_state import uids
from .testbed import Testbed
from .watcher import EVENTS, PHONE, Watcher


def whole(watcher: Watcher, count: int) -> list[int]:
    """The UIDs of the published notifications, after a check that none is missing."""
    told = uids(watcher)
    missing = set(range(1, count + 1)).symmetric_difference(told)
    check(not missing, f"{sorted(missing)[:20]} are missing, or were never there")
    return told


@case("mqtt-broker-killed-during", seconds=180)
async def broker_killed_during(bed: Testbed) -> None:
    """The broker is killed during a burst of 400: every event arrives, in order; only unacknowledged ones may be duplicated."""
    broker = await bed.mosquitto()
    relay = await bed.relay(broker)
    _, phone, _ = await bed.scripted_board(relay)
    watcher = await bed.online(broker)
    await phone.do("burst", count=400, title="n", message="x" * 200)
    await eventually(lambda: len(uids(watcher)) >= 40, "nothing arrives", 20)
    # The broker keeps nothing, so the subscriber has to be back before the bridge.
    relay.stop_listening()
    relay.cut()
    # What it has acknowledged and not passed on is lost with it.
    await settled(lambda: len(uids(watcher)), quiet=0.5)
    subscriptions = watcher.subscriptions
    await broker.kill()
    await asyncio.sleep(1)
    await broker.up()
    await watcher.back(subscriptions)
    await relay.start()
    await watcher.message(EVENTS, within=90, uid=400)
    await relay.acknowledged()
    told = whole(watcher, 400)
    first = list(dict.fromkeys(told))
    check(first == sorted(first), "they came in another order")
    twice = len(told) - len(first)
    check(twice <= 16, f"{twice} were duplicated")
    bed.remark(f"{twice} of 400 were duplicated")


@case("mqtt-bridge-killed-during", seconds=120)
async def bridge_killed_during(bed: Testbed) -> None:
    """The bridge is killed during a burst and restarted: it continues after the last acknowledged event."""
    broker = await bed.mosquitto()
    _, phone, bridge = await bed.scripted_board(broker)
    watcher = await bed.online(broker)
    for turn in range(3):
        await phone.do("burst", count=200, title="n")
        wanted = 200 * turn + 50
        await eventually(lambda wanted=wanted: len(set(uids(watcher))) >= wanted, "nothing arrives", 20)
        await bridge.kill()
        await asyncio.sleep(0.5)
        await bridge.start()
        await watcher.message(EVENTS, within=30, uid=200 * (turn + 1))
    await asyncio.sleep(1)
    told = whole(watcher, 600)
    bed.remark(f"{len(told) - 600} of 600 were duplicated after three kills")


@case("mqtt-max-age", seconds=90)
async def max_age(bed: Testbed) -> None:
    """After an outage, events older than `max-age` are omitted; later ones are published."""
    broker = await bed.mosquitto()
    relay = await bed.relay(broker)
    daemon, phone, _ = await bed.board(relay, max_age=4)
    watcher = await bed.online(broker)
    await watcher.gets(phone, Notification(9))
    await relay.acknowledged()
    relay.stop_listening()
    relay.cut()
    phone.ancs.post(Notification(1))
    await asyncio.sleep(6)
    phone.ancs.post(Notification(2))
    await relay.start()
    # The bridge returns after its retry delay; whether the second event is published depends on that.
    await watcher.message(f"{PHONE}/counts", within=40, total=3)
    await watcher.gets(phone, Notification(3))
    check(1 not in uids(watcher), f"published: {uids(watcher)}")
    lost = watcher.last("ancsd/kitchen/event").json
    check(lost["event"] == "lost" and 1 <= lost["count"] <= 4, f"what was left out is told as {lost}")
    # Counters are reported now and then.
    await daemon.answer("status", lambda status: [(bridge["skipped"], bridge["reconnections"]) for bridge in status["bridges"]]
                        == [(lost["count"], 1)], "these counters", within=30)


@case("mqtt-publish-fails", seconds=120)
async def publish_fails(bed: Testbed) -> None:
    """An event that arrives in the same turn as the end of the connection is published on the next one."""
    broker = await bed.mosquitto()
    relay = await bed.relay(broker)
    daemon, phone, bridge = await bed.board(relay)
    watcher = await bed.online(broker)
    # A third connection that ends so soon would be taken for that of another board with the same name.
    for uid in (1, 2):
        bridge.send_signal(signal.SIGSTOP)
        await daemon.passes_on(phone, Notification(uid))
        relay.reset()
        await asyncio.sleep(0.2)
        bridge.send_signal(signal.SIGCONT)
        await watcher.message(EVENTS, within=20, uid=uid)
        await asyncio.sleep(0.5)
    check(list(dict.fromkeys(uids(watcher))) == [1, 2], f"published: {uids(watcher)}")


@case("mqtt-both-away", seconds=120)
async def both_away(bed: Testbed) -> None:
    """Daemon and broker stop and restart in either order: the last state is right, nothing is duplicated, and all events are
    published, even those with numbers of the daemon's earlier life."""
    broker, daemon, phone, bridge, watcher = await bed.watched()
    await watcher.gets(phone, *map(Notification, range(1, 11)))
    await daemon.stop()
    await broker.kill()
    for uid in range(1, 11):
        phone.ancs.remove(uid)
    await asyncio.sleep(1)
    await daemon.start()
    await asyncio.sleep(1)
    await broker.up()
    await watcher.message(f"{PHONE}/counts", within=60, since=watcher.now, total=0)
    await watcher.gets(phone, Notification(11))
    await broker.kill()
    await daemon.stop()
    await broker.up()
    await watcher.message("ancsd/kitchen/state", within=40, since=watcher.now, state="offline")
    since = watcher.now
    await daemon.start()
    await watcher.message(f"{PHONE}/state", within=40, since=since, state="online")
    await watcher.gets(phone, Notification(12))
    told = uids(watcher)
    check(told == [*range(1, 13)], f"published: {told}")
    check(bridge.running, "the bridge has ended")


def numbers(broker, since=0):  # type: ignore[no-untyped-def]
    """The UIDs of the added notifications that a scripted broker has received."""
    return [json.loads(p.payload)["uid"] for p in broker.of(EVENTS, since) if json.loads(p.payload)["change"] == "added"]


@case("mqtt-full-disk")
async def full_disk(bed: Testbed) -> None:
    """A full disk is logged once, and events continue; after a restart, the bridge continues from what was saved."""
    if os.geteuid() != 0:
        raise Skipped("a file system of its own takes root")
    mounted = bed.work / "small"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", mounted], capture_output=True).returncode:
        raise Skipped("mounting is not allowed here (a container without CAP_SYS_ADMIN)")
    bed.cleanups.append(lambda: subprocess.run(["umount", "-l", mounted], capture_output=True))
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.served()
    watcher = await bed.watcher(broker)
    bridge = await bed.bridge(daemon, broker.url, state=mounted / "state")
    await watcher.message(f"{PHONE}/state", state="online")
    with (mounted / "filler").open("wb") as filler:
        try:
            filler.write(b"x" * 65536)
            filler.flush()
        except OSError:
            pass
    await watcher.gets(phone, *(Notification(uid) for uid in range(1, 11)))
    await asyncio.sleep(2)
    check(uids(watcher) == list(range(1, 11)), f"published: {uids(watcher)}")
    said = [line for line in bridge.log.splitlines() if "space" in line.lower() or "full" in line.lower()]
    check(len(said) <= 2, f"the log is {bridge.log}")
    (mounted / "filler").unlink()
    await watcher.gets(phone, Notification(11))
    await bridge.stop()
    since = watcher.now
    await bridge.start()
    await watcher.message(f"{PHONE}/counts", since=since, total=11)
    await watcher.gets(phone, Notification(12))
    check(uids(watcher, since) == [12], f"published after a restart: {uids(watcher, since)}")


@case("mqtt-leaves-cleanly")
async def leaves(bed: Testbed) -> None:
    """On SIGTERM, with a broker, without one, or with a silent one, the bridge exits within 5 s with status 143. It tells
    the broker at once that the board is offline."""
    broker, daemon, _, bridge, watcher = await bed.watched()
    await bridge.stop(signal.SIGTERM, within=5)
    await watcher.message("ancsd/kitchen/state", within=4, state="offline")
    await broker.kill()
    await bridge.start()
    await bed.says(bridge, "no broker listens")
    await bridge.stop(signal.SIGTERM, within=5)
    silent = await bed.scripted()
    silent.answers = False
    other = await bed.bridge(daemon, silent.url)
    await silent.connected()
    await other.stop(signal.SIGINT, within=5)


@case("mqtt-daemon-full", seconds=120)
async def daemon_full(bed: Testbed) -> None:
    """With as many other clients as the daemon serves, or one less, the bridge neither spins nor fills its log, and says why
    it publishes nothing; once one leaves, it publishes states, and once all do, events."""
    _, daemon, phone, bridge, watcher = await bed.watched()
    await bridge.kill()
    others = [await ControlClient.connect(daemon.socket) for _ in range(63)]
    start = len(bridge.log)
    await bridge.start()

    async def costs(words: str) -> None:
        """The bridge's CPU time and log in 8 s, once it has said these words."""
        await eventually(lambda: words in bridge.log[start:], lambda: f"{words} is missing from the log: {bridge.log[start:]}", 20)
        before, lines = procfs.cpu_seconds(bridge.pid), len(bridge.log.splitlines())
        await asyncio.sleep(8)
        spent, said = procfs.cpu_seconds(bridge.pid) - before, len(bridge.log.splitlines()) - lines
        check(spent < 0.2 and said <= 2, f"{words}: in 8 s it took {spent:.2f} s of the processor and wrote {said} lines")

    await costs("the daemon sends no events: 64 clients are connected already")
    await bridge.kill()
    # A daemon that answers has seen the bridge leave, so the next client is served.
    await others[0].call("status")
    others.append(await ControlClient.connect(daemon.socket))
    start = len(bridge.log)
    await bridge.start()
    await costs("connected to mqtt")
    since = watcher.now
    # Of the bridge's two connections, the one for states gets the place.
    others.pop().close()
    await watcher.message("ancsd/kitchen/state", since=since, within=40, state="online")
    for other in others:
        other.close()
    phone.ancs.post(Notification(7))
    # Each of its attempts comes at most 10 s after the last.
    await watcher.message(EVENTS, uid=7, within=40)
