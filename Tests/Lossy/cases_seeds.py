# SPDX-License-Identifier: GPL-3.0-or-later
"""A minute of bad weather for each seed."""

import asyncio
import os
import random

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import Event
from Lab.phone import Phone

from .testbed import Testbed
from .weather import Spell, story


async def play(bed: Testbed) -> None:
    daemon, life = await bed.met()
    phone = life.phone
    news = bed.spawn(post(phone, bed.seed))
    for spell in story(bed.seed):
        bed.weather.become(spell)
        await asyncio.sleep(spell.seconds)
    news.cancel()
    bed.weather.become(Spell(0, 0))
    posted = list(phone.ancs.notifications)

    def told() -> list[Event]:
        return [event for event in daemon.since(0, "notification") if event["change"] == "added" and not event.get("repeat")]

    await eventually(lambda: phone.gave_up or set(posted) <= {event["uid"] for event in told()}, f"not all of {len(posted)} came out", 40)
    check(not phone.gave_up, f"{phone.strikes} links in a row ended without a subscription")
    uids = [event["uid"] for event in told()]
    check(len(uids) == len(set(uids)), f"told twice: {uids}")
    for lane in (True, False):  # what is new comes before what existed before a link
        uids = [event["uid"] for event in told() if ("pre-existing" in event["flags"]) == lane]
        check(uids == sorted(uids), f"not in order: {uids}")
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


FIRST, LAST = map(int, os.environ.get("SEEDS", "1 20").split())
for seed in range(FIRST, LAST + 1):
    case(f"seed-{seed}", about="a link of a minute with loss and blackouts: all news comes out once, and nothing is stuck")(play)
