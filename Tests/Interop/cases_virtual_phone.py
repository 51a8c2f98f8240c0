# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon with `ancsd phone`, and with the built-in phone. Both ends are ancsd here: each holds the
other to the rules, and the phone does what its commands say."""

import asyncio
import socket

from Harness.case import case, check
from Harness.process import Daemon, Event, VirtualPhone, run

from .prompt import Prompt
from .testbed import NO_SELF, Testbed


async def pair(bed: Testbed, *options: str) -> tuple[Daemon, VirtualPhone, Event]:
    """A phone, a daemon and its `subscribed` event."""
    phone = await bed.virtual_phone(*options)
    daemon = await bed.daemon(phone)
    return daemon, phone, await daemon.event("subscribed")


@case("own-phone-burst")
async def burst(bed: Testbed) -> None:
    """`ancsd phone`: 500 notifications at once, in fragments of several sizes, in order, none lost."""
    daemon, phone, subscribed = await pair(bed)
    check(subscribed["mtu"] == 185, f"the MTU is {subscribed['mtu']}")
    first = 1
    for size in (None, 1, 20, 181):
        since = daemon.now
        await phone.do("fragments", size=size)
        await phone.do("burst", count=500, title="n", message="Saturday? \U0001f370")
        await daemon.event("notification", since=since, within=30, uid=first + 499)
        wanted = list(range(first, first + 500))
        came = [event["uid"] for event in daemon.since(since, "notification")]
        check(came == wanted, "the notifications came in another order, or not all")
        first += 500
    phone.check_rules()


@case("own-phone-prompt")
async def prompt(bed: Testbed) -> None:
    """`ancsd phone` on a terminal: completion, and events above the line that is typed."""
    shell = Prompt(bed.binary, "phone", "--listen", f"unix:{bed.work}/phone")
    await shell.shows("type commands, such as add title=Mum; help lists them", '"event":"listening"', "> ")
    shell.type("rena\t\x15batt\tle\t")
    await shell.shows("battery level=")
    daemon = await bed.start_daemon("--att", f"unix:{bed.work}/phone")
    await shell.shows('"event":"connected"', "> battery level=")
    await daemon.event("subscribed")
    shell.type("42\r")
    await shell.shows('{"ok":true}', "> ")
    await daemon.event("battery", level=42)
    shell.type("help\r")
    await shell.shows("adds a notification", "> ")
    shell.type("\x04")
    check(await shell.end() == 0, f"it ended with {shell.status}")


@case("own-phone-gives-up")
async def gives_up(bed: Testbed) -> None:
    """`ancsd phone --rule strikes=1`: after a link without a subscription nobody gets another before its user taps."""
    phone = await bed.virtual_phone("--rule", "strikes=1")
    where = f"unix:{phone.path}"
    (await bed.run("gatt", "--att", where, "mtu")).expect(0)
    await phone.event("gave-up", links=1)
    (await bed.run("gatt", "--att", where, "mtu")).expect(69)
    check(phone.find("connected", await phone.event("gave-up")) is None, "it accepted a link")
    await phone.do("tap")
    (await bed.run("gatt", "--att", where, "mtu")).expect(0)


@case("own-phone-waits")
async def waits(bed: Testbed) -> None:
    """`wait event=…`: two events in one turn of the loop end one wait, not also the next."""
    phone = await bed.virtual_phone()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(phone.path))
        await phone.event("connected")
        one = asyncio.create_task(phone.ask("wait", event="dropped"))
        two = asyncio.create_task(phone.ask("wait", event="gave-up", seconds=0.5))
        await asyncio.sleep(0.1)  # until the phone waits
        for _ in range(2):
            peer.send(b"\x0b\x01")  # a response to nothing
        check((await one)["ok"] is True, "the first wait did not end")
        check((await two)["ok"] is False, "the second of two events ended the next wait")
    check(len(list(phone.since(0, "dropped"))) == 2, "the phone did not drop both")


@case("own-phone-setup", native=NO_SELF)
async def rehearsal(bed: Testbed) -> None:
    """`setup --virtual-phone`: rehearsed by anybody up to the first notification; nothing is left, and nothing changed."""
    for words, ending in [(["--yes"], "Done. “ancsd watch”"), (["--name", "Küche", "--user", "nobody2"], "there is no user “nobody2”")]:
        outcome = await run("env", f"TMPDIR={bed.work}", bed.binary, "setup", "--virtual-phone", *words, within=30)
        check(outcome.status == (0 if words == ["--yes"] else 64), f"it ended with {outcome.status}: {outcome.out} {outcome.err}")
        check(ending in outcome.out + outcome.err, f"it said {outcome.out} {outcome.err}")
        check("This is a rehearsal" in outcome.out and not list(bed.work.glob("ancsd-setup*")), f"it left {list(bed.work.iterdir())}")
    check("Wrote /etc/ancsd/ancsd.toml." not in outcome.out, "it wrote before the last answer")
