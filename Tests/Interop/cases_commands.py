# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that are clients of the daemon, as a person or a script uses them."""

from __future__ import annotations

from Harness.ancs import Notification, call
from Harness.case import case, check, check_plain

from .testbed import Testbed


@case("commands-list")
async def list_and_count(bed: Testbed) -> None:
    """list, count, show and apps, with filters and formats; exit status 1 where nothing matches."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(1, title="Mum", flags=2))
    phone.ancs.post(Notification(2, title="Boss", app_id="com.slack", category=7))
    phone.ancs.post(Notification(3, title="Dad", flags=4))
    await daemon.event("notification", since=since, uid=3)
    counts = {(): 3, ("--app", "com.apple.*"): 2, ("--category", "news"): 1, ("--flag", "important"): 1, ("--app", "org.*"): 0}
    for words, number in counts.items():
        listed = (await bed.client(daemon, "list", "--format", "json", *words)).expect(int(not number))
        check(len(listed.objects) == number, f"list {' '.join(words)} printed {listed.out!r}")
        counted = (await bed.client(daemon, "count", *words)).expect(int(not number))
        check(counted.out.strip() == str(number), f"count {' '.join(words)}: {counted.out!r}")
    text = (await bed.client(daemon, "list", "--format", "text")).expect(0).out
    check(all(name in text for name in ("Mum", "Boss", "Dad")), f"list printed {text!r}")
    check_plain(text, "list")
    shown = (await bed.client(daemon, "show", "2", "--format", "json")).expect(0)
    check(shown.objects[0]["title"] == "Boss", f"show printed {shown.out!r}")
    text = (await bed.client(daemon, "show", "2", "--format", "text")).expect(0).out
    check("Boss" in text and "Saturday" in text, f"show printed {text!r}")
    before = (await bed.run("--socket", str(daemon.socket), "list", "--json", "--app", "com.slack")).expect(0)
    check(len(before.objects) == 1, f"options before the command: {before.out!r}")
    plain = (await bed.client(daemon, "show", "2")).expect(0).out
    check(plain == text, f"show in a pipe printed {plain!r}")
    apps = (await bed.client(daemon, "apps", "--format", "json")).expect(0).objects
    found = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(found["com.apple.MobileSMS"] == ("Messages", 2), f"apps printed {apps}")
    await bed.client(daemon, "apps", "--format", "text")


@case("commands-act")
async def act(bed: Testbed) -> None:
    """act: by name and by label, one and all; status 0 done, 1 refused, by the phone or by the flags."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(call(1), Notification(2), call(3), call(4))
    await daemon.event("notification", since=since, uid=4)
    (await bed.client(daemon, "act", "1", "positive")).expect(0)
    check(phone.ancs.actions == [(1, "positive")], "the phone saw another action")
    (await bed.client(daemon, "act", "3", "decline")).expect(0)
    await daemon.event("notification", since=since, uid=3, change="removed")
    told = (await bed.client(daemon, "act", "--all", "--category", "Incoming-Call", "answer")).expect(0).out
    check(told == "answered 1\n", f"act --all printed {told!r}")
    done = [(1, "positive"), (3, "negative"), (4, "positive")]
    check(phone.ancs.actions == done, f"the phone saw {phone.ancs.actions}")
    missing = (await bed.client(daemon, "act", "2", "positive")).expect(1)
    check("#2 has no positive action" in missing.err, f"act printed {missing.err!r}")
    check(phone.ancs.actions == done, "the phone was asked for an action that is not there")
    phone.ancs.actions_fail = True
    refused = (await bed.client(daemon, "act", "2", "negative")).expect(1)
    check("action failed" in refused.err.lower(), f"act printed {refused.err!r}")
    (await bed.client(daemon, "act", "2")).expect(64)
