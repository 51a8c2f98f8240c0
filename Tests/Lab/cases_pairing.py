# SPDX-License-Identifier: GPL-3.0-or-later
"""First contact: every way to pair, and every way in which it does not come to that."""

from __future__ import annotations

import stat

from harness import Lab, case, check, eventually

SERVICES = ["ancs", "ams", "battery", "time"]


@case("pair-just-works")
async def just_works(lab: Lab) -> None:
    """An unknown phone reads what needs encryption, pairs by just works, and is served."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    # As an iPhone begins that was connected from its Bluetooth settings: by a read that is refused.
    phone.heeds_requests = False
    await phone.come()
    subscribed = await daemon.event("subscribed")
    check(phone.protected, "no characteristic of ancsd wanted encryption, so iOS would never pair")
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    check(phone.encrypted, "the link is not encrypted")
    check(
        phone.read.get("UUID-16:2A00 (Device Name)", b"").startswith(b"ancsd"),
        f"the name is not readable: {phone.read}",
    )
    identity = str(phone.identity).split("/")[0]
    connected = await daemon.event("connected")
    check(connected.get("bonded") is False, f"an unknown phone counts as bonded: {connected}")
    paired = await daemon.event("paired", since=connected)
    check(paired.get("phone") == identity, f"paired names {paired.get('phone')}, not {identity}")
    check(
        sorted(subscribed["services"]) == sorted(SERVICES),
        f"subscribed to {subscribed['services']}",
    )
    check(subscribed.get("mtu") == 185, f"the MTU is {subscribed.get('mtu')}, the phone's is 185")
    check(
        subscribed.get("requests", 99) <= 30, f"{subscribed.get('requests')} requests to subscribe"
    )
    keep_secret(lab)


def keep_secret(lab: Lab) -> None:
    """Keys are for nobody else's eyes."""
    check(stat.S_IMODE(lab.state.stat().st_mode) == 0o700, "the state directory is not mode 0700")
    files = [path for path in lab.state.rglob("*") if path.is_file()]
    check(files, "no bond was written to the state directory")
    for path in files:
        check(stat.S_IMODE(path.stat().st_mode) == 0o600, f"{path.name} is not mode 0600")


@case("pair-numbers")
async def numeric_comparison(lab: Lab) -> None:
    """Both show one number, the board says yes over the control socket."""
    daemon = await lab.ancsd("--io", "yesno")
    phone = await lab.phone()
    coming = lab.spawn(phone.come())
    asked = await daemon.event("pairing", method="confirm")
    number = await phone.person.compared
    check(
        asked.get("passkey") == f"{number:06}",
        f"the board shows {asked.get('passkey')}, the phone {number:06}",
    )
    daemon.none("paired")
    await daemon.call("pairing.respond", accept=True)
    await daemon.event("paired")
    await daemon.event("subscribed")
    await coming
    check(phone.authenticated, "the phone's link has no protection against a man in the middle")


@case("pair-numbers-differ")
async def numbers_differ(lab: Lab) -> None:
    """The board says that the numbers differ: nothing is paired, and a second try works."""
    daemon = await lab.ancsd("--io", "yesno")
    phone = await lab.phone()
    coming = lab.spawn(phone.come())
    await daemon.event("pairing", method="confirm")
    await daemon.call("pairing.respond", accept=False)
    failed = await daemon.event("pairing-failed")
    check(failed.get("reason"), f"no reason: {failed}")
    await coming
    check(phone.pairings == 0 and not await phone.bonded(), "the phone has a bond nevertheless")
    await phone.leave()
    await daemon.event("disconnected", since=failed)
    phone.person.renew()
    coming = lab.spawn(phone.come())
    await daemon.event("pairing", since=failed, method="confirm")
    await daemon.call("pairing.respond", accept=True)
    await daemon.event("subscribed", since=failed)
    await coming


@case("pair-passkey-shown")
async def passkey_shown(lab: Lab) -> None:
    """The board shows a passkey that is typed on the phone."""
    daemon = await lab.ancsd("--io", "display")
    phone = await lab.phone()
    coming = lab.spawn(phone.come())
    shown = await daemon.event("pairing", method="display")
    passkey = str(shown.get("passkey"))
    check(len(passkey) == 6 and passkey.isdigit(), f"the passkey is no six digits: {shown}")
    phone.person.typed.set_result(int(passkey))
    await daemon.event("paired")
    await daemon.event("subscribed")
    await coming
    check(phone.authenticated, "the phone's link has no protection against a man in the middle")


@case("pair-passkey-typed")
async def passkey_typed(lab: Lab) -> None:
    """The phone shows a passkey that is typed on the board, over the control socket."""
    daemon = await lab.ancsd("--io", "keyboard")
    phone = await lab.phone()
    coming = lab.spawn(phone.come())
    await daemon.event("pairing", method="entry")
    number = await phone.person.shown
    await daemon.call("pairing.respond", accept=True, passkey=f"{number:06}")
    await daemon.event("paired")
    await daemon.event("subscribed")
    await coming
    check(phone.authenticated, "the phone's link has no protection against a man in the middle")


@case("pair-refused")
async def refused(lab: Lab) -> None:
    """The phone refuses, by Cancel and by No: said, nothing kept, and the next try works."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    phone.cancels = True
    await phone.come()
    cancelled = await daemon.event("pairing-failed")
    check(cancelled.get("reason"), f"no reason: {cancelled}")
    await phone.give_up()
    phone.cancels, phone.person.agrees = False, False
    await phone.come()
    denied = await daemon.event("pairing-failed", since=cancelled)
    await phone.give_up()
    check(phone.pairings == 0, "the phone paired although its person refused")
    daemon.none("paired")
    daemon.none("subscribed")
    check(await daemon.call("phones.list") == [], "a phone that refused is listed")
    phone.person.agrees = True
    await phone.come()
    await daemon.event("subscribed", since=denied)


@case("pair-not-open")
async def unknown_phone(lab: Lab) -> None:
    """An unknown phone gets no bond and no data; the phone that is bonded is still served."""
    daemon, phone, subscribed = await lab.served()
    await phone.leave()
    await daemon.event("disconnected", since=subscribed)
    stranger = await lab.phone(address="C4:66:77:88:99:AA", name="Stranger")
    await stranger.notifications.post(lab.note(uid=66, title="not for you"))
    before = daemon.now
    await stranger.come()
    await eventually(
        lambda: stranger.refusals or not stranger.connected, "the stranger was never refused"
    )
    check(stranger.pairings == 0 and not await stranger.bonded(), "the stranger has a bond")
    check(not stranger.encrypted, "the stranger's link is encrypted")
    check(
        stranger.notifications.seen.sessions == 0,
        "ancsd subscribed to the stranger's notifications",
    )
    await stranger.give_up()
    for name in ("paired", "subscribed", "notification"):
        daemon.none(name, since=before)
    check(len(await daemon.call("phones.list")) == 1, "the stranger is listed")
    await phone.come()
    again = await daemon.event("subscribed", since=before)
    await phone.notifications.post(lab.note(uid=7, title="still here"))
    await daemon.event("notification", since=again, uid=7, title="still here")
    check(phone.pairings == 1, "the bonded phone had to pair again")


@case("pair-opened")
async def opened(lab: Lab) -> None:
    """pairing.open lets a second phone in, and pairing.close the third one out."""
    daemon, phone, subscribed = await lab.served()
    await phone.leave()
    await daemon.event("disconnected", since=subscribed)
    await daemon.call("pairing.open", seconds=30)
    second = await lab.phone(address="C4:66:77:88:99:AA", name="Second")
    await second.come()
    await daemon.event("subscribed", since=subscribed)
    check(second.pairings == 1, "the second phone did not pair")
    await second.leave()
    await daemon.call("pairing.close")
    third = await lab.phone(address="C4:0A:0B:0C:0D:0E", name="Third")
    await third.come()
    check(third.pairings == 0, "a third phone paired after pairing.close")
    check(len(await daemon.call("phones.list")) == 2, "not two phones are listed")


@case("pair-legacy")
async def legacy(lab: Lab) -> None:
    """Legacy pairing is dropped again without --allow-legacy, and kept with it."""
    daemon = await lab.ancsd("--io", "none")
    phone = await lab.phone()
    phone.secure = False
    await phone.come()
    failed = await daemon.event("pairing-failed")
    check("legacy" in str(failed.get("reason")).lower(), f"the reason does not name it: {failed}")
    await phone.give_up()
    daemon.none("subscribed")
    check(await daemon.call("phones.list") == [], "the legacy bond is still there")
    await daemon.stop()
    await phone.forget()
    daemon = await lab.ancsd("--io", "none", "--allow-legacy")
    await phone.come()
    await daemon.event("subscribed")
