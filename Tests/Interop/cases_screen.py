# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd tui`, the live screen: what a person at a terminal sees, and what keys do to the phone."""

import os
import re
import signal

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Daemon

from .peers import Phone
from .prompt import Prompt
from .screen import Screen
from .testbed import Testbed

WIDE = "日本語のとても長い題名がここにあります"


async def screen(bed: Testbed, daemon: Daemon, terminal: str = "") -> Screen:
    window = Screen(bed.work)
    bed.cleanups.append(window.close)
    await window.open(bed.binary, daemon.socket, terminal)
    return window


async def served(bed: Testbed) -> tuple[Daemon, Phone]:
    """A phone with three notifications and a player."""
    daemon, phone, _ = await bed.served()
    phone.ancs.post(Notification(1, title="Anna", message="Dinner tonight?", positive="Reply", negative="Clear"))
    phone.ancs.post(Notification(2, title=WIDE, message="🏔️ " + WIDE * 3, negative="Clear"))
    await daemon.passes_on(phone, Notification(3, title="Dr. Miller", category=1, positive="Answer", negative="Decline"))
    return daemon, phone


@case("screen-live")
async def live(bed: Testbed) -> None:
    """Notifications, media with a moving bar, battery and link are there, and follow the phone."""
    daemon, phone = await served(bed)
    window = await screen(bed, daemon)
    rows = await window.shows("Dinner tonight?")
    text = "\n".join(rows)
    for part in ("battery", "encrypted", "3 notifications", "Anna", "#1", "[+Reply -Clear]", "[+Answer -Decline]"):
        check(part in text, f"{part!r} is not in\n{text}")
    check(text.index("Dr. Miller") < text.index("Anna"), f"the newest is not the first:\n{text}")
    await window.shows(lambda shown: "Sinnerman" in shown and "10:22" in shown)

    def position(rows: list[str]) -> int:
        found = re.search(r"^(\d+):(\d\d) [█░]+ 10:22", "\n".join(rows), re.MULTILINE)
        return int(found[1]) * 60 + int(found[2]) if found else -1

    first = position(await window.rows())
    check(first >= 0, "there is no bar")
    await window.shows(lambda shown: position(shown.split("\n")) >= first + 2)
    phone.ancs.modify(1, message="Dinner at eight!")
    await window.shows("Dinner at eight!")
    phone.ancs.remove(1)
    await window.shows_not("Anna")
    phone.ancs.post(Notification(4, title="Evil\x1b[2J\x07", message="\x1b]0;title\x07 text"))
    await window.shows("Evil␛[2J␇")
    await window.resize(40, 12)
    await window.shows(lambda shown: shown.count("\n") == 12 and shown.split("\n")[11].endswith("q quit"))
    phone.disconnect()
    await window.shows("disconnected")


@case("screen-keys")
async def keys(bed: Testbed) -> None:
    """Keys act on the selected notification, control the player, search, open in full, and leave."""
    daemon, phone = await served(bed)
    window = await screen(bed, daemon)
    await window.shows("> ")
    await window.press("Down", "Down")
    await window.shows(lambda shown: re.search(r"^> .*Anna", shown, re.MULTILINE) is not None)
    await window.press("+")
    await eventually(lambda: phone.ancs.actions == [(1, "positive")], "the action did not reach the phone")
    await window.press("m")
    await window.shows("dislike the track")
    await window.press("Space", "n", "]")
    wanted = ["toggle", "next", "volume-up"]
    await eventually(lambda: phone.ams.remote_commands == wanted, "the player was not controlled")
    await window.press("Escape")
    phone.ancs.post(Notification(4, title="Ben", message="Lunch?"))
    await window.shows("Lunch?")
    await window.press("/", "l", "u", "n", "c", "h")
    await window.shows(lambda shown: "1/1 of 3 notifications" in shown and "search: lunch" in shown)
    await window.press("Enter", "Enter")
    await window.shows("app id")
    await window.press("Escape")
    await window.shows_not("app id")
    await window.press("q")
    await window.shows("status 0")


@case("screen-daemon-restarts")
async def restart(bed: Testbed) -> None:
    """Without a daemon the screen says so and why; it goes on with the next one. Signals end it cleanly."""
    phone = bed.phone()
    daemon = await bed.daemon(phone)
    await daemon.event("subscribed")
    phone.ancs.post(Notification(1, title="Before"))
    window = await screen(bed, daemon)
    await window.shows("Before")
    await daemon.stop()
    # Words that no end of a row separates, however long the paths are.
    text = "\n".join(await window.shows(lambda shown: "ancsd no daemon" in shown and "doctor" in shown))
    check("Before" not in text, "what the daemon said is still shown")
    check("exiting" not in text, "what the daemon said at its end is still shown")
    again = await bed.start(
        Daemon(daemon.command, bed.out / "again", daemon.socket)
    )
    since = await again.event("subscribed")
    phone.ancs.post(Notification(2, title="After"))
    await again.event("notification", since=since, uid=2)
    await window.shows("After")
    await window.press("C-c")
    await window.shows("status 130")


@case("screen-ended")
async def ended(bed: Testbed) -> None:
    """What can still be undone is done before a signal, or the end of the terminal, ends the screen."""
    daemon, phone = await served(bed)
    for uid in (3, 2):
        window = Prompt(bed.binary, "tui", "--socket", str(daemon.socket))
        await window.shows("Anna")
        window.type("-")
        await window.shows("undoes")
        if uid == 3:
            os.kill(window.pid, signal.SIGTERM)
            check(await window.end() == 143, f"SIGTERM: status {window.status}")
        else:
            await window.hang_up()
        seen = phone.ancs.actions[-1:]
        check(seen == [(uid, "negative")], f"the phone saw {phone.ancs.actions}")


@case("screen-without-alternate")
async def without_alternate(bed: Testbed) -> None:
    """On a terminal without an alternate screen, what follows begins on a row of its own."""
    daemon, _ = await served(bed)
    window = await screen(bed, daemon, terminal="linux")
    await window.shows("Dinner tonight?")
    await window.press("q")
    rows = await window.shows("status 0")
    check("status 0" in [row.rstrip() for row in rows], f"the last row was not free: {rows}")


@case("screen-terminals")
async def terminals(bed: Testbed) -> None:
    """A terminal that ncurses does not know is treated as xterm; a call rings the bell."""
    daemon, phone = await served(bed)
    window = await screen(bed, daemon, terminal="nonsense")
    await window.shows("unknown terminal type")
    await window.shows("Anna")
    await window.press("g")
    # The wheel as xterm reports it (ctlseqs, “SGR Mouse Mode”).
    await window.tmux("send-keys", "-l", "\x1b[<65;10;10M")
    await window.shows("── 3/3 notifications")
    await window.tmux("send-keys", "-l", "\x1b[<64;10;10M")
    await window.shows("── 1/3 notifications")
    await window.tmux("set-option", "-g", "monitor-bell", "on")
    phone.ancs.post(Notification(7, title="Dr. Who", category=1, positive="Answer", negative="Decline"))
    await window.shows("Dr. Who")
    check("!" in await window.tmux("list-windows", "-F", "#{window_flags} #{window_bell_flag}")
          or "1" in await window.tmux("list-windows", "-F", "#{window_bell_flag}"), "no bell was rung")


@case("screen-refused")
async def refused(bed: Testbed) -> None:
    """Without a terminal, and on one that can't move its cursor, it says so and ends."""
    daemon, _, _ = await bed.served()
    outcome = (await bed.client(daemon, "tui")).expect(64)
    check("needs a terminal" in outcome.err, f"it printed {outcome.err!r}")
    window = await screen(bed, daemon, terminal="dumb")
    rows = await window.shows("status 64")
    check("“dumb” is unknown" in " ".join(rows), f"it printed {rows}")
    (await bed.client(daemon, "tui", "--json")).expect(64)
