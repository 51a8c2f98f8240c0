# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that are clients of the daemon, as a person or a script types them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from harness import check
from room import Outcome, Room, case


def objects(outcome: Outcome) -> list[Any]:
    """What a command printed with --format json: objects a line, or one array."""
    found: list[Any] = []
    for line in outcome.out.splitlines():
        value = json.loads(line)
        found += value if isinstance(value, list) else [value]
    return found


def plain(outcome: Outcome) -> None:
    """That nothing drives the terminal: no control characters but the ends of lines."""
    bad = [c for c in outcome.out + outcome.err if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160]
    check(not bad, f"`ancsd {outcome.command}` printed {bad[0]!r} into a pipe" if bad else "")


@case("commands-list")
async def list_and_count(room: Room) -> None:
    """list, count, show, apps, with filters and formats; 1 where nothing matches."""
    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1, title="Mum", flags=2))
    await phone.notifications.post(room.note(2, title="Boss", app_id="com.slack", category=7))
    await phone.notifications.post(room.note(3, title="Dad", flags=4))
    await daemon.event("notification", since=since, uid=3)
    counts = {
        (): 3, ("--app", "com.apple.*"): 2, ("--app", "com.slack"): 1, ("--category", "news"): 1,
        ("--flag", "important"): 1, ("--no-preexisting",): 2, ("--app", "org.*"): 0,
        ("--category", "voicemail"): 0, ("--flag", "pre-existing"): 1,
    }  # fmt: skip
    for arguments, number in counts.items():
        listed = (await room.client(daemon, "list", "--format", "json", *arguments)).expect(
            int(not number)
        )
        check(len(objects(listed)) == number, f"list {' '.join(arguments)} printed {listed.out!r}")
        counted = (await room.client(daemon, "count", *arguments)).expect(int(not number))
        check(counted.out.strip() == str(number), f"count {' '.join(arguments)}: {counted.out!r}")
    text = (await room.client(daemon, "list", "--format", "text")).expect(0)
    check(all(name in text.out for name in ("Mum", "Boss", "Dad")), f"list printed {text.out!r}")
    plain(text)
    shown = (await room.client(daemon, "show", "2", "--format", "json")).expect(0)
    check(objects(shown)[0]["title"] == "Boss", f"show printed {shown.out!r}")
    shown = (await room.client(daemon, "show", "2", "--format", "text")).expect(0)
    check("Boss" in shown.out and "Saturday" in shown.out, f"show printed {shown.out!r}")
    apps = objects((await room.client(daemon, "apps", "--format", "json")).expect(0))
    found = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(found["com.apple.MobileSMS"] == ("Messages", 2), f"apps printed {apps}")
    await room.client(daemon, "apps", "--format", "text")


@case("commands-act")
async def act(room: Room) -> None:
    """act, and how it ends: 0 done, 1 refused with the ATT error by name."""
    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1, category=1, positive="Answer", negative="Decline"))
    await phone.notifications.post(room.note(2))
    await daemon.event("notification", since=since, uid=2)
    (await room.client(daemon, "act", "1", "positive")).expect(0)
    check(phone.notifications.seen.actions == [(1, "positive")], "the phone saw another action")
    phone.notifications.actions_fail = True
    refused = (await room.client(daemon, "act", "2", "negative")).expect(1)
    check("action failed" in refused.err.lower(), f"act said {refused.err!r}")
    (await room.client(daemon, "act", "999", "negative")).expect(1)
    for wrong in (
        ("act",),
        ("act", "2"),
        ("act", "two", "negative"),
        ("act", "2", "maybe"),
        ("show",),
    ):
        (await room.client(daemon, *wrong)).expect(64)
    (await room.client(daemon, "show", "999")).expect(1)


@case("commands-media")
async def media(room: Room) -> None:
    """media prints what plays; its commands reach the phone by name."""
    daemon, phone, _ = await room.served()
    await daemon.event_where(
        "media",
        lambda e: len(e["commands"]) == 14 and e["track"]["duration"],
        since=0,
        wanted="all",
    )
    state = objects((await room.client(daemon, "media", "--format", "json")).expect(0))[0]
    check(state["track"]["title"] == "Sinnerman", f"media printed {state}")
    text = (await room.client(daemon, "media", "--format", "text")).expect(0)
    check("Sinnerman" in text.out and "Nina Simone" in text.out, f"media printed {text.out!r}")
    plain(text)
    for command in ("pause", "volume-up", "skip-forward", "bookmark"):
        (await room.client(daemon, "media", command)).expect(0)
    seen = phone.media.remote_commands
    check(seen == ["pause", "volume-up", "skip-forward", "bookmark"], f"the phone saw {seen}")
    phone.link.notify(phone.media.remote.handle, bytes([0, 1]))
    await daemon.event_where(
        "media", lambda e: e["commands"] == ["play", "pause"], since=0, wanted="fewer commands"
    )
    refused = (await room.client(daemon, "media", "like")).expect(1)
    check(refused.err.strip(), "a refused command said nothing")
    (await room.client(daemon, "media", "sing")).expect(64)


@case("commands-status")
async def status(room: Room) -> None:
    """status and phones, with a phone and without; 69 where no daemon is."""
    daemon, phone, _ = await room.served()
    await daemon.event("battery")
    found = objects((await room.client(daemon, "status", "--format", "json")).expect(0))
    check("ancs" in str(found), f"status printed {found}")
    text = (await room.client(daemon, "status", "--format", "text")).expect(0)
    check(text.out.strip(), "status printed nothing")
    plain(text)
    await room.client(daemon, "phones")
    phone.deafen()
    phone.hang_up()
    await daemon.event("disconnected")
    (await room.client(daemon, "status")).expect(0)
    (await room.client(daemon, "count")).expect(1)
    (await room.client(daemon, "media", "play")).expect(69)
    (await room.client(daemon, "act", "1", "positive")).expect(69)
    await daemon.stop()
    for command in (("status",), ("list",), ("watch",), ("act", "1", "positive"), ("media",)):
        (await room.client(daemon, *command)).expect(69)


@case("commands-watch")
async def watch(room: Room) -> None:
    """watch: -n, --timeout, --since, filters, `--event incoming`; text and JSON."""
    daemon, phone, since = await room.served()

    async def watching(*arguments: str) -> asyncio.Task[Outcome]:
        return room.spawn(room.client(daemon, "watch", *arguments, within=15))

    some = await watching("-n", "2", "--app", "com.slack", "--format", "json")
    early = await watching("-n", "1", "--event", "incoming", "--format", "json")
    text = await watching("-n", "2", "--event", "notification", "--format", "text")
    await clients(room, daemon, 3)
    nasty = "\x1b[31mred\x1b[0m \x07bell \x9b2J \r over \x00 \u202e right"
    await phone.notifications.post(room.note(1, title=nasty, message=nasty))
    await phone.notifications.post(room.note(2, app_id="com.slack", title="one"))
    await phone.notifications.post(room.note(3, app_id="com.slack", title="two"))
    titles = [e["title"] for e in objects((await some).expect(0))]
    check(titles == ["one", "two"], f"watch --app printed {titles}")
    incoming = objects((await early).expect(0))
    check([e["event"] for e in incoming] == ["incoming"], f"watch --event printed {incoming}")
    printed = (await text).expect(0)
    check("one" in printed.out and "red" in printed.out, f"watch printed {printed.out!r}")
    plain(printed)
    third = await daemon.event("notification", since=since, uid=3)
    later = await room.client(
        daemon, "watch", "-n", "1", "--since", str(third["seq"] - 1), "--format", "json"
    )
    check(objects(later.expect(0))[0]["seq"] == third["seq"], f"--since printed {later.out!r}")
    began = asyncio.get_running_loop().time()
    await room.client(daemon, "watch", "--timeout", "1", within=5)
    took = asyncio.get_running_loop().time() - began
    check(0.9 <= took <= 3, f"--timeout 1 took {took:.1f} s")
    endless = await watching("--format", "json")
    await clients(room, daemon, 1)
    await daemon.stop()
    ended = await endless
    check(ended.status in (0, 69), f"watch ended with {ended.status} when the daemon did")


async def clients(room: Room, daemon: Any, number: int) -> None:
    """Waits until so many clients hold a connection to the control socket."""
    from pathlib import Path

    name = str(daemon.socket)
    for _ in range(500):
        lines = Path("/proc/net/unix").read_text().splitlines()
        # State 03 is connected; the server's ends carry the path.
        if sum(line.endswith(name) and line.split()[5] == "03" for line in lines) >= number:
            await asyncio.sleep(0.1)  # the call to subscribe is behind the connection
            return
        await asyncio.sleep(0.02)
    check(False, f"{number} clients never connected")


@case("commands-usage")
async def usage(room: Room) -> None:
    """Wrong command lines end with 64 and one line; --help and --version with 0."""
    for arguments in (
        ("--no-such-option",), ("frobnicate",), ("run", "--att"), ("run", "--att", "tcp:x"),
        ("run", "--fetch", "colour"), ("run", "--max-length", "-1"), ("run", "--max-length", "x"),
        ("run", "--format", "xml"), ("list", "--category"), ("watch", "-n", "many"),
        ("run", "--io", "telepathy"), ("run", "--advertise", "loudly"),
    ):  # fmt: skip
        (await room.program(*arguments)).expect(64)
    for arguments in (("--help",), ("run", "--help"), ("list", "--help"), ("--version",)):
        outcome = (await room.program(*arguments)).expect(0)
        check(outcome.out.strip(), f"`ancsd {outcome.command}` printed nothing")
        plain(outcome)
