# SPDX-License-Identifier: GPL-3.0-or-later
"""First contact: every way to pair, and every way in which pairing fails."""

from Harness.ancs import Notification
from Harness.case import case, check, eventually

from .testbed import Testbed

NO_MITM = "the phone's bond has no protection against a man in the middle"


@case("pair-just-works")
async def just_works(bed: Testbed) -> None:
    """An unknown phone reads what requires encryption, pairs by Just Works, and is served."""
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    # An iPhone that is connected from its Bluetooth settings starts with a read that is refused.
    phone.heeds_requests = False
    await phone.connect()
    await daemon.event("subscribed")
    check(phone.protected, "no characteristic of ancsd requires encryption, so iOS would never pair")
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    check(phone.encrypted, "the link is not encrypted")
    name = phone.read.get("UUID-16:2A00 (Device Name)")
    check(name == bed.NAME.encode(), f"the name that the phone reads is {name!r}")
    connected = await daemon.event("connected")
    check(connected.get("bonded") is False, f"an unknown phone counts as bonded: {connected}")
    paired = await daemon.event("paired", since=connected)
    check(paired.get("phone") == phone.address, f"paired names {paired.get('phone')}")
    check(bed.state_files(), "no bond was written to the state directory")
    bed.check_state_private()


@case("pair-numbers")
async def numeric_comparison(bed: Testbed) -> None:
    """Both show the same number, and the board accepts it over the control socket."""
    daemon = await bed.daemon("--io", "yesno")
    phone = await bed.phone()
    connecting = bed.spawn(phone.connect())
    asked = await daemon.event("pairing", method="confirm")
    number = f"{await phone.user.compared:06}"
    check(asked.get("passkey") == number, f"the board shows {asked.get('passkey')}, the phone {number}")
    daemon.none("paired")
    await daemon.call("pairing.respond", accept=True)
    await daemon.event("paired")
    await daemon.event("subscribed")
    await connecting
    check(phone.authenticated, NO_MITM)


@case("pair-passkey-typed")
async def passkey_typed(bed: Testbed) -> None:
    """The phone shows a passkey, which the board gets over the control socket."""
    daemon = await bed.daemon("--io", "keyboard")
    phone = await bed.phone()
    connecting = bed.spawn(phone.connect())
    await daemon.event("pairing", method="entry")
    number = await phone.user.shown
    await daemon.call("pairing.respond", accept=True, passkey=f"{number:06}")
    await daemon.event("paired")
    await daemon.event("subscribed")
    await connecting
    check(phone.authenticated, NO_MITM)


@case("pair-not-open")
async def unknown_phone(bed: Testbed) -> None:
    """An unknown phone gets no bond and no data; the bonded phone is still served."""
    daemon, phone, subscribed = await bed.served()
    await phone.disconnect()
    await daemon.event("disconnected", since=subscribed)
    stranger = await bed.phone(address="C4:66:77:88:99:AA", name="Stranger")
    stranger.ancs.post(Notification(66, title="not for you"))
    before = daemon.now
    await stranger.connect()
    await eventually(
        lambda: stranger.refusals or not stranger.connected, "the stranger was never refused"
    )
    check(stranger.pairings == 0 and not await stranger.bonded(), "the stranger has a bond")
    check(not stranger.encrypted, "the stranger's link is encrypted")
    check(stranger.ancs.sessions == 0, "ancsd subscribed to the stranger's notifications")
    await stranger.give_up()
    for name in ("paired", "subscribed", "notification"):
        daemon.none(name, since=before)
    check(len(await daemon.listed("phones")) == 1, "the stranger is listed")
    await phone.connect()
    await daemon.event("subscribed", since=before)
    check(phone.pairings == 1, "the bonded phone had to pair again")


@case("pair-legacy")
async def legacy(bed: Testbed) -> None:
    """A bond by legacy pairing is removed without --allow-legacy, and kept with it."""
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone()
    phone.secure = False
    await phone.connect()
    failed = await daemon.event("pairing-failed")
    check("legacy" in str(failed.get("reason")).lower(), f"the reason does not name it: {failed}")
    await phone.give_up()
    daemon.none("subscribed")
    check(await daemon.listed("phones") == [], "the legacy bond is still there")
    await daemon.stop()
    await phone.forget()
    daemon = await bed.daemon("--io", "none", "--allow-legacy")
    await phone.connect()
    await daemon.event("subscribed")
