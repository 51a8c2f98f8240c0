# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd fleet`: all boards on a broker, and requests to one of them or all."""

import asyncio
import json
import os
import signal
from typing import Any

from Harness.ancs import Notification, call
from Harness.case import case, check, eventually
from Harness.process import EventProcess, Outcome, Process
from Interop.peers import Phone

from .mosquitto import Mosquitto
from .relay import Relay
from .testbed import Testbed
from .watcher import Watcher

#: Why a case is not for qemu-user.
NO_EXEC = "qemu-user does not start another program for the processor"


async def fleet(bed: Testbed, broker: Mosquitto | Relay, *words: Any, **how: Any) -> Outcome:
    """Runs `ancsd fleet` with the broker named."""
    return await bed.run("fleet", *words, "--url", broker.url, **{"within": 20, **how})


async def house(bed: Testbed, broker: Mosquitto, **of_hall: Any) -> tuple[Phone, Watcher]:
    """Two boards, kitchen and hall, with the same phone."""
    daemon, phone, _ = await bed.board(broker)
    await bed.bridge(daemon, broker.url, board="hall", **of_hall)
    await phone.subscribed("ams")
    watcher = await bed.watcher(broker)
    for board in ("kitchen", "hall"):
        await watcher.message(f"ancsd/{board}/phone/iphone/state", state="online")
        await watcher.message(f"ancsd/{board}/phone/iphone/counts", total=0)
        await watcher.message(f"ancsd/{board}/phone/iphone/battery", level=80)
    return phone, watcher


@case("fleet-table", native=NO_EXEC)
async def table(bed: Testbed) -> None:
    """A row for each board and phone: state, battery, active notifications; an offline board says why."""
    broker = await bed.mosquitto()
    phone, watcher = await house(bed, broker)
    # It has no daemon.
    await bed.bridge(bed.socket(7), broker.url, board="attic")
    await watcher.message("ancsd/attic/state", state="offline")
    phone.ancs.post(Notification(1), Notification(2))
    for board in ("kitchen", "hall"):
        await watcher.message(f"ancsd/{board}/phone/iphone/counts", total=2)
    rows = (await fleet(bed, broker)).expect(0).out.splitlines()
    check(rows[0].split()[:3] == ["BOARD", "STATE", "VERSION"], f"the head is {rows[0]!r}")
    check([row.split()[0] for row in rows[1:]] == ["attic", "hall", "kitchen"], f"the rows are {rows}")
    check("offline" in rows[1] and "daemon" in rows[1], f"the board that is away is {rows[1]!r}")
    for row in rows[2:]:
        check({"online", "iphone", "80", "2"} <= set(row.split()), f"a board's row is {row!r}")
    boards = {board["board"]: board for board in (await fleet(bed, broker, "--json")).expect(0).objects}
    check(boards.keys() == {"attic", "hall", "kitchen"}, f"as JSON there are {boards}")
    check(boards["attic"]["state"] == "offline" and boards["attic"]["phones"] == [], f"the board that is away is {boards['attic']}")
    phones = boards["kitchen"]["phones"]
    check(len(phones) == 1 and phones[0]["battery"] == 80 and phones[0]["notifications"] == 2, f"the kitchen has {phones}")
    none = (await fleet(bed, broker, "--board", "cellar")).expect(69)
    check("cellar" in none.err, f"an unknown board: {none.err}")


@case("fleet-watch", seconds=90, native=NO_EXEC)
async def watch(bed: Testbed) -> None:
    """--watch prints every change: a notification, a board that goes offline and returns, and, once a broker is back that has
    forgotten everything, what has changed meanwhile."""
    broker = await bed.mosquitto()
    daemon, phone, bridge = await bed.board(broker)
    await bed.online(broker)
    command = [bed.binary, "fleet", "--watch", "--json", "--url", broker.url]
    watching = await bed.start(Lines(command, bed.out / "watching"))
    await watching.board(lambda board: board["state"] == "online" and board["phones"][0].get("notifications") == 0)
    phone.ancs.post(Notification(1))
    await watching.board(lambda board: board["phones"][0]["notifications"] == 1)
    await daemon.stop()
    await watching.board(lambda board: board["state"] == "offline" and "daemon" in board["why"])
    await daemon.start()
    await watching.board(lambda board: board["state"] == "online" and board.get("wait") == "news")
    await broker.kill()
    phone.ancs.post(Notification(2))
    await asyncio.sleep(3)
    check("reaching the broker" in watching.log and len(watching.log.splitlines()) <= 3, f"without a broker it says: {watching.log}")
    await broker.up()
    await watching.board(
        lambda board: board["state"] == "online" and bool(board["phones"]) and board["phones"][0].get("notifications") == 2, within=60)
    await bridge.kill()
    # The will, ten seconds later.
    await watching.board(lambda board: board["state"] == "offline", within=20)
    await watching.stop(signal.SIGINT)


class Lines(EventProcess):
    """A command that prints one board per line."""

    async def board(self, where: Any, within: float = 20) -> None:
        """Waits until the last printed board matches."""
        await eventually(lambda: self.events and where(self.events[-1]), "the board is not printed like that", within)


@case("fleet-commands", native=NO_EXEC)
async def commands(bed: Testbed) -> None:
    """A media command goes to every online board, or to one; without a command, each reports what is playing. A call is declined,
    and a notification of one board acted on; lists omit what is withheld."""
    broker = await bed.mosquitto()
    phone, watcher = await house(bed, broker)
    seen = phone.ams.remote_commands
    both = (await fleet(bed, broker, "media", "pause")).expect(0)
    check(sorted(both.out.splitlines()) == ["hall: done", "kitchen: done"], f"the output is {both.out!r}")
    await eventually(lambda: seen == ["pause", "pause"], lambda: f"the phone saw {seen}")
    one = (await fleet(bed, broker, "media", "next", "--board", "hall", "--phone", "iphone")).expect(0)
    check(one.out.splitlines() == ["hall: done"], f"the output is {one.out!r}")
    await eventually(lambda: seen == ["pause", "pause", "next"], lambda: f"the phone saw {seen}")
    answers = (await fleet(bed, broker, "media", "--json")).expect(0).objects
    check({answer["board"] for answer in answers} == {"hall", "kitchen"}, f"what plays is {answers}")
    check(all("track" in answer["data"]["withheld"] for answer in answers), f"what plays is {answers}")

    phone.ancs.post(Notification(1, title="Secret title"), call(2))
    for board in ("kitchen", "hall"):
        await watcher.message(f"ancsd/{board}/phone/iphone/counts", total=2)
    listed = (await fleet(bed, broker, "list", "--board", "kitchen")).expect(0)
    check("Messages" in listed.out and "Secret" not in listed.out, f"the list is {listed.out!r}")
    (await fleet(bed, broker, "act", "decline", "--board", "kitchen")).expect(0)
    check(phone.ancs.actions == [(2, "negative")], f"the phone saw {phone.ancs.actions}")
    check((await fleet(bed, broker, "act", "1", "negative")).status == 64, "a number without its board is taken")
    (await fleet(bed, broker, "act", "1", "negative", "--board", "hall")).expect(0)
    check(phone.ancs.actions[1:] == [(1, "negative")], f"the phone saw {phone.ancs.actions}")
    refused = await fleet(bed, broker, "act", "9", "negative", "--board", "hall")
    check(refused.status == 1 and refused.out.startswith("hall: "), f"a notification that is not there: {refused}")


@case("fleet-refused", native=NO_EXEC)
async def refused(bed: Testbed) -> None:
    """One board refuses and the other obeys: status 1. An unreachable broker: status 69."""
    broker = await bed.mosquitto()
    phone, _ = await house(bed, broker, allow=["read"])
    answers = await fleet(bed, broker, "media", "play")
    said = dict(line.split(": ", 1) for line in answers.out.splitlines())
    check(answers.status == 1 and said["kitchen"] == "done" and "allow" in said["hall"], f"the output is {answers}")
    await eventually(lambda: phone.ams.remote_commands == ["play"], lambda: f"the phone saw {phone.ams.remote_commands}")
    await broker.kill()
    nobody = (await fleet(bed, broker)).expect(69)
    check("refused" in nobody.err, f"without a broker: {nobody.err}")


@case("fleet-user", native=NO_EXEC)
async def user(bed: Testbed) -> None:
    """With the user's password, all boards are listed; a wrong password is reported, and an unsafe password file refused."""
    acl = "user house\ntopic read ancsd/#\ntopic write ancsd/+/request/+\ntopic write ancsd/+/phone/+/request/+\npattern readwrite ancsd/%u/#\n"
    broker = await bed.mosquitto(users={"house": "key", "kitchen": "spoon"}, acl=acl)
    await bed.board_as("kitchen", "spoon", broker)
    watcher = await bed.watcher(broker, user="house", password="key")
    await watcher.message("ancsd/kitchen/phone/iphone/state", state="online")
    secret = bed.secret("house", "key\n")
    who = ("--user", "house", "--password-file", secret)
    (await fleet(bed, broker, "list", *who)).expect(0)
    check("kitchen" in (await fleet(bed, broker, *who)).expect(0).out, "the board is not listed")
    secret.write_text("lock\n")
    wrong = (await fleet(bed, broker, *who)).expect(69)
    check("password" in wrong.err, f"a wrong password: {wrong.err}")
    secret.chmod(0o644)
    shared = await fleet(bed, broker, *who)
    check(shared.status == 77 and "chmod" in shared.err, f"a password that others can read: {shared}")
    # A user without rights sees no board.
    bed.secret("house", "spoon\n")
    other = await fleet(bed, broker, "--user", "kitchen", "--password-file", secret, "--board", "hall")
    check(other.status == 69 and "hall" in other.err, f"a board that this user may not see: {other}")


@case("fleet-silent", native=NO_EXEC)
async def silent(bed: Testbed) -> None:
    """A board that is online but does not respond is named: status 75. An offline board: status 69."""
    broker = await bed.mosquitto()
    daemon, _, bridge = await bed.board(broker)
    hall = await bed.bridge(daemon, broker.url, board="hall")
    watcher = await bed.watcher(broker)
    for board in ("kitchen", "hall"):
        await watcher.message(f"ancsd/{board}/phone/iphone/state", state="online")
    bridge.send_signal(signal.SIGSTOP)
    late = await fleet(bed, broker, "list", "--timeout", "4")
    check(late.status == 75 and "kitchen" in late.err and "hall" not in late.err, f"the output is {late}")
    check(late.out.startswith("hall: "), f"the other's answer is {late.out!r}")
    bridge.send_signal(signal.SIGCONT)
    await hall.stop()
    await watcher.message("ancsd/hall/state", state="offline")
    away = (await fleet(bed, broker, "list", "--board", "hall")).expect(69)
    check("“hall” is offline" in away.err, f"a board that is offline: {away.err}")


@case("fleet-far", native=NO_EXEC)
async def far(bed: Testbed) -> None:
    """A distant broker, with a round trip of a second, is waited for."""
    broker = await bed.mosquitto()
    await bed.board(broker)
    await bed.online(broker)
    relay = await bed.relay(broker)
    relay.delay = 0.5
    boards = (await fleet(bed, relay, "--json")).expect(0).objects
    check([board["board"] for board in boards] == ["kitchen"] and len(boards[0]["phones"]) == 1, f"there is {boards}")


@case("fleet-watch-reader", native=NO_EXEC)
async def watch_reader(bed: Testbed) -> None:
    """--watch ends with the reader of its output, though nothing changes."""
    broker = await bed.mosquitto()
    watcher = await bed.watcher(broker)
    watcher.publish("ancsd/attic/state", json.dumps({"state": "online"}), retain=True)
    read, write = os.pipe()
    watching = Process([bed.binary, "fleet", "--watch", "--url", broker.url], bed.out / "watching")
    await bed.start(watching, out=write)
    os.close(write)
    check(os.read(read, 1) != b"", "nothing was printed")
    os.close(read)
    check(await watching.ended() == 0 and not watching.log, f"it ended with {watching.ending}: {watching.log}")


@case("fleet-pages", native=NO_EXEC)
async def pages(bed: Testbed) -> None:
    """A list that a board sends in parts, of which one is empty because all in it is withheld, is shown as one."""
    broker = await bed.mosquitto()
    watcher = await bed.watcher(broker)
    watcher.publish("ancsd/attic/state", json.dumps({"state": "online"}), retain=True)
    parts: dict[str | None, Any] = {None: ([1], {"next": "a"}), "a": ([], {"next": "b"}), "b": ([2], {})}

    async def respond() -> None:
        seen = 0
        while True:
            asked = await watcher.message("ancsd/attic/request/notifications.list", since=seen)
            seen = watcher.messages.index(asked) + 1
            uids, more = parts[asked.json.get("after")]
            event = {"change": "added", "category": "social", "category_count": 1, "flags": []}
            data = {"notifications": [{**event, "uid": uid, "app": f"App {uid}"} for uid in uids], **more}
            response = {"status": "ok", "transaction": asked.json["transaction"], "data": data}
            watcher.publish("ancsd/attic/response/notifications.list", json.dumps(response))

    responding = asyncio.create_task(respond())
    listed = (await fleet(bed, broker, "list")).expect(0)
    check("App 1" in listed.out and "App 2" in listed.out, f"the list is {listed.out!r}")
    printed = (await fleet(bed, broker, "list", "--json")).expect(0).objects
    responding.cancel()
    found = [notification["uid"] for notification in printed[0]["data"].pop("notifications")]
    check(len(printed) == 1 and found == [1, 2] and not printed[0]["data"], f"as JSON the list is {found}, {printed}")


@case("fleet-busy", native=NO_EXEC)
async def busy(bed: Testbed) -> None:
    """Boards that change all the time are printed all the same."""
    broker = await bed.mosquitto()
    await bed.board(broker)
    watcher = await bed.online(broker)
    count = 0

    async def change() -> None:
        nonlocal count
        while True:
            count += 1
            watcher.publish("ancsd/attic/board", json.dumps({"adapters": count}).encode(), retain=True)
            await asyncio.sleep(0.1)

    changing = asyncio.create_task(change())
    shown = (await fleet(bed, broker)).expect(0)
    changing.cancel()
    check("kitchen" in shown.out, f"the boards are {shown.out}")


@case("fleet-watch-pings", seconds=90, native=NO_EXEC)
async def watch_pings(bed: Testbed) -> None:
    """--watch pings the broker in time, however much it receives."""
    broker = await bed.scripted(ServerKeepAlive=6)
    watching = await bed.start(Lines([bed.binary, "fleet", "--watch", "--json", "--url", broker.url], bed.out / "watching"))
    await broker.connected()
    await asyncio.sleep(0.5)
    for number in range(160):
        broker.send("ancsd/kitchen/board", json.dumps({"adapters": number}).encode())
        await asyncio.sleep(0.1)
    # A broker waits 1.5 times the time that it gave (MQTT 5, 3.1.2.10); libmosquitto counts whole seconds.
    times = [*broker.pings, asyncio.get_running_loop().time()]
    check(len(times) > 2, f"it has sent {len(broker.pings)} pings in 16 s")
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    check(max(gaps) < 9, f"the pauses between its pings are {gaps}")
    check(watching.running, f"it has ended: {watching.log}")
    await watching.stop(signal.SIGINT)
