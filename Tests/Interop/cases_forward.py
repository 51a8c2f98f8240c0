# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd forward`: notifications are forwarded by Apprise, each to its destinations, and a destination that is down delays nobody."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Daemon, Process, run
from Harness.web import Service

from .testbed import NO_VFORK, Testbed

DELIVER = Path(__file__).resolve().parents[2] / "packaging/deliver"


def settings(bed: Testbed, *tables: dict[str, Any]) -> Path:
    """Writes a settings file with these destinations."""
    file = bed.work / "forward.toml"
    file.write_text("".join("[[forward]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
                            for table in tables))
    return file


async def forwarder(bed: Testbed, daemon: Daemon, *tables: dict[str, Any]) -> Process:
    """Starts `ancsd forward` with these destinations."""
    file = settings(bed, *tables)
    command = [bed.binary, "forward", "--config", file, "--socket", daemon.socket, "--program", DELIVER, "--state-dir", bed.work]
    running = await bed.start(Process(command, bed.out / "forward"))
    await eventually(lambda: "ancsd forward: forwarding to" in running.log, "it does not start")
    # It reports once it is subscribed.
    await becomes(daemon, lambda forwards: len(forwards) == len(tables), "all destinations")
    return running


async def becomes(daemon: Daemon, condition: Callable[[list[Any]], bool], wanted: str) -> None:
    """Waits for what the daemon's status says of the destinations."""
    await daemon.answer("status", lambda status: condition(status.get("forwards", [])), wanted, within=20)


def noted(bed: Testbed) -> int:
    """The last event that the first destination has handled, as the next run will read it."""
    seq: int = json.loads((bed.work / "forwarded.json").read_text())["handled"][0]["seq"]
    return seq


@case("forward-day", seconds=60)
async def day(bed: Testbed) -> None:
    """Each destination gets what its conditions select, at its level of content, as text; one that is down delays only itself."""
    daemon, phone, _ = await bed.served()
    whole, apps, down, hole = [await Service(bed, silent=number == 3).start() for number in range(4)]
    down.close()
    running = await forwarder(
        bed, daemon, {"to": whole.url, "content": "full"}, {"to": apps.url, "app": "com.apple.MobileSMS"},
        {"to": down.url, "name": "cellar"}, {"to": hole.url})
    phone.ancs.post(Notification(1, title="<b>Mum</b>", message="*Are you*\n\x1b[2Jcoming?"))
    phone.ancs.post(Notification(2, app_id="com.apple.mobilephone", title="Grace Hopper", category=1, message=""))
    await eventually(lambda: len(whole.messages) == 2 and len(apps.messages) == 1, lambda: f"{whole.messages} {apps.messages}", 20)
    check(sorted(whole.messages) == [
        ("<b>Mum</b> – Messages", "*Are you*\n␛[2Jcoming?"), ("Grace Hopper – Phone", "Incoming call")], f"{whole.messages}")
    check(apps.messages == [("Messages", "New notification")], f"{apps.messages}")
    await eventually(lambda: "“cellar” (json://…): A Connection error occurred" in running.log, lambda: f"log: {running.log}", 20)
    await eventually(lambda: hole.requests == 1, "nothing reaches the silent service", 20)
    # The fourth service answers nothing until Apprise gives up, after which it is as down as the cellar: when is a matter of speed.
    await becomes(daemon, lambda forwards: [(one["name"], one["sent"], one["waiting"]) for one in forwards] == [
        ("1", 2, 0), ("2", 1, 0), ("4", 0, 2), ("cellar", 0, 2)] and ["why" in forwards[index] for index in (0, 1, 3)] == [False, False, True],
        "what each has sent and why one has not")
    await down.start()
    await eventually(lambda: len(down.messages) == 2, lambda: f"{down.messages}", 40)
    check("delivering again" in running.log and "Mum" not in running.log, f"log: {running.log}")
    # The call was missed: one message is enough.
    phone.ancs.remove(2)
    phone.ancs.post(Notification(3, app_id="com.apple.mobilephone", title="Grace Hopper", category=2))
    phone.ancs.post(Notification(4, title="Dad", message="Hello"))
    await eventually(lambda: len(whole.messages) == 3, lambda: f"{whole.messages}", 20)
    check(whole.messages[2] == ("Dad – Messages", "Hello"), f"{whole.messages}")


@case("forward-refused", seconds=60)
async def refused(bed: Testbed) -> None:
    """What the service will never take is given up at once, and delays nothing; what new settings may correct is tried again."""
    daemon, phone, _ = await bed.served()
    service = await Service(bed).start()
    service.refusals = {"1 – Messages": 400, "4 – Messages": 403}
    running = await forwarder(bed, daemon, {"to": service.url, "content": "title"})
    phone.ancs.post(*(Notification(uid, title=f"{uid}") for uid in (1, 2, 3)))
    await becomes(daemon, lambda forwards: [(one["sent"], one["lost"], one["waiting"]) for one in forwards] == [(2, 1, 0)],
                  "the others are sent")
    check([title for title, _ in service.messages] == ["2 – Messages", "3 – Messages"], f"{service.messages}")
    check(running.log.count("error=400") == 1 and service.requests == 3, f"{service.requests} requests; log: {running.log}")
    phone.ancs.post(Notification(4, title="4"))
    await eventually(lambda: service.requests >= 5, "it is not tried again", 20)
    service.refusals = {}
    await eventually(lambda: service.messages[-1][0] == "4 – Messages", lambda: f"{service.messages}", 20)
    told = await bed.run("forward", "--test", "--config", bed.work / "forward.toml", "--program", DELIVER)
    check(told.status == 0, f"{told}")
    service.refusals = {"ancsd": 413}
    told = await bed.run("forward", "--test", "--config", bed.work / "forward.toml", "--program", DELIVER)
    check(told.status == 69 and "error=413" in told.err, f"{told}")


@case("forward-killed", seconds=90)
async def killed(bed: Testbed) -> None:
    """What was not delivered when it is killed is sent by the next run, and what was delivered is not sent again."""
    daemon, phone, _ = await bed.served()
    up, down = await Service(bed).start(), await Service(bed).start()
    down.close()
    tables: list[dict[str, Any]] = [{"to": up.url, "content": "title"}, {"to": down.url, "content": "title"}]
    running = await forwarder(bed, daemon, *tables)
    phone.ancs.post(*(Notification(uid, title=f"{uid}") for uid in range(1, 31)))
    await eventually(lambda: len(up.messages) == 30, lambda: f"{len(up.messages)} of 30", 30)
    last = (await daemon.event("notification", uid=30))["seq"]
    await eventually(lambda: noted(bed) >= last, lambda: f"it has noted {noted(bed)}, not {last}")
    running.send_signal(signal.SIGSTOP)  # so that it starts nothing more
    started = procfs.children(running.pid)
    await running.kill()
    await eventually(lambda: not any(map(procfs.runs, started)), "what it had started does not end")
    await daemon.passes_on(phone, Notification(31, title="31"))
    await down.start()
    await forwarder(bed, daemon, *tables)
    await eventually(lambda: len(down.messages) == 31 and len(up.messages) == 31, lambda: f"{len(down.messages)}, {len(up.messages)}", 30)
    for service in (up, down):
        told = [title for title, _ in service.messages]
        check(told == [f"{uid} – Messages" for uid in range(1, 32)], f"{told}")


@case("forward-moved", seconds=60)
async def moved(bed: Testbed) -> None:
    """What waits for a destination is sent to it, and nothing is repeated to another, when a table before theirs is new."""
    daemon, phone, _ = await bed.served()
    new, up, down = [await Service(bed).start() for _ in range(3)]
    down.close()
    tables = [{"to": service.url, "content": "title"} for service in (new, up, down)]
    running = await forwarder(bed, daemon, *tables[1:])
    phone.ancs.post(*(Notification(uid, title=f"{uid}") for uid in (1, 2)))
    await becomes(daemon, lambda forwards: sorted((one["sent"], one["waiting"]) for one in forwards) == [(0, 2), (2, 0)], "one is down")
    settings(bed, *tables)
    running.send_signal(signal.SIGHUP)
    await becomes(daemon, lambda forwards: len(forwards) == 3, "all destinations")
    await down.start()
    phone.ancs.post(Notification(3, title="3"))
    for service, first in ((new, 3), (up, 1), (down, 1)):
        wanted = [(f"{uid} – Messages", "New notification") for uid in range(first, 4)]
        await eventually(lambda: service.messages[-1:] == wanted[-1:], lambda: f"{service.messages}", 30)
        check(service.messages == wanted, f"{service.messages}")


@case("forward-test")
async def test(bed: Testbed) -> None:
    """`forward --test` tells what becomes of a message, and takes a URL only from a file that others can't read."""
    service = await Service(bed).start()
    secret = bed.work / "url"
    secret.write_text(service.url + "\n")
    secret.chmod(0o644)
    file = bed.work / "forward.toml"
    file.write_text(f'[[forward]]\nto-file = "{secret}"\nname = "home"\n')
    command = [bed.binary, "forward", "--test", "--config", file, "--program", DELIVER]
    told = await run(*command)
    check(told.status == 69 and f"chmod 600 {secret}" in told.err, f"{told}")
    secret.chmod(0o600)
    told = await run(*command)
    check(told.status == 0 and "“home”" in told.err and len(service.messages) == 1, f"{told}")


@case("forward-without-program", native=NO_VFORK)
async def absent(bed: Testbed) -> None:
    """Without the program that sends, it names the package that has it."""
    file = bed.work / "forward.toml"
    file.write_text('[[forward]]\nto = "json://127.0.0.1:9/board"\n')
    told = await run(bed.binary, "forward", "--test", "--config", file, "--program", bed.work / "nothing")
    check(told.status == 69 and "install the package ancsd-forward" in told.err, f"{told}")
