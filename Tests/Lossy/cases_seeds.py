# SPDX-License-Identifier: GPL-3.0-or-later
"""A minute of bad weather for each seed."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.profiles import IPHONE, REAL
from Lab.phone import Phone

from . import MADE
from .testbed import Life, Testbed
from .weather import Spell, story


async def play(bed: Testbed) -> None:
    daemon = await bed.daemon("--io", "none")
    phone = await bed.phone(profile=replace(IPHONE, strikes=REAL.strikes))
    life = Life(phone, bed.weather)
    bed.spawn(life.live())
    await daemon.event("subscribed", within=20)
    bed.spawn(life.watch())
    news = bed.spawn(post(phone, bed.seed))
    for spell in story(bed.seed):
        bed.weather.become(spell)
        await asyncio.sleep(spell.seconds)
    news.cancel()
    bed.weather.become(Spell(0, 0))
    posted = list(phone.ancs.notifications)

    def told() -> list[int]:
        return [event["uid"] for event in daemon.since(0, "notification") if event["change"] == "added" and not event.get("repeat")]

    await eventually(lambda: phone.gave_up or set(posted) <= set(told()), f"not all of {len(posted)} came out", 40)
    check(not phone.gave_up, f"{phone.strikes} links in a row ended without a subscription")
    check(len(told()) == len(set(told())), f"told twice: {sorted(uid for uid in set(told()) if told().count(uid) > 1)}")
    check(phone.pairings == 1, f"the phone paired {phone.pairings} times")
    bed.remark(f"{len(posted)} notifications, {life.links} links")


async def post(phone: Phone, seed: int) -> None:
    """Something happens on the phone every now and then."""
    chance = random.Random(f"news {seed}")
    uid = 0
    while True:
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            uid += 1
            phone.ancs.post(Notification(uid, title=f"number {uid}", message="a text " * chance.randrange(40)))
        await asyncio.sleep(chance.uniform(0.5, 6))


for name in MADE:
    case(name)(play)
