# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that are clients of the control socket."""

from Harness.ancs import Notification, call
from Harness.case import case, check, check_plain

from .testbed import Testbed


@case("commands")
async def commands(bed: Testbed) -> None:
    """list, count, show, apps and act: what they print, and what the phone sees; exit status 1 where nothing matches, and where
    an action is refused."""
    daemon, phone, since = await bed.served()
    await daemon.passes_on(phone, Notification(1), Notification(2, title="Boss", app_id="com.slack", category=7), call(3))
    for words, number in {(): 3, ("--app", "com.apple.*"): 2, ("--app", "org.*"): 0}.items():
        listed = (await bed.client(daemon, "list", "--format", "json", *words)).expect(int(not number))
        check(len(listed.objects) == number, f"list {' '.join(words)} printed {listed.out!r}")
        counted = (await bed.client(daemon, "count", *words)).expect(int(not number))
        check(counted.out.strip() == str(number), f"count {' '.join(words)}: {counted.out!r}")
    before = (await bed.run("--socket", str(daemon.socket), "list", "--json", "--app", "com.slack")).expect(0)
    check(len(before.objects) == 1, f"options before the command: {before.out!r}")
    text = (await bed.client(daemon, "list", "--format", "text")).expect(0).out
    check(all(name in text for name in ("Mum", "Boss")), f"list printed {text!r}")
    check_plain(text, "list")
    shown = [(await bed.client(daemon, "show", "2", *form)).expect(0).out for form in ([], ["--format", "text"])]
    check("Boss" in shown[0] and "Saturday" in shown[0] and shown[0] == shown[1], f"show printed {shown}")
    apps = (await bed.client(daemon, "apps", "--format", "json")).expect(0).objects
    found = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(found["com.apple.MobileSMS"] == ("Messages", 1), f"apps printed {apps}")

    (await bed.client(daemon, "act", "3", "decline")).expect(0)
    check(phone.ancs.actions == [(3, "negative")], f"the phone saw {phone.ancs.actions}")
    await daemon.event("notification", since=since, uid=3, change="removed")
    phone.ancs.actions_fail = True
    refused = (await bed.client(daemon, "act", "2", "negative")).expect(1)
    check("action failed" in refused.err.lower(), f"act printed {refused.err!r}")
